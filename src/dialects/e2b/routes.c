/*
 * routes.c - maps a request to its handler by side and path, takes its key, writes errors.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    heads from clients.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "dialects/e2b/interpreter/interpreter.h"
#include "dialects/e2b/envd/process.h"

#define ERROR_MAX (32u * 1024u)
#define CORS_PREFLIGHT                                                                            \
	E2B_CORS "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n" \
		 "Access-Control-Allow-Headers: *\r\nAccess-Control-Max-Age: 7200\r\n"

extern const struct dialect dialect_e2b;

/* ---- errors --------------------------------------------------------------------------------- */

static bool is_session_over(const struct refusal *refusal)
{
	return strncmp(refusal->code, "session_", 8) == 0;
}

/* The control plane answers 409 for a paused sandbox; the other sides answer as if it were gone. */
static bool is_paused(const struct refusal *refusal)
{
	return strcmp(refusal->code, E2B_PAUSED) == 0;
}

/* Errors about a volume's content have a word as `code`; all others have the status. */
static bool is_of_volume(const struct http *http)
{
	const size_t len = strlen(E2B_VOLUME_CONTENT);

	return strncmp(http->path + 1, E2B_VOLUME_CONTENT, len) == 0 && http->path[1 + len] == '/';
}

/* 502 means that the sandbox is gone, and names it. */
static void write_error(const struct e2b_target *target, unsigned status, bool has_words,
			const struct refusal *refusal, struct json_writer *json)
{
	const bool is_gone = status == 502;
	const char *remedy =
		status == 401 ? "E2B_API_KEY must be a key of this server: see `reckon "
				"e2b env`"
		: refusal->remedy != NULL && refusal->remedy[0] != '\0' ? refusal->remedy
									: NULL;
	char message[2048];

	json_write_object_begin(json);
	if (is_gone)
		json_write_member_string(json, "sandboxId", target->sandbox);
	if (is_gone)
		(void)snprintf(message, sizeof(message),
			       "The sandbox was not found: %.1500s%s%.400s", refusal->message,
			       refusal->cause != NULL ? ": " : "",
			       refusal->cause != NULL ? refusal->cause : "");
	else
		(void)snprintf(message, sizeof(message), "%.1500s%s%.400s%s", refusal->message,
			       remedy != NULL ? " (" : "", remedy != NULL ? remedy : "",
			       remedy != NULL ? ")" : "");
	json_write_member_string(json, "message", message);
	if (has_words)
		json_write_member_string(json, "code", refusal->code);
	else
		json_write_member_uint(json, "code", status);
	if (!is_gone)
		json_write_member_string(json, "error_code", refusal->code);
	json_write_object_end(json);
}

static unsigned status_of(const struct e2b_target *target, const struct refusal *refusal)
{
	if (!is_session_over(refusal))
		return refusal->status == 410 ? 404 : refusal->status;
	if (target->side != E2B_CONTROL)
		return 502;
	return is_paused(refusal) ? 409 : 404;
}

/* Answers in plain text, because the interpreter's clients show the body unchanged. */
static void refuse_in_words(struct request *request, unsigned status,
			    const struct refusal *refusal)
{
	cleanup_buf struct buf text = BUF_INIT(ERROR_MAX);
	struct err err;

	if (buf_adds(&text, refusal->message, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, "text/plain; charset=utf-8", &text, E2B_CORS);
}

static void refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(ERROR_MAX);
	char headers[256] = E2B_CORS;
	struct e2b_target target;
	struct json_writer json;
	unsigned status;
	struct err err;

	e2b_target_of(request_head(request), &target);
	status = status_of(&target, refusal);
	if (e2b_is_rpc(request_head(request)) && status != 502) {
		e2b_rpc_refuse(request, status, refusal->message);
		return;
	}
	if (target.side == E2B_INTERPRETER && status != 502) {
		refuse_in_words(request, status, refusal);
		return;
	}
	json_write_init(&json, &body);
	write_error(&target, status, is_of_volume(request_head(request)), refusal, &json);
	if (json_write_finish(&json, &err) < 0) {
		answer_break_off(request);
		return;
	}
	if (status == 429 || status == 503)
		(void)snprintf(headers, sizeof(headers), E2B_CORS "Retry-After: %u\r\n",
			       refusal->retry_s > 0 ? refusal->retry_s : 1);
	answer_text(request, status, E2B_JSON, &body, headers);
}

/* ---- requests ------------------------------------------------------------------------------- */

