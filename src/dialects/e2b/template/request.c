/*
 * request.c - registers a build, and takes its files.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies and files from clients.
 * Never:    unpacks a file: the build's script does, in a sandbox.
 *
 * The files go into the workspace of a separate session, which lasts until the build begins. The
 * upload address contains that session's token, because SDKs send no header with an upload.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/template/template.h"

#define ANSWER_MAX (64u * 1024u)
#define PENDING_MAX 32u /* builds of one template that have not ended */
#define MEMORY_MB_MAX (1u << 20)
#define CPUS_MAX 1024u
#define UPLOAD_LIFE_MS (3600u * 1000u)
#define URL_SIZE 1024u

static int new_id(const struct e2b *e2b, char ret[TEMPLATE_ID_SIZE])
{
	unsigned char bits[16];
	size_t at = 0;

	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
		e2b_refuse(e2b, 500, "there is no random number");
		return -1;
	}
	bits[6] = (unsigned char)((bits[6] & 0x0f) | 0x40);
	bits[8] = (unsigned char)((bits[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bits); i++)
		at += (size_t)snprintf(ret + at, TEMPLATE_ID_SIZE - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bits[i]);
	return 0;
}

/* ---- the body ------------------------------------------------------------------------------- */

static bool take_number(const struct e2b *e2b, const struct json_value *body, const char *key,
			uint64_t max, uint64_t *ret)
{
	const struct json_value *given = json_read_member(body, key);
	int64_t number = 0;

	*ret = 0;
	if (json_read_kind(given) == JSON_KIND_NULL)
		return true;
	if (json_read_int(given, &number) && number >= 1 && (uint64_t)number <= max) {
		*ret = (uint64_t)number;
		return true;
	}
	e2b_refuse(e2b, 400, "cpuCount and memoryMB are numbers above 0");
	return false;
}

/* The tag in the name and the listed tags; if there are none, the default tag. */
static struct api_list all_tags(const struct e2b *e2b, const struct template_name *name,
				const struct api_list *listed)
{
	const char **tags = arena_new(e2b->arena, listed->count + 2, sizeof(*tags));
	const char *const *items = listed->items;
	size_t count = 0;

	if (name->tag[0] != '\0')
		tags[count++] = arena_text(e2b->arena, name->tag, strlen(name->tag));
	for (size_t i = 0; i < listed->count; i++)
		if (count == 0 || strcmp(items[i], tags[0]) != 0)
			tags[count++] = items[i];
	if (count == 0)
		tags[count++] = TEMPLATE_TAG_DEFAULT;
	return (struct api_list){ tags, count };
}

static bool take_options(const struct e2b *e2b, const struct json_value *body,
			 struct template_name *name, struct build *ret)
{
	const char *given = json_get_c_text(body, "name");
	struct api_list listed;
	int built;

	if (given == NULL)
		given = json_get_c_text(body, "alias");
	if (!template_take_name(e2b, given, name) ||
	    !template_take_tags(e2b, json_read_member(body, "tags"), &listed) ||
	    !take_number(e2b, body, "memoryMB", MEMORY_MB_MAX, &ret->memory_mb) ||
	    !take_number(e2b, body, "cpuCount", CPUS_MAX, &ret->cpu_count))
		return false;
	built = e2b_is_native(e2b, name->name);
	if (built > 0)
		e2b_refuse(e2b, 409, "a template of this server has this name");
	ret->tags = all_tags(e2b, name, &listed);
	ret->template = name->name;
	return built == 0;
}

/*
 * Adds the build to the template's pending builds, unless there are too many. Negative: answered
 * with an error.
 */
static int note_pending(const struct e2b *e2b, const struct build *build)
{
	cleanup_document struct template_document document = { 0 };
	char patch[160];

	if (template_settle_all(e2b, build->template) < 0)
		return -1;
	(void)snprintf(patch, sizeof(patch), "{\"pending\":{\"%.39s\":true}}", build->id);
	if (template_patch(e2b, build->template, patch, true, &document) < 0)
		return -1;
	if (json_read_count(json_read_member(document.value, "pending")) <= PENDING_MAX)
		return 0;
	(void)snprintf(patch, sizeof(patch), "{\"pending\":{\"%.39s\":null}}", build->id);
	template_document_done(&document);
	if (template_patch(e2b, build->template, patch, false, &document) >= 0)
		answer_refuse_simple(e2b->request, 429, "busy",
				     "32 builds of this template have not ended", NULL);
	return -1;
}

static void answer_request(const struct e2b *e2b, const struct build *build)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	const char *const *tags = build->tags.items;
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "templateID", build->template);
	json_write_member_string(&json, "buildID", build->id);
	json_write_member_bool(&json, "public", false);
	for (size_t i = 0; i < 2; i++) {
		json_write_key(&json, i == 0 ? "names" : "aliases");
		json_write_array_begin(&json);
		json_write_string(&json, build->template);
		json_write_array_end(&json);
	}
	json_write_key(&json, "tags");
	json_write_array_begin(&json);
	for (size_t i = 0; i < build->tags.count; i++)
		json_write_string(&json, tags[i]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 202, &json, NULL);
}

void template_request(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	struct build build = { .status = "waiting", .created_ms = clock_wall_ms() };
	struct template_name name;

	if (body == NULL || !take_options(e2b, body, &name, &build) || new_id(e2b, build.id) < 0 ||
	    note_pending(e2b, &build) < 0 || build_put(e2b, &build) != 0)
		return;
	answer_request(e2b, &build);
}

/* ---- upload addresses ----------------------------------------------------------------------- */

/*
 * Finds the template's newest build that waits for files. 0: there is none, and the client got a
 * 404.
 */
