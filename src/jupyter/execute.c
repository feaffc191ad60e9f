/*
 * execute.c - runs a cell: publishes its events, and requests input from the client that sent it.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    signed messages; JSON events of hostile code.
 * Never:    publishes "idle" before all output of the cell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "codec/jupyter/jupyter.h"
#include "jupyter/inner.h"


struct cell {
	struct kernel *kernel;
	const struct message *request;
	uint64_t number;
	bool silent, may_ask, has_error;
	struct buf *value; /* not NULL: a user expression, whose events are not published */
};

/* ---- output --------------------------------------------------------------------------------- */

static bool is_good(const struct json_value *record)
{
	return strcmp(json_get_str(record, "status"), "ok") == 0;
}

static void publish(struct cell *cell, const char *type, const struct buf *content)
{
	message_publish(cell->kernel, &cell->kernel->publisher, cell->request, type, content);
}

/* Publishes the error of a cell that failed without an "error" event. */
static void publish_failure(struct cell *cell, const struct json_value *record)
{
	cleanup_buf struct buf content = BUF_INIT(MESSAGE_MAX);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	jupyter_write_failure(&json, record);
	if (content_end(&json))
		publish(cell, "error", &content);
}

static void publish_event(struct cell *cell, const reckon_event *event)
{
	cleanup_buf struct buf content = BUF_INIT(MESSAGE_MAX);
	struct json_value *parsed;
	struct err err;

	if (json_read_parse(event->json, event->json_len, MESSAGE_MAX, &parsed, &err) < 0) {
		(void)fprintf(stderr, "reckon: an event was dropped: %s\n", err.text);
		return;
	}
	if (jupyter_content(event->name, parsed, cell->number, &content, &err))
		publish(cell, event->name, &content);
	json_read_free(parsed);
}

static int on_event(const reckon_event *event, void *arg)
{
	struct cell *cell = arg;

	if (strcmp(event->name, "done") == 0 ||
	    (cell->silent && strcmp(event->name, "execute_result") == 0))
		return RECKON_CONTINUE;
	cell->has_error = cell->has_error || strcmp(event->name, "error") == 0;
	publish_event(cell, event);
	return RECKON_CONTINUE;
}

/* ---- input ---------------------------------------------------------------------------------- */

static void ask_for_line(struct cell *cell, const char *prompt, size_t len, int password)
{
	cleanup_buf struct buf content = BUF_INIT(MESSAGE_MAX);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_text(&json, "prompt", prompt, len);
	json_write_member_bool(&json, "password", password != 0);
	if (content_end(&json))
		message_send(cell->kernel, cell->kernel->stdin_socket, cell->request,
			     "input_request", &content);
}

/* 1: the client sent a line. */
static int take_line(struct kernel *kernel, char **ret_line, size_t *ret_len)
{
	zmq_pollitem_t item = { .socket = kernel->stdin_socket, .events = ZMQ_POLLIN };
	struct message answer;
	const char *text;
	int found = 0;

	if (zmq_poll(&item, 1, SOCKETS_TICK_MS) <= 0 ||
	    message_receive(kernel, kernel->stdin_socket, false, &answer) <= 0)
		return 0;
	if (strcmp(answer.type, "input_reply") == 0) {
		text = message_text(&answer, "value", ret_len);
		*ret_line = malloc(*ret_len + 1);
		if (*ret_line != NULL)
			memcpy(*ret_line, text, *ret_len + 1);
		found = 1;
	}
	message_done(&answer);
	return found;
}

static int on_input(const char *prompt, size_t prompt_len, int password, char **ret_line,
		    size_t *ret_len, void *arg)
{
	struct cell *cell = arg;
	struct kernel *kernel = cell->kernel;

	*ret_line = NULL;
	if (!cell->may_ask)
		return RECKON_CONTINUE;
	ask_for_line(cell, prompt, prompt_len, password);
	while (!atomic_load(&kernel->is_ending) && !atomic_load(&kernel->wants_interrupt))
		if (take_line(kernel, ret_line, ret_len) > 0)
			return RECKON_CONTINUE;
	return RECKON_STOP;
}

/* ---- running -------------------------------------------------------------------------------- */

/*
 * Returns the record, for json_read_free(). NULL: there is none; if the session is lost, the kernel
 * ends.
 */
