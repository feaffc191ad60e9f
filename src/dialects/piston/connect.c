/*
 * connect.c - a job over a WebSocket: live output, the client's input, signals.
 *
 * Runs in:  reckon-front-piston.
 * Reads:    messages of any client, output of hostile programs.
 * Never:    reads on while the program has not read the earlier input.
 *
 *   client   init, as the body of /execute      data {stream: "stdin", data}      signal {signal}
 *   server   runtime      stage      data {stream, data}      exit      error; then a close
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "codec/json_get.h"
#include "codec/json_write.h"
#include "dialects/piston/piston.h"

#define INIT_MS 1000u
#define EARLY_MAX 16u /* how many messages of unknown types may come before init */
#define TAIL_MAX 8u
#define TEXT_MAX ((size_t)8 * 1024 * 1024)

/* Codes that Piston's own clients know. */
enum close {
	CLOSE_ALREADY = 4000,
	CLOSE_NO_INIT = 4001,
	CLOSE_ERROR = 4002,
	CLOSE_NOT_YET = 4003,
	CLOSE_NOT_STDIN = 4004,
	CLOSE_NO_SIGNAL = 4005,
	CLOSE_DONE = 4999,
};

struct connection {
	struct program_interactive interactive; /* must be the first member */
	struct piston_execution execution;
	struct buf tails[2]; /* of stdout, stderr: an incomplete character */
};

/* ---- messages to the client ----------------------------------------------------------------- */

static int send(struct request *request, struct json_writer *json, const struct buf *text)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0) {
		answer_break_off(request);
		return -1;
	}
	return websocket_send(request, WEBSOCKET_TEXT, text->data, text->len);
}

static int fail(struct request *request, const char *message)
{
	cleanup_buf struct buf text = BUF_INIT(16384);
	struct json_writer json;

	json_write_begin_with(&json, &text, "type", "error");
	json_write_member_string(&json, "message", message);
	if (send(request, &json, &text) == 0)
		websocket_close(request, CLOSE_ERROR, "Notified Error");
	return -1;
}

void piston_refuse_socket(struct request *request, const struct refusal *refusal)
{
	(void)fail(request, refusal->message != NULL ? refusal->message : refusal->code);
}

static int close_with(struct request *request, enum close code, const char *reason)
{
	websocket_close(request, code, reason);
	return -1;
}

static int send_data(struct request *request, bool is_error, const char *data, size_t len)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	struct json_writer json;

	json_write_begin_with(&json, &text, "type", "data");
	json_write_member_string(&json, "stream", is_error ? "stderr" : "stdout");
	json_write_member_text(&json, "data", data, len);
	return send(request, &json, &text);
}

static int take_output(struct program_interactive *self, bool is_error, const char *bytes,
		       size_t len)
{
	struct connection *connection = (struct connection *)self;
	cleanup_buf struct buf all = BUF_INIT(TEXT_MAX);
	struct buf *tail = &connection->tails[is_error];
	struct err err;
	size_t cut;

	if (buf_add(&all, buf_text(tail), tail->len, &err) < 0 ||
	    buf_add(&all, bytes, len, &err) < 0)
		return fail(connection->execution.request, err.text);
	buf_clear(tail);
	cut = utf8_incomplete_tail(all.data, all.len);
	if (buf_add(tail, all.data + all.len - cut, cut, &err) < 0)
		return -1;
	return all.len == cut ? 0
			      : send_data(connection->execution.request, is_error, all.data,
					  all.len - cut);
}

static int send_exit(struct connection *connection, const char *stage,
		     const struct program_end *end)
{
	struct request *request = connection->execution.request;
	cleanup_buf struct buf text = BUF_INIT(16384);
	struct piston_verdict verdict;
	struct json_writer json;

	for (unsigned i = 0; i < 2; i++) {
		struct buf *tail = &connection->tails[i];

		if (tail->len > 0 && send_data(request, i == 1, tail->data, tail->len) < 0)
			return -1;
		buf_clear(tail);
	}
	piston_judge(end, &verdict);
	json_write_begin_with(&json, &text, "type", "exit");
	json_write_member_string(&json, "stage", stage);
	json_write_key(&json, "code");
	if (verdict.code < 0)
		json_write_null(&json);
	else
		json_write_int(&json, verdict.code);
	json_write_member_string(&json, "signal", verdict.signal[0] != '\0' ? verdict.signal : NULL);
	json_write_member_string(&json, "message", verdict.message);
	json_write_member_string(&json, "status", verdict.status);
	return send(request, &json, &text);
}

/* ---- messages of the client ----------------------------------------------------------------- */

