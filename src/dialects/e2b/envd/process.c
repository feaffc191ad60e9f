/*
 * process.c - the service process.Process: list, input, signals and terminal sizes.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients.
 * Never:    signals a process that the message does not name.
 */
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/e2b/envd/inside.h"
#include "dialects/e2b/envd/process.h"

#define INPUT_MAX (4u * 1024u * 1024u)
#define ANSWER_MAX ((size_t)16 << 20)

/* A process that has ended meanwhile counts as not found. */
static void refuse(const struct e2b *e2b, const struct api_failure *failure)
{
	if (strcmp(api_error_of(failure)->name, "process_ended") == 0)
		e2b_rpc_refuse(e2b->request, 404, failure->message);
	else
		call_refuse(e2b->request, failure);
}

/* Makes a call whose result E2B does not have, and answers with an empty message. */
static void make(const struct e2b *e2b, enum api_id id, const void *in)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status = call_make(e2b->request, id, in, NULL, &call);

	if (status == CALL_FAILED)
		refuse(e2b, call.failure);
	else if (status == CALL_OK)
		e2b_rpc_empty(e2b);
}

/* ---- methods -------------------------------------------------------------------------------- */

static void write_process(struct json_writer *json, const struct api_process *process)
{
	cleanup_json struct json_value *argv = NULL;
	struct err ignored;

	if (process->argv.data != NULL)
		(void)json_read_parse(process->argv.data, process->argv.len, ANSWER_MAX, &argv,
				      &ignored);
	json_write_object_begin(json);
	json_write_key(json, "config");
	json_write_object_begin(json);
	json_write_key(json, "cmd");
	json_write_string(json, argv != NULL ? json_read_text(json_read_at(argv, 0), NULL)
				: process->command != NULL ? process->command
							   : "");
	json_write_key(json, "args");
	json_write_array_begin(json);
	for (size_t i = 1; i < json_read_count(argv); i++)
		json_write_string(json, json_read_text(json_read_at(argv, i), NULL));
	json_write_array_end(json);
	json_write_key(json, "envs");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_member_string(json, "cwd", process->cwd);
	json_write_object_end(json);
	json_write_member_uint(json, "pid", process->pid);
	if (process->tag != NULL)
		json_write_member_string(json, "tag", process->tag);
	json_write_object_end(json);
}

static void list(struct e2b *e2b, const struct json_value *message)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_process *at;
	struct api_processes out;
	struct json_writer json;

	(void)message;
	if (call_or_refuse(e2b->request, API_PROCESS_LIST,
			   &(struct api_process_list_in){
				   .session = e2b->target.session,
				   .has_limit = true,
				   .limit = 500,
				   .state = API_PROCESS_LIST_IN_STATE_RUNNING },
			   &out, &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "processes");
	json_write_array_begin(&json);
	at = out.processes.items;
	for (size_t i = 0; i < out.processes.count; i++, at++)
		if (at->tag == NULL || strcmp(at->tag, INSIDE_TAG) != 0)
			write_process(&json, at);
	json_write_array_end(&json);
	json_write_object_end(&json);
	e2b_rpc_answer(e2b, &json);
}

/* Decodes standard or URL-safe base64. */
static int decode(const char *text, struct buf *ret)
{
	cleanup_buf struct buf plain = BUF_INIT(2 * INPUT_MAX);
	struct err ignored;

	if (buf_adds(&plain, text, &ignored) < 0)
		return -1;
	for (size_t i = 0; i < plain.len; i++)
		plain.data[i] = plain.data[i] == '-'   ? '+'
				: plain.data[i] == '_' ? '/'
						       : plain.data[i];
	while (plain.len % 4 != 0)
		if (buf_addc(&plain, '=', &ignored) < 0)
			return -1;
	return base64_decode(buf_text(&plain), plain.len, ret, &ignored);
}

