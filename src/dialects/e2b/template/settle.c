/*
 * settle.c - finishes a build whose script has ended: its snapshot, and tags that lead to it.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    documents; output of builds.
 * Never:    lets a tag lead to an incomplete snapshot; makes two snapshots of one build.
 *
 * Each step can be repeated: it looks for the snapshot, whose name has the build's id, before it
 * makes one; it patches tags to the same value; it sets the build to ready last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/template/template.h"

#define CLAIM_MS 30000u /* after a claim, no other request finishes the build for this long */
#define PATCH_SIZE 16384u
#define UNTAGGED_MAX 32u /* stored builds of a template that no tag leads to */
#define ENV_BYTES_MAX (32u * 1024u) /* limit of a session's variables */

static bool is(const struct build *build, const char *status)
{
	return strcmp(build->status, status) == 0;
}

/* ---- the template's document ---------------------------------------------------------------- */

/* Lets the build's tags lead to it. 1: done; 0: the template was removed meanwhile. */
static int patch_tags(const struct e2b *e2b, const struct build *build)
{
	cleanup_document struct template_document document = { 0 };
	const char *const *tags = build->tags.items;
	cleanup_buf struct buf patch = BUF_INIT(PATCH_SIZE);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &patch);
	json_write_object_begin(&json);
	json_write_key(&json, "tags");
	json_write_object_begin(&json);
	for (size_t i = 0; i < build->tags.count; i++) {
		json_write_key(&json, tags[i]);
		json_write_object_begin(&json);
		json_write_member_string(&json, "build", build->id);
		json_write_member_uint(&json, "at_ms", build->finishing_ms);
		json_write_object_end(&json);
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return 0;
	return template_patch(e2b, build->template, buf_text(&patch), false, &document);
}

/* Removes the build from the template's pending ones; deletes a template without tags and pending
 * builds. */
static int end_pending(const struct e2b *e2b, const char *template, const char *id)
{
	cleanup_document struct template_document document = { 0 };
	char patch[128];
	int code;

	(void)snprintf(patch, sizeof(patch), "{\"pending\":{\"%.39s\":null}}", id);
	code = template_patch(e2b, template, patch, false, &document);
	if (code > 0 && json_read_count(json_read_member(document.value, "tags")) == 0 &&
	    json_read_count(json_read_member(document.value, "pending")) == 0)
		return template_forget(e2b, TEMPLATES, template, document.etag);
	return code < 0 ? -1 : 0;
}

/* ---- its end -------------------------------------------------------------------------------- */

static int fail(const struct e2b *e2b, struct build *build, const char *why, const char *step)
{
	const char *session = build->session;
	int code;

	build->status = "error";
	build->why = why;
	build->step = step;
	code = build_put(e2b, build);
	if (code != 0)
		return code < 0 ? -1 : 0;
	template_end_session(e2b, session);
	return end_pending(e2b, build->template, build->id) < 0
		       ? -1
		       : template_sweep(e2b, build->template);
}

/* Explains the end of a process whose script reported no failure. */
static const char *why_of(const struct e2b *e2b, const struct api_process *process)
{
	char text[400];

	/* Exit status 0 without the script's results: a restart of the daemon lost its output. */
	if (process->state == API_PROCESS_STATE_LOST ||
	    (process->has_exit_code && process->exit_code == 0))
		return "the daemon was started anew while the template was built";
	(void)snprintf(text, sizeof(text), "the build was ended: %.300s",
		       process->cause == API_PROCESS_CAUSE_TIMEOUT	   ? "it took more than an hour"
		       : process->cause == API_PROCESS_CAUSE_OUT_OF_MEMORY ? "out of memory"
		       : process->why != NULL				   ? process->why
		       : process->signal != NULL			   ? process->signal
									   : "its script did not end");
	return arena_text(e2b->arena, text, strlen(text));
}

static void name_snapshot(const struct build *build, char ret[64])
{
	(void)snprintf(ret, 64, E2B_SNAPSHOT_PREFIX "%.39s", build->id);
}

/* Finds or makes build->snapshot. 1: it exists. 0: it does not; build->why is the reason, or NULL:
 * try again later. */
