/*
 * process_stream.c - Start and Connect: a process's events as a stream of messages.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients; output of hostile programs, as base64 in reckond's JSON.
 * Never:    ends a process because its client disconnected; ends a stream normally when the sandbox
 *           was killed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/e2b/envd/process.h"
#include "dialects/events.h"

#define EVENT_MAX ((size_t)1 << 20)
#define BEAT "{\"event\":{\"keepalive\":{}}}"
#define ARGUMENTS_MAX 4095u
#define ENV_COUNT_MAX 240u
#define HOME "/home/user"

/* ---- messages ------------------------------------------------------------------------------- */

static int send_start(const struct e2b *e2b, uint64_t pid)
{
	cleanup_buf struct buf text = BUF_INIT(256);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "event");
	json_write_object_begin(&json);
	json_write_key(&json, "start");
	json_write_object_begin(&json);
	json_write_member_uint(&json, "pid", pid);
	json_write_object_end(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return e2b_rpc_send(e2b, &json);
}

static int send_data(const struct e2b *e2b, const struct json_value *event)
{
	cleanup_buf struct buf text = BUF_INIT(EVENT_MAX);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "event");
	json_write_object_begin(&json);
	json_write_key(&json, "data");
	json_write_object_begin(&json);
	json_write_member_string(&json, e2b_rpc_text(event, "name"), e2b_rpc_text(event, "data"));
	json_write_object_end(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return e2b_rpc_send(e2b, &json);
}