/* Negative: answered with an error, or the client disconnected. */
static int put_input(const struct e2b *e2b, const struct api_process *process,
		     const struct json_value *input)
{
	const char *pty = e2b_rpc_text(input, "pty"), *plain = e2b_rpc_text(input, "stdin");
	cleanup_buf struct buf bytes = BUF_INIT(INPUT_MAX);
	cleanup_call struct call call = CALL_INIT;
	enum call_status status = CALL_OK;

	if ((pty[0] != '\0') != (process->pty != NULL) && (pty[0] != '\0' || plain[0] != '\0'))
		e2b_rpc_refuse(e2b->request, 500, process->pty != NULL
							  ? "tty assigned to process"
							  : "tty not assigned to process");
	else if (process->pty == NULL && !process->stdin)
		e2b_rpc_refuse(e2b->request, 500, "stdin not enabled or closed");
	else if (decode(pty[0] != '\0' ? pty : plain, &bytes) < 0)
		e2b_rpc_refuse(e2b->request, 400, "the input is not base 64, or longer than 4 MiB");
	else {
		if (bytes.len > 0)
			status = call_make(e2b->request, API_PROCESS_STDIN,
					   &(struct api_process_stdin_in){
						   .session = e2b->target.session,
						   .process = process->id,
						   .data = { bytes.data, bytes.len } },
					   NULL, &call);
		if (status == CALL_FAILED)
			refuse(e2b, call.failure);
		return status == CALL_OK ? 0 : -1;
	}
	return -1;
}

static void send_input(struct e2b *e2b, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;

	if (e2b_process_select(e2b, message, true, &process, &call) &&
	    put_input(e2b, &process, json_read_member(message, "input")) == 0)
		e2b_rpc_empty(e2b);
}

static void close_stdin(struct e2b *e2b, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;

	if (!e2b_process_select(e2b, message, true, &process, &call))
		return;
	if (process.pty != NULL)
		e2b_rpc_refuse(e2b->request, 500, "cannot close the input of a terminal");
	else if (!process.stdin)
		e2b_rpc_empty(e2b); /* already closed */
	else
		make(e2b, API_PROCESS_STDIN,
		     &(struct api_process_stdin_in){ .session = e2b->target.session,
						     .process = process.id,
						     .has_close = true,
						     .close = true });
}

static void send_signal(struct e2b *e2b, const struct json_value *message)
{
	const char *name = e2b_rpc_text(message, "signal");
	struct api_process_signal_in in = { .session = e2b->target.session };
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	int64_t number = 0;

	(void)json_read_int(json_read_member(message, "signal"), &number);
	if (strcmp(name, "SIGNAL_SIGKILL") == 0 || number == 9)
		in.signal = API_PROCESS_SIGNAL_IN_SIGNAL_KILL;
	else if (strcmp(name, "SIGNAL_SIGTERM") == 0 || number == 15)
		in.signal = API_PROCESS_SIGNAL_IN_SIGNAL_TERM;
	if (!e2b_process_select(e2b, message, true, &process, &call))
		return;
	in.process = process.id;
	if (in.signal == 0)
		e2b_rpc_refuse(e2b->request, 400, "invalid signal");
	else
		make(e2b, API_PROCESS_SIGNAL, &in);
}

static void update(struct e2b *e2b, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	struct api_pty size;

	if (!e2b_process_select(e2b, message, true, &process, &call))
		return;
	if (!e2b_process_size(message, &size))
		e2b_rpc_empty(e2b);
	else if (process.pty == NULL)
		e2b_rpc_refuse(e2b->request, 500, "tty not assigned to process");
	else
		make(e2b, API_PROCESS_RESIZE,
		     &(struct api_process_resize_in){ .session = e2b->target.session,
						      .process = process.id,
						      .rows = size.rows,
						      .cols = size.cols });
}

/* ---- StreamInput ---------------------------------------------------------------------------- */

