/*
 * terminals.c - shells in the home: processes with a terminal, marked by their tag.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of any client; bytes of hostile programs.
 * Never:    shows a process that was started for something else.
 *
 *   server         ["setup", {}], ["stdout", text]…, ["disconnect", 1]
 *   client         ["stdin", text], ["set_size", rows, columns, height, width]
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/jupyter/server.h"

#define TAG "jupyter-terminal"
#define SHELL "if command -v bash >/dev/null; then exec bash; else exec sh; fi"
#define MESSAGE_MAX_BYTES ((size_t)1024 * 1024)
#define EVENT_MAX_BYTES ((size_t)256 * 1024)
#define SIZE_MAX_CHARS 1000
#define PAGE 500u

/* ---- as REST knows them --------------------------------------------------------------------- */

static void write_terminal(struct json_writer *json, const struct api_process *process)
{
	json_write_object_begin(json);
	json_write_member_string(json, "name", process->id);
	server_write_moment(json, "last_activity", process->created_at);
	json_write_object_end(json);
}

static void answer_terminal(struct request *request, const struct api_process *process)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct json_writer json;

	json_write_init(&json, &body);
	write_terminal(&json, process);
	server_answer(request, 200, &json, &body, NULL);
}

static void list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_process *processes;
	struct api_processes page = { 0 };
	struct json_writer json;
	char session[ID_SIZE];
	enum home home;

	if (server_take_nothing(request) < 0)
		return;
	home = home_find(request, session);
	if (home == HOME_GONE ||
	    (home == HOME_FOUND &&
	     call_or_refuse(request, API_PROCESS_LIST,
			    &(struct api_process_list_in){
				    .session = session,
				    .has_limit = true,
				    .limit = PAGE,
				    .tag = TAG,
				    .state = API_PROCESS_LIST_IN_STATE_RUNNING },
			    &page, &call) < 0))
		return;
	processes = page.processes.items;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = page.processes.count; i > 0; i--)
		write_terminal(&json, &processes[i - 1]);
	json_write_array_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void start(struct request *request)
{
	cleanup_json struct json_value *body = NULL;
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	char session[ID_SIZE], cwd[1024];
	const char *wanted;
	int len;

	if (server_take_object(request, SERVER_BODY_MAX, &body) < 0 ||
	    home_open(request, session) < 0)
		return;
	wanted = json_get_str(body, "cwd");
	wanted += strspn(wanted, "/");
	len = snprintf(cwd, sizeof(cwd), "/mnt/data/%s", wanted);
	if (call_or_refuse(request, API_PROCESS_CREATE,
			   &(struct api_process_create_in){
				   .session = session,
				   .command = SHELL,
				   .cwd = wanted[0] != '\0' && len < (int)sizeof(cwd) ? cwd : NULL,
				   .pty = &(struct api_pty){ 0 },
				   .tag = TAG },
			   &process, &call) == 0)
		answer_terminal(request, &process);
}

/* Finds a running terminal; its texts live as long as `call`. Negative: answered with an error, or
 * the client is gone. */
static int find(struct request *request, const char *name, char ret_session[ID_SIZE],
		struct api_process *ret, struct call *call)
{
	const enum home home = home_find(request, ret_session);
	enum call_status status = CALL_FAILED;
	char message[96];

	if (home == HOME_GONE)
		return -1;
	if (home == HOME_FOUND)
		status = call_make(request, API_PROCESS_SHOW,
				   &(struct api_process_show_in){ .session = ret_session,
								  .process = name },
				   ret, call);
	if (status == CALL_OK && ret->tag != NULL && strcmp(ret->tag, TAG) == 0 &&
	    ret->state == API_PROCESS_STATE_RUNNING)
		return 0;
	if (status != CALL_GONE) {
		(void)snprintf(message, sizeof(message), "Terminal not found: %.40s", name);
		answer_refuse_simple(request, 404, "not_found", message, NULL);
	}
	return -1;
}

static void show(struct request *request, const char *name)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	char session[ID_SIZE];

	if (server_take_nothing(request) == 0 &&
	    find(request, name, session, &process, &call) == 0)
		answer_terminal(request, &process);
}

static void end(struct request *request, const char *name)
{
	cleanup_call struct call call = CALL_INIT, ended = CALL_INIT;
	struct api_process process;
	char session[ID_SIZE];

	if (server_take_nothing(request) == 0 &&
	    find(request, name, session, &process, &call) == 0 &&
	    call_or_refuse(request, API_PROCESS_DELETE,
			   &(struct api_process_delete_in){ .session = session, .process = name },
			   NULL, &ended) == 0)
		server_answer_nothing(request);
}

void terminals_route(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const char *name = rest[0] == '/' ? rest + 1 : "";

	if (name[0] == '\0' && verb == HTTP_VERB_GET)
		list(request);
	else if (name[0] == '\0' && verb == HTTP_VERB_POST)
		start(request);
	else if (name[0] != '\0' && verb == HTTP_VERB_GET)
		show(request, name);
	else if (name[0] != '\0' && verb == HTTP_VERB_DELETE)
		end(request, name);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}