static int take_snapshot(const struct e2b *e2b, struct build *build)
{
	cleanup_call struct call call = CALL_INIT, made = CALL_INIT;
	const struct api_snapshot *found;
	struct api_snapshot snapshot;
	struct api_snapshots out;
	enum call_status status;
	char name[64];

	name_snapshot(build, name);
	if (call_or_refuse(
		    e2b->request, API_SNAPSHOT_LIST,
		    &(struct api_snapshot_list_in){ .name = name, .has_limit = true, .limit = 1 },
		    &out, &call) < 0)
		return -1;
	found = out.snapshots.items;
	if (out.snapshots.count > 0) {
		build->snapshot = arena_text(e2b->arena, found->id, strlen(found->id));
		return 1;
	}
	status = call_make(
		e2b->request, API_SNAPSHOT_CREATE,
		&(struct api_snapshot_create_in){ .session = build->session, .name = name },
		&snapshot, &made);
	if (status == CALL_OK)
		build->snapshot = arena_text(e2b->arena, snapshot.id, strlen(snapshot.id));
	if (status != CALL_FAILED)
		return status == CALL_OK ? 1 : -1;
	build->why = made.failure->error == API_ERR_BUSY ||
				     made.failure->error == API_ERR_UNAVAILABLE ||
				     made.failure->error == API_ERR_OVERLOADED
			     ? NULL
			     : arena_text(e2b->arena, made.failure->message,
					  strlen(made.failure->message));
	return 0;
}

static int finish(const struct e2b *e2b, struct build *build)
{
	const char *session = build->session;
	int code = take_snapshot(e2b, build);

	if (code == 0 && build->why != NULL)
		return fail(e2b, build, build->why, "finalize");
	if (code <= 0)
		return code;
	code = patch_tags(e2b, build);
	if (code <= 0)
		return code < 0 ? -1 : template_drop_build(e2b, build);
	build->status = "ready";
	code = build_put(e2b, build);
	if (code != 0)
		return code < 0 ? -1 : 0;
	template_end_session(e2b, session);
	return end_pending(e2b, build->template, build->id) < 0
		       ? -1
		       : template_sweep(e2b, build->template);
}

/* Stores the build's results, so that another request can continue if this one ends. */
static int claim(const struct e2b *e2b, struct build *build)
{
	build->status = "finishing";
	build->finishing_ms = clock_wall_ms();
	return build_put(e2b, build);
}

static size_t bytes_of(const struct api_list *env)
{
	const char *const *items = env->items;
	size_t ret = 0;

	for (size_t i = 0; i < env->count; i++)
		ret += strlen(items[i]) + 1;
	return ret;
}

static int end_building(const struct e2b *e2b, struct build *build,
			const struct api_process *process, const struct script_output *output)
{
	const bool is_good = process->state == API_PROCESS_STATE_ENDED && process->has_exit_code &&
			     process->exit_code == 0 && output->why == NULL &&
			     output->workdir != NULL;
	int code;

	if (template_store_log(e2b, build, output) < 0)
		return -1;
	if (is_good && bytes_of(&output->env) > ENV_BYTES_MAX)
		return fail(e2b, build, "its variables are longer than 32 KiB", "finalize");
	if (!is_good)
		return fail(e2b, build, output->why != NULL ? output->why : why_of(e2b, process),
			    output->why != NULL ? output->step : "finalize");
	build->env = output->env;
	build->workdir = output->workdir;
	code = claim(e2b, build);
	return code == 0 ? finish(e2b, build) : code < 0 ? -1 : 0;
}

static int look(const struct e2b *e2b, struct build *build, struct script_output *output)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	const enum call_status status =
		call_make(e2b->request, API_PROCESS_SHOW,
			  &(struct api_process_show_in){ .session = build->session,
							 .process = build->process },
			  &process, &call);

	if (status == CALL_GONE)
		return -1;
	if (status == CALL_FAILED && (call.failure->error == API_ERR_BUSY ||
				      call.failure->error == API_ERR_UNAVAILABLE ||
				      call.failure->error == API_ERR_SCOPE))
		return 0;
	if (status == CALL_FAILED)
		return fail(e2b, build, "the sandbox in which the template was built is gone",
			    "finalize");
	if (template_read_output(e2b, build, &process, output) < 0)
		return -1;
	if (process.state == API_PROCESS_STATE_RUNNING)
		return 0;
	return end_building(e2b, build, &process, output);
}