/* The names that Go gives signals, because E2B's envd is written in Go. */
static const char *signal_words(const char *name)
{
	static const struct {
		const char *name, *words;
	} known[] = {
		{ "KILL", "killed" }, { "TERM", "terminated" }, { "INT", "interrupt" },
		{ "HUP", "hangup" }, { "QUIT", "quit" }, { "ABRT", "aborted" },
		{ "SEGV", "segmentation fault" }, { "PIPE", "broken pipe" },
		{ "ALRM", "alarm clock" }, { "BUS", "bus error" },
		{ "FPE", "floating point exception" }, { "ILL", "illegal instruction" },
		{ "TRAP", "trace/breakpoint trap" }, { "USR1", "user defined signal 1" },
		{ "USR2", "user defined signal 2" }, { "XCPU", "CPU time limit exceeded" },
		{ "SYS", "bad system call" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].words;
	return name;
}

struct end {
	bool is_exit;
	int64_t code;
	const char *signal, *cause;
};

static int send_end(const struct e2b *e2b, const struct end *end)
{
	cleanup_buf struct buf text = BUF_INIT(1024);
	char status[128];
	struct json_writer json;

	if (end->is_exit)
		(void)snprintf(status, sizeof(status), "exit status %" PRId64, end->code);
	else
		(void)snprintf(status, sizeof(status), "signal: %s%s", signal_words(end->signal),
			       strcmp(end->cause, "out_of_memory") == 0 ? " (out of memory)" : "");
	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "event");
	json_write_object_begin(&json);
	json_write_key(&json, "end");
	json_write_object_begin(&json);
	json_write_key(&json, "exitCode");
	json_write_int(&json, end->is_exit ? end->code : -1);
	json_write_member_bool(&json, "exited", end->is_exit);
	json_write_member_string(&json, "status", status);
	if (!end->is_exit || end->code != 0)
		json_write_member_string(&json, "error", status);
	json_write_object_end(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return e2b_rpc_send(e2b, &json);
}

/* ---- following ------------------------------------------------------------------------------ */

struct follow {
	const struct e2b *e2b;
	struct api_process_events_in in;
	uint64_t ping_ms;
	bool is_over; /* the end event, or an error in its place, was sent */
};

static int take_end(struct follow *follow, const struct json_value *event)
{
	struct end end = { .signal = e2b_rpc_text(event, "signal"),
			   .cause = e2b_rpc_text(event, "cause") };

	if (strcmp(e2b_rpc_text(event, "state"), "lost") == 0 ||
	    strcmp(end.cause, "session_ended") == 0) {
		answer_break_off(follow->e2b->request);
		return -1;
	}
	follow->is_over = true;
	if (strcmp(end.cause, "timeout") == 0) {
		e2b_rpc_end(follow->e2b, "deadline_exceeded", E2B_RPC_LATE);
		return -1;
	}
	end.is_exit = json_read_int(json_read_member(event, "exit_code"), &end.code);
	if (end.signal[0] == '\0')
		end.signal = "KILL";
	return send_end(follow->e2b, &end);
}

static int take_event(struct follow *follow, const struct api_event *event)
{
	cleanup_json struct json_value *value = NULL;
	struct err ignored;

	if (json_read_parse(event->data.data, event->data.len, EVENT_MAX, &value, &ignored) < 0)
		return 0;
	if (strcmp(event->name, "stream") == 0)
		return send_data(follow->e2b, value);
	return strcmp(event->name, "end") == 0 ? take_end(follow, value) : 0;
}

static void fail(const struct follow *follow, const struct api_failure *failure)
{
	if (strncmp(api_error_of(failure)->name, "session_", 8) == 0)
		answer_break_off(follow->e2b->request);
	else
		e2b_rpc_end(follow->e2b, "internal", failure->message);
}

/* Sends events until the process ends. `begun`: this request started the process. */
static void go_on(struct follow *follow, bool begun)
{
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;

	events_open(&reader, follow->e2b->request, API_PROCESS_EVENTS, &follow->in);
	if (begun)
		events_go_on(&reader);
	while (events_next(&reader, follow->ping_ms, &call, &next) != EVENT_END) {
		int code = 0;

		if (next.kind == EVENT_GONE)
			return;
		if (next.kind == EVENT_FAILED) {
			fail(follow, next.failure);
			return;
		}
		if (next.kind == EVENT_QUIET)
			code = e2b_rpc_beat(follow->e2b, BEAT);
		else if (next.kind == EVENT_NEXT)
			code = take_event(follow, &next.event);
		if (code < 0)
			return;
	}
	if (follow->is_over)
		e2b_rpc_end(follow->e2b, NULL, NULL);
	else
		answer_break_off(follow->e2b->request); /* how the process ended is unknown */
}

static struct follow follow_of(const struct e2b *e2b, const struct api_process *process)
{
	return (struct follow){
		.e2b = e2b,
		.in = { .session = e2b->target.session,
			.process = arena_text(e2b->arena, process->id, strlen(process->id)) },
		.ping_ms = e2b_rpc_ping_ms(e2b),
	};
}

/* ---- Connect -------------------------------------------------------------------------------- */

/* Output written before is not sent again. */
void e2b_process_connect(struct e2b *e2b, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	struct follow follow;

	if (!e2b_process_select(e2b, message, false, &process, &call))
		return;
	follow = follow_of(e2b, &process);
	follow.in.has_after = true;
	/* For a process that has ended, the last event is its end, which is sent. */
	follow.in.after =
		process.last_event -
		(process.state == API_PROCESS_STATE_RUNNING || process.last_event == 0 ? 0 : 1);
	if (e2b_rpc_begin(e2b) == 0 && send_start(e2b, process.pid) == 0)
		go_on(&follow, false);
}

/* ---- Start ---------------------------------------------------------------------------------- */

static bool take_arguments(const struct e2b *e2b, const struct json_value *config,
			   struct api_list *ret)
{
	const struct json_value *args = json_read_member(config, "args");
	const size_t count = json_read_count(args);
	struct api_argument *items = arena_new(e2b->arena, count + 1, sizeof(*items));

	items[0].text = e2b_rpc_text(config, "cmd");
	for (size_t i = 0; i < count && count <= ARGUMENTS_MAX; i++) {
		size_t len = 0;

		items[i + 1].text = json_read_text(json_read_at(args, i), &len);
		if (items[i + 1].text == NULL || strlen(items[i + 1].text) != len) {
			e2b_rpc_refuse(e2b->request, 400,
				       "an argument is not text, or holds a NUL");
			return false;
		}
	}
	if (items[0].text[0] == '\0' || count > ARGUMENTS_MAX) {
		e2b_rpc_refuse(e2b->request, 400, "there is no command, or it is too long");
		return false;
	}
	*ret = (struct api_list){ items, count + 1 };
	return true;
}

static const char *variable(const struct e2b *e2b, const char *name, const char *value)
{
	const size_t size = strlen(name) + strlen(value) + 2;
	char *ret = arena_new(e2b->arena, size, 1);

	(void)snprintf(ret, size, "%s=%s", name, value);
	return ret;
}

/* The client's variables come last, so they replace the others. */
static bool take_env(const struct e2b *e2b, const struct json_value *config, const char *cwd,
		     struct api_list *ret)
{
	const struct json_value *envs = json_read_member(config, "envs"), *value;
	const size_t count = json_read_count(envs);
	const char **items = arena_new(e2b->arena, ENV_COUNT_MAX + 4, sizeof(*items));
	size_t used = 0;
	const char *key;

	/* The path as the client knows it: /home/user is a link, which a shell would resolve. */
	items[used++] = variable(e2b, "PWD", cwd);
	items[used++] = variable(e2b, "E2B_SANDBOX", "true");
	items[used++] = variable(e2b, "E2B_SANDBOX_ID", e2b->target.sandbox);
	if (count > ENV_COUNT_MAX) {
		e2b_rpc_refuse(e2b->request, 400, "more than 240 variables");
		return false;
	}
	for (size_t i = 0; json_read_member_at(envs, i, &key, &value); i++) {
		size_t len = 0;
		const char *text = json_read_text(value, &len);

		if (text == NULL || strlen(text) != len || key[0] == '\0' ||
		    strchr(key, '=') != NULL) {
			e2b_rpc_refuse(e2b->request, 400, "a variable is not text, or has no name");
			return false;
		}
		items[used++] = variable(e2b, key, text);
	}
	*ret = (struct api_list){ items, used };
	return true;
}

/* NULL: the client disconnected. */
static const char *take_cwd(const struct e2b *e2b, const struct json_value *config)
{
	const char *given = e2b_rpc_text(config, "cwd"), *workdir;
	struct e2b_path *path;

	if (given[0] == '\0' && !e2b_workdir_of(e2b, e2b->target.session, &workdir))
		return NULL;
	if (given[0] == '\0')
		return workdir != NULL ? workdir : HOME;
	if (given[0] == '/')
		return given;
	path = arena_new(e2b->arena, 1, sizeof(*path));
	return e2b_path_of(given, path) ? path->whole : given;
}

static bool take_start(const struct e2b *e2b, const struct json_value *message, struct api_pty *pty,
		       struct api_process_create_in *ret)
{
	const struct json_value *config = json_read_member(message, "process");
	const char *tag = e2b_rpc_text(message, "tag");
	const uint64_t timeout_ms = e2b_rpc_timeout_ms(e2b);
	bool stdin_wanted = true;

	(void)json_read_bool(json_read_member(message, "stdin"), &stdin_wanted);
	ret->cwd = take_cwd(e2b, config);
	if (ret->cwd == NULL || !take_arguments(e2b, config, &ret->argv) ||
	    !take_env(e2b, config, ret->cwd, &ret->env))
		return false;
	if (e2b_process_size(message, pty))
		ret->pty = pty;
	else
		ret->has_stdin = ret->stdin = stdin_wanted;
	if (tag[0] != '\0')
		ret->tag = tag;
	ret->has_timeout_ms = timeout_ms > 0;
	ret->timeout_ms = timeout_ms;
	ret->has_detach = ret->detach = true;
	ret->when_full = API_PROCESS_CREATE_IN_WHEN_FULL_WAIT;
	return true;
}

void e2b_process_start(struct e2b *e2b, const struct json_value *message)
{
	struct api_process_create_in in = { .session = e2b->target.session,
					    .has_stream = true,
					    .stream = true };
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	struct follow follow;
	enum call_status status;
	struct api_pty pty;
	char text[512];

	if (!take_start(e2b, message, &pty, &in))
		return;
	status = call_make(e2b->request, API_PROCESS_CREATE, &in, &process, &call);
	if (status == CALL_FAILED && (call.failure->error == API_ERR_NOT_FOUND ||
				      call.failure->error == API_ERR_INVALID)) {
		(void)snprintf(text, sizeof(text), "cwd '%.100s' or command: %.300s", in.cwd,
			       call.failure->message);
		e2b_rpc_refuse(e2b->request, 400, text);
	} else if (status == CALL_FAILED) {
		call_refuse(e2b->request, call.failure);
	}
	if (status != CALL_OK)
		return;
	follow = follow_of(e2b, &process);
	if (e2b_rpc_begin(e2b) == 0 && send_start(e2b, process.pid) == 0)
		go_on(&follow, true);
}