static int find_waiting(const struct e2b *e2b, const char *template, struct build *ret)
{
	const char *const *ids;
	struct api_list list;
	int code = 0;

	if (build_list(e2b, template, "waiting", &list) < 0)
		return -1;
	ids = list.items;
	if (list.count > 0)
		code = build_get(e2b, ids[0], ret);
	if (code == 0)
		e2b_refuse(e2b, 404, "no build of this template waits for files");
	return code;
}

/*
 * Creates the session for the build's files. Of two simultaneous requests, the later one ends its
 * own session and uses the other's. Negative: answered with an error.
 */
static int have_uploads(const struct e2b *e2b, struct build *build)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	char metadata[128], id[TEMPLATE_ID_SIZE];
	const char *made;
	int code;

	if (build->uploads != NULL)
		return 0;
	(void)snprintf(metadata, sizeof(metadata), "{\"" E2B_BUILD_MEMBER "\":\"%.39s\"}",
		       build->id);
	if (call_or_refuse(e2b->request, API_SESSION_CREATE,
			   &(struct api_session_create_in){
				   .metadata = { metadata, strlen(metadata) },
				   .has_idle_timeout_ms = true,
				   .idle_timeout_ms = UPLOAD_LIFE_MS,
				   .has_expires_in_ms = true,
				   .expires_in_ms = UPLOAD_LIFE_MS },
			   &session, &call) < 0)
		return -1;
	made = build->uploads = arena_text(e2b->arena, session.id, strlen(session.id));
	code = build_put(e2b, build);
	if (code <= 0)
		return code;
	template_end_session(e2b, made);
	memcpy(id, build->id, sizeof(id));
	code = build_get(e2b, id, build);
	if (code < 0 || (code > 0 && build->uploads != NULL))
		return code < 0 ? -1 : 0;
	e2b_refuse(e2b, 409, "this build has begun meanwhile");
	return -1;
}

/* Writes the address with the host that the client used. */
static bool write_url(const struct e2b *e2b, const char *token, char ret[URL_SIZE])
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   ".-:[]";
	const struct http *http = request_head(e2b->request);
	const char *host = http_header(http, "host");
	const char *scheme = http_header(http, "x-forwarded-proto");

	if (host == NULL || host[0] == '\0' || strlen(host) > 255 ||
	    strspn(host, good) != strlen(host)) {
		e2b_refuse(e2b, 400, "the request does not say which host it was sent to");
		return false;
	}
	(void)snprintf(ret, URL_SIZE, "http%s://%.255s/templates/%.63s/files/%.64s?token=%.200s",
		       scheme != NULL && strcmp(scheme, "https") == 0 ? "s" : "", host,
		       e2b->part[1], e2b->part[3], token);
	return true;
}

void template_link(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_token_out out;
	struct template_name name;
	struct json_writer json;
	struct build build;
	char url[URL_SIZE];

	if (!template_take_name(e2b, e2b->part[1], &name))
		return;
	if (!template_is_hash(e2b->part[3])) {
		e2b_refuse(e2b, 400, "the hash of files is 64 hexadecimal digits");
		return;
	}
	e2b->part[1] = arena_text(e2b->arena, name.name, strlen(name.name));
	if (find_waiting(e2b, name.name, &build) <= 0 || have_uploads(e2b, &build) < 0 ||
	    call_or_refuse(e2b->request, API_SESSION_TOKEN,
			   &(struct api_session_token_in){ .session = build.uploads }, &out,
			   &call) < 0 ||
	    !write_url(e2b, out.token, url))
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_bool(&json, "present", false);
	json_write_member_string(&json, "url", url);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 201, &json, NULL);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Uses the token in the address as the request's key, and finds its session. */
static bool take_token(const struct e2b *e2b, char session[E2B_ID_SIZE])
{
	const char *query = request_head(e2b->request)->query;
	char name[16], value[E2B_KEY_SIZE] = "";
	struct err ignored;

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &ignored) > 0)
		if (strcmp(name, "token") == 0 && e2b_session_of_token(value, session)) {
			request_use_key(e2b->request, value);
			if (request_may_present(e2b->request, value))
				return true;
			answer_refuse_simple(e2b->request, 429, "too_many_attempts",
					     "too many unknown keys came from this address", NULL);
			return false;
		}
	answer_refuse_simple(e2b->request, 401, "unauthorized", "the address has no token", NULL);
	return false;
}

void template_upload(struct e2b *e2b)
{
	const struct http *http = request_head(e2b->request);
	cleanup_call struct call call = CALL_INIT, done = CALL_INIT;
	char session[E2B_ID_SIZE];
	struct api_upload upload;

	if (!template_is_hash(e2b->part[3])) {
		e2b_refuse(e2b, 400, "the hash of files is 64 hexadecimal digits");
		return;
	}
	if (!take_token(e2b, session) ||
	    call_or_refuse(e2b->request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = session,
						      .path = e2b->part[3],
						      .has_size = !http->is_chunked,
						      .size = http->length },
			   &upload, &call) < 0)
		return;
	upstream_cancel_when_gone(e2b->request, upload.ticket);
	if (call.reply.fd < 0 ||
	    request_body_to(e2b->request, call.reply.fd, upload.size_max) < 0) {
		upstream_cancel_now(e2b->request);
		return;
	}
	(void)close(TAKE_FD(call.reply.fd));
	upstream_cancel_when_gone(e2b->request, 0);
	if (call_or_refuse(e2b->request, API_FILE_COMMIT,
			   &(struct api_file_commit_in){ .ticket = upload.ticket }, NULL, &done) ==
	    0)
		e2b_answer_empty(e2b, 200);
}