int template_settle(const struct e2b *e2b, struct build *build, struct script_output *ret)
{
	struct script_output *output =
		ret != NULL ? ret : arena_new(e2b->arena, 1, sizeof(*output));

	*output = (struct script_output){ 0 };
	if (is(build, "building") && build->session != NULL && build->process != NULL)
		return look(e2b, build, output);
	if (is(build, "finishing") && build->finishing_ms + CLAIM_MS < clock_wall_ms()) {
		const int code = claim(e2b, build);

		if (code < 0 || (code == 0 && finish(e2b, build) < 0))
			return -1;
	}
	return ret != NULL && !is(build, "waiting") ? template_load_log(e2b, build, ret) : 0;
}

int template_settle_all(const struct e2b *e2b, const char *name)
{
	cleanup_document struct template_document document = { 0 };
	const int found = template_get(e2b, TEMPLATES, name, &document);
	const struct json_value *pending = json_read_member(document.value, "pending");
	const struct json_value *value;
	struct build build;
	const char *id;
	int code;

	if (found <= 0)
		return found;
	for (size_t i = 0; json_read_member_at(pending, i, &id, &value); i++) {
		code = build_get(e2b, id, &build);
		if (code < 0 || (code > 0 && template_settle(e2b, &build, NULL) < 0) ||
		    (code == 0 && end_pending(e2b, name, id) < 0))
			return -1;
	}
	return 0;
}

/* ---- builds without tags -------------------------------------------------------------------- */

static int drop_snapshot(const struct e2b *e2b, const struct build *build)
{
	cleanup_call struct call call = CALL_INIT;

	return build->snapshot == NULL ||
			       call_make(e2b->request, API_SNAPSHOT_DELETE,
					 &(struct api_snapshot_delete_in){
						 .snapshot = build->snapshot },
					 NULL, &call) != CALL_GONE
		       ? 0
		       : -1;
}

int template_drop_build(const struct e2b *e2b, const struct build *build)
{
	if (template_forget(e2b, BUILDS, build->id, NULL) < 0 ||
	    template_forget(e2b, LOGS, build->id, NULL) < 0)
		return -1;
	if (!is(build, "ready") && !is(build, "error")) {
		template_end_session(e2b, build->session);
		template_end_session(e2b, build->uploads);
	}
	return drop_snapshot(e2b, build);
}

/* Deletes its snapshot. Its document stays and expires, as that of a failed build. */
static int retire(const struct e2b *e2b, struct build *build)
{
	if (drop_snapshot(e2b, build) < 0)
		return -1;
	build->snapshot = NULL;
	return build_put(e2b, build) < 0 ? -1 : 0;
}

/* `number`: how many newer builds have no tag. */
static int sweep_one(const struct e2b *e2b, const char *id, size_t number)
{
	struct build build;
	const int found = build_get(e2b, id, &build);

	if (found <= 0)
		return found;
	if (number >= UNTAGGED_MAX)
		return template_drop_build(e2b, &build);
	return is(&build, "ready") && build.snapshot != NULL ? retire(e2b, &build) : 0;
}

static bool has_tag(const struct json_value *tags, const char *build)
{
	const struct json_value *value;
	const char *tag;

	for (size_t i = 0; json_read_member_at(tags, i, &tag, &value); i++) {
		const char *of = json_read_text(json_read_member(value, "build"), NULL);

		if (of != NULL && strcmp(of, build) == 0)
			return true;
	}
	return false;
}

int template_sweep(const struct e2b *e2b, const char *name)
{
	cleanup_document struct template_document document = { 0 };
	const int found = template_get(e2b, TEMPLATES, name, &document);
	const struct json_value *tags = json_read_member(document.value, "tags");
	const char *const *ids;
	struct api_list list;
	size_t untagged = 0;

	if (found < 0 || build_list(e2b, name, "over", &list) < 0)
		return -1;
	ids = list.items;
	for (size_t i = 0; i < list.count; i++)
		if (!has_tag(tags, ids[i]) && sweep_one(e2b, ids[i], untagged++) < 0)
			return -1;
	return 0;
}