struct input {
	const struct e2b *e2b;
	struct buf body; /* bytes that were received and not yet parsed */
	struct api_process process;
	struct call call; /* holds the texts of `process` */
	bool is_started;
};

static bool add_input(const char *bytes, size_t len, void *arg)
{
	struct err ignored;

	return buf_add(&((struct input *)arg)->body, bytes, len, &ignored) == 0;
}

/* Handles one message. Negative: answered with an error, or the client disconnected. */
static int take_input(struct input *input, const struct envelope *envelope)
{
	cleanup_json struct json_value *message = NULL;
	const struct json_value *start, *data;
	struct err err;

	if (envelope->flags != 0) {
		e2b_rpc_refuse(input->e2b->request, 501, "compressed messages are not taken");
		return -1;
	}
	if (json_read_parse(envelope->data, envelope->len, E2B_RPC_MAX, &message, &err) < 0) {
		e2b_rpc_refuse(input->e2b->request, 400, err.text);
		return -1;
	}
	start = json_read_member(message, "start");
	data = json_read_member(message, "data");
	if ((start != NULL) == input->is_started && (start != NULL || data != NULL)) {
		e2b_rpc_refuse(input->e2b->request, 400, "a stream of input has one start, which "
							 "comes first");
		return -1;
	}
	if (data != NULL)
		return put_input(input->e2b, &input->process, json_read_member(data, "input"));
	if (start == NULL)
		return 0; /* a keepalive */
	input->is_started = true;
	return e2b_process_select(input->e2b, start, true, &input->process, &input->call) ? 0 : -1;
}

/* Handles all complete messages. Negative: as above. */
static int take_inputs(struct input *input)
{
	struct envelope envelope;
	struct err err;
	size_t used;
	int code;

	while ((code = envelope_read(buf_text(&input->body), input->body.len, E2B_RPC_MAX,
				     &envelope, &used, &err)) > 0) {
		if (take_input(input, &envelope) < 0)
			return -1;
		buf_consume(&input->body, used);
	}
	if (code < 0)
		e2b_rpc_refuse(input->e2b->request, err.code == ERR_LIMIT ? 429 : 400, err.text);
	return code;
}

/* Writes the input of each message when it arrives, not at the end of the body. */
static void stream_input(struct e2b *e2b)
{
	struct input input = { .e2b = e2b, .body = BUF_INIT(2 * E2B_RPC_MAX), .call = CALL_INIT };
	int code = e2b_rpc_check(e2b) && e2b_rpc_user(e2b) ? call_check_key(e2b->request) : -1;

	while (code == 0) {
		code = request_body_some(e2b->request, add_input, &input);
		if (code >= 0 && take_inputs(&input) < 0)
			code = -1;
	}
	if (code > 0 && (input.body.len > 0 || !input.is_started))
		e2b_rpc_refuse(e2b->request, 400,
			       "the last message is not whole, or there is none");
	else if (code > 0 && e2b_rpc_begin(e2b) == 0 && e2b_rpc_beat(e2b, "{}") == 0)
		e2b_rpc_end(e2b, NULL, NULL);
	call_done(&input.call);
	buf_done(&input.body);
}

void e2b_process(struct e2b *e2b, const char *method)
{
	static const struct {
		const char *name;
		void (*fn)(struct e2b *e2b, const struct json_value *message);
	} methods[] = {
		{ "Start", e2b_process_start }, { "Connect", e2b_process_connect },
		{ "List", list },		{ "SendInput", send_input },
		{ "CloseStdin", close_stdin },	{ "SendSignal", send_signal },
		{ "Update", update },
	};

	if (strcmp(method, "StreamInput") == 0) {
		stream_input(e2b);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, method) != 0)
			continue;
		cleanup_json struct json_value *message = e2b_rpc_take(e2b);

		if (message != NULL && e2b_rpc_user(e2b))
			methods[i].fn(e2b, message);
		return;
	}
	e2b_rpc_refuse(e2b->request, 501, "there is no such method");
}