static int take_signal(struct connection *connection, const char *name)
{
	static const char *const names[] = { "SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1",
					     "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGCONT",
					     "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
					     "SIGWINCH" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return program_signal(&connection->execution.program,
					      (enum api_process_signal_in_signal)(i + 1));
	return close_with(connection->execution.request, CLOSE_NO_SIGNAL, "Invalid signal");
}

static int take_message(struct connection *connection, const struct json_value *message)
{
	struct request *request = connection->execution.request;
	const char *type = json_get_str(message, "type"), *data;
	struct err err;
	size_t len;

	if (strcmp(type, "init") == 0)
		return close_with(request, CLOSE_ALREADY, "Already Initialized");
	if (strcmp(type, "signal") == 0)
		return take_signal(connection, json_get_str(message, "signal"));
	if (strcmp(type, "data") != 0)
		return 0;
	if (strcmp(json_get_str(message, "stream"), "stdin") != 0)
		return close_with(request, CLOSE_NOT_STDIN, "Can only write to stdin");
	data = json_read_text(json_read_member(message, "data"), &len);
	if (data == NULL || buf_add(&connection->interactive.input, data, len, &err) < 0)
		return fail(request, data == NULL ? "data is required as a string" : err.text);
	return 0;
}

/* NULL: the message is invalid, and that was answered. */
static struct json_value *parse(struct request *request, const struct websocket_message *message)
{
	struct json_value *value = NULL;
	struct err err = { 0 };

	if (message->kind == WEBSOCKET_TEXT &&
	    json_read_parse(message->bytes, message->len, PISTON_BODY_MAX, &value, &err) == 0 &&
	    json_read_kind(value) == JSON_KIND_OBJECT)
		return value;
	json_read_free(value);
	(void)fail(request, err.text[0] != '\0' ? err.text : "a message is a JSON object");
	return NULL;
}

static int wait(struct program_interactive *self)
{
	struct connection *connection = (struct connection *)self;
	struct request *request = connection->execution.request;
	struct websocket_message message;
	struct json_value *value;
	const int what = websocket_next(request, 0, &message);
	int code;

	if (what != 1)
		return what < 0 ? -1 : 0;
	value = parse(request, &message);
	if (value == NULL)
		return -1;
	code = take_message(connection, value);
	json_read_free(value);
	return code;
}

/* Waits for the first valid message; NULL: an answer was sent. */
static struct json_value *take_init(struct request *request)
{
	struct websocket_message message;

	for (unsigned i = 0; i < EARLY_MAX; i++) {
		const int what = websocket_next(request, INIT_MS, &message);
		struct json_value *value;
		const char *type;

		if (what < 0)
			return NULL;
		if (what != 1)
			break;
		value = parse(request, &message);
		type = json_get_str(value, "type");
		if (value == NULL || strcmp(type, "init") == 0)
			return value;
		if (strcmp(type, "data") == 0 || strcmp(type, "signal") == 0) {
			json_read_free(value);
			(void)close_with(request, CLOSE_NOT_YET, "Not yet initialized");
			return NULL;
		}
		json_read_free(value);
	}
	(void)close_with(request, CLOSE_NO_INIT, "Initialization Timeout");
	return NULL;
}

/* ---- a job ---------------------------------------------------------------------------------- */

static int send_runtime(struct connection *connection)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct json_writer json;

	json_write_begin_with(&json, &text, "type", "runtime");
	json_write_member_string(&json, "language", connection->execution.job.language->name);
	json_write_member_string(&json, "version", connection->execution.version);
	return send(connection->execution.request, &json, &text);
}

static int run_stage(struct connection *connection, const char *stage, const char *command,
		     struct program_end *ret)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct json_writer json;

	json_write_begin_with(&json, &text, "type", "stage");
	json_write_member_string(&json, "stage", stage);
	if (send(connection->execution.request, &json, &text) < 0 ||
	    piston_run_stage(&connection->execution, command, strcmp(stage, "run") == 0, ret) < 0)
		return -1;
	return send_exit(connection, stage, ret);
}

static void run(struct connection *connection)
{
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	const struct program_language *language = connection->execution.job.language;
	struct request *request = connection->execution.request;

	if (piston_prepare(&connection->execution) < 0 || send_runtime(connection) < 0)
		return;
	connection->execution.interactive = &connection->interactive;
	if (language->compile != NULL &&
	    run_stage(connection, "compile", language->compile, &end) < 0)
		return;
	if ((language->compile == NULL || piston_has_compiled(&end)) &&
	    run_stage(connection, "run", language->run, &end) < 0)
		return;
	websocket_close(request, CLOSE_DONE, "Job Completed");
}

void piston_connect(struct request *request)
{
	struct connection connection = {
		.interactive = { .take_output = take_output,
				 .wait = wait,
				 .input = BUF_INIT(PISTON_BODY_MAX) },
		.execution = { .request = request, .program = PROGRAM_INIT },
		.tails = { BUF_INIT(TAIL_MAX), BUF_INIT(TAIL_MAX) },
	};
	const char *protocol;
	struct json_value *init;
	char why[192];

	if (!request_origin_is_allowed(request)) {
		answer_refuse_simple(request, 403, "denied", "a page of another site asks", NULL);
		return;
	}
	if (call_check_key(request) < 0 ||
	    websocket_begin(request, NULL, PISTON_BODY_MAX, &protocol) < 0)
		return;
	init = take_init(request);
	if (init != NULL && piston_job_read(init, &connection.execution.job, why, sizeof(why)))
		run(&connection);
	else if (init != NULL)
		(void)fail(request, why);
	program_done(&connection.execution.program);
	json_read_free(init);
	buf_done(&connection.interactive.input);
	buf_done(&connection.tails[0]);
	buf_done(&connection.tails[1]);
}