/* Takes the first of these headers that is present, converted to Reckon's spelling. */
static void take_key(struct request *request)
{
	static const char *const places[] = { "x-api-key", "x-access-token",
					      "e2b-traffic-access-token" };
	const struct http *http = request_head(request);
	const char *bearer = http_header(http, "authorization");
	char key[E2B_KEY_SIZE];

	/* Requests for a volume's content send its token, or a key, as a bearer. */
	if (is_of_volume(http) && bearer != NULL && strncasecmp(bearer, "bearer ", 7) == 0 &&
	    strlen(bearer + 7) < E2B_KEY_SIZE) {
		e2b_key_of(bearer + 7, key, sizeof(key));
		request_use_key(request, key);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *found = http_header(http, places[i]);

		if (found == NULL || found[0] == '\0' || strlen(found) >= E2B_KEY_SIZE)
			continue;
		e2b_key_of(found, key, sizeof(key));
		request_use_key(request, key);
		return;
	}
}

/* An address that sent too many wrong keys may use only keys that were valid before. */
static bool may_ask(const struct e2b *e2b)
{
	char key[E2B_KEY_SIZE];

	request_key(e2b->request, key, sizeof(key));
	if (key[0] == '\0' || request_may_present(e2b->request, key))
		return true;
	answer_refuse_simple(e2b->request, 429, "too_many_attempts",
			     "too many unknown keys came from this address",
			     "use a key that is known, or wait");
	return false;
}

static bool is_health(const struct e2b *e2b)
{
	return e2b->part_count == 1 && strcmp(e2b->part[0], "health") == 0;
}

/* Answers 204 or "OK" if the sandbox runs; refuse() answers 502 if not. */
static void health(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(8);
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	struct err err;

	if (call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = e2b->target.session },
			   &session, &call) < 0 ||
	    !e2b_is_awake(e2b, &session))
		return;
	if (e2b->target.side == E2B_ENVD)
		e2b_answer_empty(e2b, 204);
	else if (buf_adds(&body, "\"OK\"", &err) == 0)
		e2b_answer(e2b, 200, &body, NULL);
}

static void interpret(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_POST, "execute", e2b_execute },
	};

	if (strcmp(e2b->part[0], "contexts") == 0)
		e2b_contexts(e2b);
	else
		e2b_route(e2b, routes, ARRAY_LEN(routes));
}

static void rpc(struct e2b *e2b)
{
	if (request_head(e2b->request)->verb != HTTP_VERB_POST || e2b->part_count != 2)
		e2b_rpc_refuse(e2b->request, 501, "there is no such method");
	else if (strcmp(e2b->part[0], E2B_RPC_FILESYSTEM) == 0)
		e2b_filesystem(e2b, e2b->part[1]);
	else
		e2b_process(e2b, e2b->part[1]);
}

static void envd(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_GET, "files", e2b_files },
		{ HTTP_VERB_POST, "files", e2b_files },
		{ HTTP_VERB_POST, "files/compose", e2b_compose },
		{ HTTP_VERB_GET, "envs", e2b_envs },
		{ HTTP_VERB_GET, "metrics", e2b_metrics_of_envd },
	};

	if (e2b_is_rpc(request_head(e2b->request)))
		rpc(e2b);
	else
		e2b_route(e2b, routes, ARRAY_LEN(routes));
}

static void dispatch(struct e2b *e2b)
{
	if (e2b->target.side == E2B_CONTROL)
		e2b_control(e2b);
	else if (e2b->target.side != E2B_PORT && is_health(e2b))
		health(e2b);
	else if (e2b->target.side == E2B_INTERPRETER)
		interpret(e2b);
	else if (e2b->target.side == E2B_ENVD)
		envd(e2b);
	else
		e2b_refuse(e2b, e2b->target.port == 0 ? 400 : 404,
			   "there is no such port or sandbox");
}

static void handle(struct request *request)
{
	const struct http *http = request_head(request);
	cleanup_arena struct arena arena = { 0 };
	struct e2b e2b = { .request = request, .arena = &arena };

	e2b_target_of(http, &e2b.target);
	take_key(request);
	if (http->verb == HTTP_VERB_OTHER &&
	    http_header(http, "access-control-request-method") != NULL) {
		if (answer_begin(request, 204, NULL, 0, CORS_PREFLIGHT) == 0)
			answer_end(request);
		return;
	}
	if (e2b.target.is_half) {
		e2b_refuse(&e2b, 400, "E2b-Sandbox-Id and E2b-Sandbox-Port go together");
		return;
	}
	if (e2b.target.side != E2B_PORT && !e2b_take_path(&e2b, http->path)) {
		e2b_refuse(&e2b, 404, "there is nothing here");
		return;
	}
	if (may_ask(&e2b))
		dispatch(&e2b);
}

static const struct key_place keys[] = { { KEY_NONE, NULL } };

const struct dialect dialect_e2b = {
	.name = "e2b",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
};
