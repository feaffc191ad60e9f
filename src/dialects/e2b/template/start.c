/*
 * start.c - starts a build: its origin, session, files and script.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies from clients; files in a session of the tenant.
 * Never:    runs a step itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/template/template.h"
#include "dialects/program/program.h"

#define AT_ONCE_MAX 4u /* running builds of a tenant */
#define BUILD_MS (3600u * 1000u)
#define NOTE_SIZE 512u
#define COMMAND_MAX (16u * 1024u)
#define MIB (1024u * 1024u)

struct start {
	struct build build;
	struct e2b_origin origin;
	char note[NOTE_SIZE]; /* for the log */
	struct buf script;
	struct api_list hashes;
};

/* ---- its origin ----------------------------------------------------------------------------- */

/* Uses the server's template with the image's name. */
static int take_image(const struct e2b *e2b, const char *image, struct start *start)
{
	char message[400];
	const int code = e2b_native_of(e2b, image, &start->origin);

	(void)snprintf(start->note, sizeof(start->note),
		       "image %.100s: the template %.63s of this server stands for it; what is "
		       "below /home/user is kept, and nothing else",
		       image, start->origin.template != NULL ? start->origin.template : "base");
	if (code != 0)
		return code;
	(void)snprintf(message, sizeof(message),
		       "image %.100s: this server has no images, and no template of this name, "
		       "for which it would stand: begin with from_base_image() or from_template()",
		       image);
	e2b_refuse(e2b, 400, message);
	return -1;
}

static bool is_text(const struct json_value *body, const char *key)
{
	return json_read_kind(json_read_member(body, key)) == JSON_KIND_NULL ||
	       json_get_c_text(body, key) != NULL;
}

static int take_origin(const struct e2b *e2b, const struct json_value *body, struct start *start)
{
	const char *image = json_get_c_text(body, "fromImage");
	const char *template = json_get_c_text(body, "fromTemplate");

	if (!is_text(body, "fromImage") || !is_text(body, "fromTemplate")) {
		e2b_refuse(e2b, 400, "fromImage and fromTemplate are texts");
		return -1;
	}
	if (json_read_count(json_read_member(body, "fromImageRegistry")) > 0) {
		e2b_refuse(e2b, 400, "this server fetches nothing from a registry of images");
		return -1;
	}
	if (template == NULL || template[0] == '\0')
		return take_image(e2b, image != NULL && image[0] != '\0' ? image : "base", start);
	(void)snprintf(start->note, sizeof(start->note),
		       "template %.100s: what is below /home/user is kept, and nothing else",
		       template);
	return e2b_origin_of(e2b, template, &start->origin);
}

static bool take_command(const struct e2b *e2b, const struct json_value *body, const char *key,
			 const char **ret)
{
	size_t len;
	const struct json_value *given = json_read_member(body, key);
	const char *text = json_read_text(given, &len);

	if (json_read_kind(given) == JSON_KIND_NULL || (text != NULL && len == 0))
		return true;
	if (text == NULL || strlen(text) != len || len > COMMAND_MAX) {
		e2b_refuse(e2b, 400, "startCmd and readyCmd are texts of at most 16 KiB");
		return false;
	}
	*ret = arena_text(e2b->arena, text, len);
	return true;
}

static int take_all(const struct e2b *e2b, const struct json_value *body, struct start *start)
{
	struct build *build = &start->build;

	if (take_origin(e2b, body, start) < 0)
		return -1;
	build->env = start->origin.env;
	build->workdir = start->origin.workdir;
	build->start = start->origin.start;
	build->ready = start->origin.ready;
	if (!take_command(e2b, body, "startCmd", &build->start) ||
	    !take_command(e2b, body, "readyCmd", &build->ready))
		return -1;
	return template_write_steps(e2b, body, build, start->note, &start->script,
				    &start->hashes);
}

/* Whether the tenant may start one more build; else answers with an error. */
static bool is_room(const struct e2b *e2b)
{
	const char *const *ids;
	struct api_list list;
	size_t running = 0;

	if (build_list(e2b, NULL, "building", &list) < 0)
		return false;
	ids = list.items;
	if (list.count < AT_ONCE_MAX)
		return true;
	for (size_t i = 0; i < list.count; i++) {
		struct build build;
		const int code = build_get(e2b, ids[i], &build);

		if (code < 0 || (code > 0 && template_settle(e2b, &build, NULL) < 0))
			return false;
		running += code > 0 && strcmp(build.status, "building") == 0;
	}
	if (running < AT_ONCE_MAX)
		return true;
	answer_refuse_simple(e2b->request, 429, "busy", "4 templates are being built at once",
			     "begin when one of them has ended");
	return false;
}

/* ---- its session ---------------------------------------------------------------------------- */