/* ---- the WebSocket of one ------------------------------------------------------------------- */

struct terminal {
	struct request *request;
	const char *session, *process;
	struct buf text; /* an incomplete character at the end of the output */
};

static int send_text(struct terminal *terminal, const char *word, const char *text, size_t len)
{
	cleanup_buf struct buf message = BUF_INIT(4 * MESSAGE_MAX_BYTES);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &message);
	json_write_array_begin(&json);
	json_write_string(&json, word);
	json_write_text(&json, text, len);
	json_write_array_end(&json);
	return json_write_finish(&json, &err) < 0
		       ? 0
		       : websocket_send(terminal->request, WEBSOCKET_TEXT, message.data,
					message.len);
}

static int send_raw(struct terminal *terminal, const char *json)
{
	return websocket_send(terminal->request, WEBSOCKET_TEXT, json, strlen(json));
}

static int send_output(struct terminal *terminal, const struct api_event *event)
{
	cleanup_json struct json_value *json = NULL;
	struct buf *text = &terminal->text;
	const char *data;
	size_t len, tail;
	struct err err;
	int sent;

	if (strcmp(event->name, "stream") != 0 ||
	    json_read_parse(event->data.data, event->data.len, EVENT_MAX_BYTES, &json, &err) < 0)
		return 0;
	data = json_read_text(json_read_member(json, "data"), &len);
	if (data == NULL || base64_decode(data, len, text, &err) < 0)
		return 0;
	tail = utf8_incomplete_tail(buf_text(text), text->len);
	if (text->len == tail)
		return 0;
	sent = send_text(terminal, "stdout", buf_text(text), text->len - tail);
	buf_consume(text, text->len - tail);
	return sent;
}

static int type(struct terminal *terminal, const char *text, size_t len)
{
	cleanup_call struct call call = CALL_INIT;

	return len > 0 && call_make(terminal->request, API_PROCESS_STDIN,
				    &(struct api_process_stdin_in){ .session = terminal->session,
								    .process = terminal->process,
								    .data = { text, len } },
				    NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

static int resize(struct terminal *terminal, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	int64_t rows = 0, cols = 0;

	(void)json_read_int(json_read_at(message, 1), &rows);
	(void)json_read_int(json_read_at(message, 2), &cols);
	if (rows < 1 || rows > SIZE_MAX_CHARS || cols < 1 || cols > SIZE_MAX_CHARS)
		return 0;
	return call_make(terminal->request, API_PROCESS_RESIZE,
			 &(struct api_process_resize_in){ .session = terminal->session,
							  .process = terminal->process,
							  .rows = (uint64_t)rows,
							  .cols = (uint64_t)cols },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

/* Ignores invalid messages: the protocol has no error message. */
static int take_message(struct terminal *terminal)
{
	cleanup_json struct json_value *json = NULL;
	struct websocket_message message;
	const char *word, *text;
	size_t len = 0;
	struct err err;
	const int what = websocket_next(terminal->request, 0, &message);

	if (what != 1)
		return what < 0 ? -1 : 0;
	if (json_read_parse(message.bytes, message.len, MESSAGE_MAX_BYTES, &json, &err) < 0)
		return 0;
	word = json_read_text(json_read_at(json, 0), NULL);
	text = json_read_text(json_read_at(json, 1), &len);
	if (word != NULL && strcmp(word, "set_size") == 0)
		return resize(terminal, json);
	if (word != NULL && strcmp(word, "stdin") == 0 && text != NULL)
		return type(terminal, text, len);
	return 0;
}

static void follow(struct terminal *terminal)
{
	struct api_process_events_in in = { .session = terminal->session,
					    .process = terminal->process };
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;
	int code = send_raw(terminal, "[\"setup\",{}]");

	events_open(&reader, terminal->request, API_PROCESS_EVENTS, &in);
	while (code == 0) {
		switch (events_next(&reader, EVENTS_POLL, &call, &next)) {
		case EVENT_NEXT:
			code = send_output(terminal, &next.event);
			break;
		case EVENT_QUIET:
			code = take_message(terminal);
			break;
		case EVENT_GAP:
			break;
		case EVENT_FAILED:
		case EVENT_END:
			(void)send_raw(terminal, "[\"disconnect\",1]");
			websocket_close(terminal->request, 1000, NULL);
			return;
		case EVENT_GONE:
			return;
		}
	}
}

void terminals_serve(struct request *request, const char *name)
{
	struct terminal terminal = { .request = request, .process = name,
				     .text = BUF_INIT(EVENT_MAX_BYTES) };
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	const char *protocol = NULL;
	char session[ID_SIZE];

	if (call_check_key(request) < 0 || find(request, name, session, &process, &call) < 0)
		return;
	terminal.session = session;
	if (websocket_begin(request, NULL, MESSAGE_MAX_BYTES, &protocol) == 0)
		follow(&terminal);
	buf_done(&terminal.text);
}
