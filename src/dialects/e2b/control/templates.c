/*
 * templates.c - names of templates: E2B's well-known ones stand for ours.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    names of anybody, what reckond says of templates and snapshots.
 * Never:    builds one: `reckon template build` does.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define NAME_MAX_BYTES 63u
#define ANSWER_MAX (1u << 20)

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* 1: it is built; 0: it is not; negative: nobody is left to answer, or that was refused. */
static int is_built(const struct e2b *e2b, const char *name)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(e2b->request, API_TEMPLATE_SHOW,
			  &(struct api_template_show_in){ .template = name }, NULL, &call);

	if (status == CALL_OK)
		return 1;
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return 0;
	/* A key without `read` may open sessions all the same: the default is what it gets. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_SCOPE)
		return 0;
	if (status == CALL_FAILED)
		call_refuse(e2b->request, call.failure);
	return -1;
}

/* Without namespace and tag. */
static const char *bare(const struct e2b *e2b, const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash != NULL ? slash + 1 : name;
	return arena_text(e2b->arena, name, strcspn(name, ":"));
}

int e2b_template_of(const struct e2b *e2b, const char *wanted, const char **ret,
		    const char **ret_snapshot)
{
	static const char *const plain[] = { "base", "default", NULL };
	static const char *const interpreters[] = { "code-interpreter-v1",
						    "code-interpreter-stateful", "code-interpreter",
						    NULL };
	const char *name = bare(e2b, wanted);
	int built;

	*ret = *ret_snapshot = NULL;
	if (is_one_of(name, plain))
		return 0;
	if (is_one_of(name, interpreters)) {
		built = is_built(e2b, "data");
		*ret = built == 1 ? "data" : NULL;
		return built < 0 ? -1 : 0;
	}
	built = strlen(name) > 0 && strlen(name) <= NAME_MAX_BYTES ? is_built(e2b, name) : 0;
	if (built != 0) {
		*ret = name;
		return built < 0 ? -1 : 0;
	}
	built = e2b_snapshot_of(e2b, wanted, ret_snapshot);
	if (built == 0)
		answer_refuse_simple(e2b->request, 404, "not_found",
				     "there is no such template, and no such snapshot",
				     "build it: reckon template build");
	return built == 1 ? 0 : -1;
}

static void alias(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;
	const char *ours, *snapshot;

	if (e2b_template_of(e2b, e2b->part[2], &ours, &snapshot) < 0)
		return;
	if (snapshot != NULL &&
	    call_or_refuse(e2b->request, API_SNAPSHOT_SHOW,
			   &(struct api_snapshot_show_in){ .snapshot = snapshot }, NULL, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "templateID", e2b->part[2]);
	json_write_member_bool(&json, "public", false);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

static void write_one(struct json_writer *json, const char *name)
{
	json_write_object_begin(json);
	json_write_member_string(json, "templateID", name);
	json_write_member_string(json, "buildID", name);
	json_write_member_bool(json, "public", false);
	for (size_t i = 0; i < 2; i++) {
		json_write_key(json, i == 0 ? "aliases" : "names");
		json_write_array_begin(json);
		json_write_string(json, name);
		json_write_array_end(json);
	}
	json_write_object_end(json);
}

static void list(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	cleanup_json struct json_value *all = NULL;
	struct api_template_list_out out;
	struct json_writer json;
	struct err err;

	if (call_or_refuse(e2b->request, API_TEMPLATE_LIST, &(struct api_template_list_in){ 0 },
			   &out, &call) < 0)
		return;
	if (json_read_parse(out.templates.data, out.templates.len, ANSWER_MAX, &all, &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return;
	}
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; i < json_read_count(all); i++) {
		const char *name =
			json_read_text(json_read_member(json_read_at(all, i), "name"), NULL);

		if (name != NULL)
			write_one(&json, name);
	}
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

void e2b_templates(struct e2b *e2b)
{
	const enum http_verb verb = request_head(e2b->request)->verb;

	if (verb == HTTP_VERB_GET && e2b->part_count == 1)
		list(e2b);
	else if (verb == HTTP_VERB_GET && e2b->part_count == 3 &&
		 strcmp(e2b->part[1], "aliases") == 0)
		alias(e2b);
	else if (verb == HTTP_VERB_DELETE && e2b->part_count == 2)
		e2b_snapshot_remove(e2b);
	else
		e2b_refuse(e2b, 501, "this server builds templates with `reckon template build`");
}