static struct json_value *run(struct cell *cell, const char *code, size_t len)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = cell->value == NULL ? on_event : NULL,
		.on_event_arg = cell,
		.on_input = on_input,
		.on_input_arg = cell,
	};
	struct kernel *kernel = cell->kernel;
	struct json_value *record = NULL;
	reckon_execution *execution = NULL;
	reckon_error error;
	struct err err;

	atomic_store(&kernel->wants_interrupt, false);
	atomic_store(&kernel->is_busy, true);
	if (reckon_execute(kernel->session, code, len, &options, &execution, &error) < 0) {
		(void)fprintf(stderr, "reckon: %s\n", error.message);
		if (error.code == RECKON_ELOST)
			/* the client sees that the kernel ended */
			atomic_store(&kernel->is_ending, true);
	}
	atomic_store(&kernel->is_busy, false);
	if (execution != NULL) {
		const char *json = reckon_execution_record(execution);

		if (json_read_parse(json, strlen(json), MESSAGE_MAX, &record, &err) < 0)
			(void)fprintf(stderr, "reckon: a record: %s\n", err.text);
	}
	reckon_execution_free(execution);
	return record;
}

/* Runs a user expression as a cell; its value is the first result. */
static void write_expression(struct cell *cell, struct json_writer *json, const char *code,
			     size_t len)
{
	cleanup_buf struct buf unused = BUF_INIT(0);
	struct cell expression = { .kernel = cell->kernel,
				   .request = cell->request,
				   .value = &unused };
	struct json_value *record = run(&expression, code, len);
	const struct json_value *result = json_read_at(json_read_member(record, "results"), 0);

	json_write_object_begin(json);
	json_write_member_string(json, "status", is_good(record) ? "ok" : "error");
	if (is_good(record))
		jupyter_write_bundle(json, result);
	else
		jupyter_write_failure(json, record);
	json_write_object_end(json);
	json_read_free(record);
}

static void write_expressions(struct cell *cell, struct json_writer *json)
{
	const struct json_value *wanted =
		json_read_member(cell->request->content, "user_expressions");
	const struct json_value *value;
	const char *name, *code;
	size_t len;

	json_write_key(json, "user_expressions");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(wanted, i, &name, &value); i++) {
		json_write_key(json, name);
		code = jupyter_expression_code(json, i, value, &len);
		if (code != NULL)
			write_expression(cell, json, code, len);
	}
	json_write_object_end(json);
}

static void reply(struct cell *cell, const struct json_value *record)
{
	cleanup_buf struct buf content = BUF_INIT(MESSAGE_MAX);
	const bool good = record == NULL || is_good(record);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", good ? "ok" : "error");
	json_write_member_uint(&json, "execution_count", cell->number);
	if (good)
		write_expressions(cell, &json);
	else
		jupyter_write_failure(&json, record);
	json_write_key(&json, "payload");
	json_write_array_begin(&json);
	json_write_array_end(&json);
	if (content_end(&json))
		message_send(cell->kernel, cell->request->socket, cell->request, "execute_reply",
			     &content);
}

static void announce(struct cell *cell, const char *code, size_t len)
{
	cleanup_buf struct buf content = BUF_INIT(MESSAGE_MAX);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", code, len);
	json_write_member_uint(&json, "execution_count", cell->number);
	if (content_end(&json))
		message_publish(cell->kernel, &cell->kernel->publisher, cell->request,
				"execute_input", &content);
}

static bool is_blank(const char *code, size_t len)
{
	return strspn(code, " \t\r\n") >= len;
}

bool execute_request(struct kernel *kernel, const struct message *request)
{
	size_t len;
	const char *code = message_text(request, "code", &len);
	const bool silent = message_flag(request, "silent", false);
	const bool keeps = !silent && message_flag(request, "store_history", true);
	struct cell cell = { .kernel = kernel,
			     .request = request,
			     .number = kernel->count + (silent ? 0 : 1),
			     .silent = silent,
			     .may_ask = message_flag(request, "allow_stdin", true) };
	struct json_value *record = NULL;
	bool is_to_stop = false;

	publish_status(kernel, &kernel->publisher, request, "busy");
	if (!silent)
		announce(&cell, code, len);
	if (is_blank(code, len)) {
		cell.number = kernel->count;
	} else {
		record = run(&cell, code, len);
		if (keeps) {
			kernel->count = cell.number;
			jupyter_history_add(&kernel->history, cell.number, code, len);
		}
	}
	if (record != NULL && !is_good(record)) {
		is_to_stop = message_flag(request, "stop_on_error", true);
		if (!cell.has_error)
			publish_failure(&cell, record);
	}
	if (is_to_stop)
		waiting_collect(kernel);
	reply(&cell, record);
	publish_status(kernel, &kernel->publisher, request, "idle");
	json_read_free(record);
	return is_to_stop;
}

void execute_abort(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;

	publish_status(kernel, &kernel->publisher, request, "busy");
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", "aborted");
	if (content_end(&json))
		message_send(kernel, request->socket, request, "execute_reply", &content);
	publish_status(kernel, &kernel->publisher, request, "idle");
}