static int open_session(const struct e2b *e2b, struct start *start)
{
	struct build *build = &start->build;
	const struct api_limits limits = {
		.has_memory_bytes = build->memory_mb != 0,
		.memory_bytes = build->memory_mb * MIB,
		.has_cpu_percent = build->cpu_count != 0,
		.cpu_percent = build->cpu_count * 100,
	};
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	char metadata[128];

	(void)snprintf(metadata, sizeof(metadata), "{\"" E2B_BUILD_MEMBER "\":\"%.39s\"}",
		       build->id);
	if (call_or_refuse(e2b->request, API_SESSION_CREATE,
			   &(struct api_session_create_in){
				   .template = start->origin.template,
				   .snapshot = start->origin.snapshot,
				   .limits = &limits,
				   .env = build->env,
				   .metadata = { metadata, strlen(metadata) },
				   .has_idle_timeout_ms = true,
				   .idle_timeout_ms = TEMPLATE_LIFE_MS,
				   .has_expires_in_ms = true,
				   .expires_in_ms = TEMPLATE_LIFE_MS },
			   &session, &call) < 0)
		return -1;
	build->session = arena_text(e2b->arena, session.id, strlen(session.id));
	return 0;
}

static int copy_file(const struct e2b *e2b, const struct build *build, const char *hash)
{
	cleanup_program struct program program = PROGRAM_INIT;
	cleanup_call struct call call = CALL_INIT;
	enum call_status status = CALL_FAILED;
	struct api_download file;
	char path[160];

	if (build->uploads != NULL)
		status = call_make(
			e2b->request, API_FILE_GET,
			&(struct api_file_get_in){ .session = build->uploads, .path = hash }, &file,
			&call);
	if (status == CALL_FAILED) {
		(void)snprintf(path, sizeof(path), "the files of %.64s were not sent", hash);
		e2b_refuse(e2b, 400, path);
	}
	if (status != CALL_OK)
		return -1;
	program.request = e2b->request;
	(void)snprintf(program.session, sizeof(program.session), "%s", build->session);
	(void)snprintf(path, sizeof(path), TEMPLATE_FOLDER "/%.64s", hash);
	return program_put_file(&program, path, call.reply.fd, file.size);
}

static int begin_script(const struct e2b *e2b, struct start *start)
{
	const struct api_list shell = template_shell(e2b, buf_text(&start->script));
	struct api_argument argv[3];
	const struct api_argument *items = shell.items;
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;

	argv[0] = items[0];
	argv[1] = items[2];
	argv[2] = items[3];
	if (call_or_refuse(e2b->request, API_PROCESS_CREATE,
			   &(struct api_process_create_in){ .session = start->build.session,
							    .argv = { argv, ARRAY_LEN(argv) },
							    .has_timeout_ms = true,
							    .timeout_ms = BUILD_MS },
			   &process, &call) < 0)
		return -1;
	start->build.process = arena_text(e2b->arena, process.id, strlen(process.id));
	return 0;
}

/* Copies the files and starts the script. Negative: answered with an error, or the client
 * disconnected; the caller then ends the session. */
static int begin(const struct e2b *e2b, struct start *start)
{
	struct build *build = &start->build;
	const char *const *hashes = start->hashes.items;
	int code;

	for (size_t i = 0; i < start->hashes.count; i++)
		if (copy_file(e2b, build, hashes[i]) < 0)
			return -1;
	if (begin_script(e2b, start) < 0)
		return -1;
	build->status = "building";
	code = build_put(e2b, build);
	if (code > 0)
		e2b_refuse(e2b, 409, "this build has begun already");
	return code == 0 ? 0 : -1;
}

static int find(const struct e2b *e2b, struct build *ret)
{
	const int code = build_get(e2b, e2b->part[3], ret);
	struct template_name name;

	if (code < 0)
		return -1;
	if (code == 0 || !template_name_of(e2b->part[1], &name) ||
	    strcmp(name.name, ret->template) != 0)
		e2b_refuse(e2b, 404, "there is no such build");
	else if (strcmp(ret->status, "waiting") != 0)
		e2b_refuse(e2b, 409, "this build has begun already");
	else
		return 0;
	return -1;
}

/* Starts the build and answers. False: answered with an error, or the client disconnected. */
static bool begin_and_answer(const struct e2b *e2b, struct start *start)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const char *uploads;

	if (body == NULL || find(e2b, &start->build) < 0)
		return false;
	uploads = start->build.uploads;
	if (take_all(e2b, body, start) < 0 || !is_room(e2b) || open_session(e2b, start) < 0)
		return false;
	/* From here on the handler follows the build even if the client disconnects. */
	request_outlive(e2b->request);
	if (begin(e2b, start) < 0) {
		template_end_session(e2b, start->build.session);
		return false;
	}
	template_end_session(e2b, uploads);
	e2b_answer_empty(e2b, 202);
	return true;
}

void template_start(struct e2b *e2b)
{
	struct start *start = arena_new(e2b->arena, 1, sizeof(*start));
	bool has_begun;

	start->script = BUF_INIT(TEMPLATE_SCRIPT_MAX);
	has_begun = begin_and_answer(e2b, start);
	buf_done(&start->script);
	if (!has_begun)
		return;
	request_part(e2b->request);
	template_follow(e2b, &start->build);
}
