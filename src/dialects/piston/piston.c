/*
 * piston.c - Piston's API, version 2: programs of one or more files, compiled and run.
 *
 *   GET  /piston/api/v2/runtimes   lists the languages and their versions
 *   POST /piston/api/v2/execute    runs a program
 *   GET  /piston/api/v2/packages   the same as packages, all installed
 *
 * Runs in:  reckon-front-piston.
 * Reads:    heads and bodies of any client.
 * Never:    installs a package: the host and its templates have the languages.
 */
#include "dialects/piston/piston.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/json_write.h"

#define PROBE_MS 60000u

extern const struct dialect dialect_piston;

static void refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "message",
				 refusal->message != NULL ? refusal->message : refusal->code);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, refusal->status, PISTON_JSON, &body, refusal->headers);
}

/* ---- runtimes ------------------------------------------------------------------------------- */

static void write_runtime(struct json_writer *json, const struct program_language *language,
			  const char *version, bool is_package)
{
	json_write_object_begin(json);
	json_write_member_string(json, "language", language->name);
	json_write_member_string(json, is_package ? "language_version" : "version", version);
	if (is_package) {
		json_write_member_bool(json, "installed", true);
	} else {
		json_write_key(json, "aliases");
		json_write_array_begin(json);
		for (const char *const *at = language->aliases; *at != NULL; at++)
			json_write_string(json, *at);
		json_write_array_end(json);
	}
	json_write_object_end(json);
}

static int write_runtimes(const char *printed, bool are_packages, struct buf *body,
			  struct err *err)
{
	const struct program_language *language;
	struct json_writer json;

	json_write_init(&json, body);
	json_write_array_begin(&json);
	for (size_t i = 0; (language = program_language_at(i)) != NULL; i++) {
		cleanup_buf struct buf copy = BUF_INIT(PROGRAM_OUTPUT_MAX);
		const char *version = NULL;

		if (buf_adds(&copy, printed, err) < 0)
			return (int)err->code;
		if (copy.len > 0)
			version = piston_version_of(copy.data, language->name);
		if (version != NULL)
			write_runtime(&json, language, version, are_packages);
	}
	json_write_array_end(&json);
	return json_write_finish(&json, err);
}

/* Asks a box, because only installed languages can run. */
static void answer_runtimes(struct request *request, bool are_packages)
{
	cleanup_buf struct buf none = BUF_INIT(0), command = BUF_INIT(32768);
	cleanup_buf struct buf body = BUF_INIT(65536);
	cleanup_program struct program program = PROGRAM_INIT;
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	const struct program_language *language;
	struct err err;

	if (call_check_key(request) < 0 || request_body(request, 0, &none) < 0)
		return;
	for (size_t i = 0; (language = program_language_at(i)) != NULL; i++)
		if (program_language_probe(language, &command, &err) < 0)
			return;
	if (program_open(&program, request, &(struct program_order){ 0 }) < 0 ||
	    program_run(&program,
			&(struct program_stage){ .command = buf_text(&command),
						 .timeout_ms = PROBE_MS },
			&end) < 0)
		return;
	if (write_runtimes(buf_text(&end.out), are_packages, &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, PISTON_JSON, &body, NULL);
}

static void runtimes(struct request *request)
{
	answer_runtimes(request, false);
}

static void packages(struct request *request)
{
	answer_runtimes(request, true);
}

static void no_packages(struct request *request)
{
	if (call_check_key(request) == 0)
		answer_refuse_simple(request, 403, "denied",
				     "packages are those of the host: its templates are made with "
				     "reckon template",
				     NULL);
}

/* ---- a request ------------------------------------------------------------------------------ */

/* Like Piston, accepts bodies of no other type. */
static bool is_json(const struct http *http)
{
	const char *type = http_header(http, "content-type");

	return http->verb == HTTP_VERB_GET ||
	       (type != NULL && strncasecmp(type, "application/json", 16) == 0);
}

/* Like Piston's router, accepts a trailing slash, which some clients send. */
static bool is_path(const char *path, const char *want)
{
	const size_t len = strlen(want);

	return strncmp(path, want, len) == 0 && strcmp(path + len + (path[len] == '/'), "") == 0;
}

static void handle(struct request *request)
{
	static const struct {
		enum http_verb verb;
		const char *path;
		void (*fn)(struct request *request);
	} routes[] = {
		{ HTTP_VERB_GET, "/piston/api/v2/runtimes", runtimes },
		{ HTTP_VERB_POST, "/piston/api/v2/execute", piston_execute },
		{ HTTP_VERB_GET, "/piston/api/v2/connect", piston_connect },
		{ HTTP_VERB_GET, "/piston/api/v2/packages", packages },
		{ HTTP_VERB_POST, "/piston/api/v2/packages", no_packages },
		{ HTTP_VERB_DELETE, "/piston/api/v2/packages", no_packages },
	};
	const struct http *http = request_head(request);

	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (http->verb != routes[i].verb || !is_path(http->path, routes[i].path))
			continue;
		request_note(request, routes[i].path, NULL, NULL);
		if (is_json(http))
			routes[i].fn(request);
		else
			answer_refuse_simple(request, 415, "unsupported_media_type",
					     "requests must be of type application/json", NULL);
		return;
	}
	answer_refuse_simple(request, 404, "not_found", "Not Found", NULL);
}

static const struct key_place keys[] = {
	{ KEY_BEARER, NULL }, { KEY_HEADER, "x-api-key" }, { KEY_BASIC, NULL }, { KEY_NONE, NULL }
};

const struct dialect dialect_piston = {
	.name = "piston",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
	.refuse_socket = piston_refuse_socket,
};
