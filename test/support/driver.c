/*
 * driver.c - reckon-driver: opens several sessions, for tests that inspect them from the host.
 *
 * Runs in:  a test, as its user; connects to the user's warden, or with --private to its own.
 * Reads:    one JSON object per line on standard input.
 * Never:    is part of the product: it uses internals of the static libreckon.
 *
 *   {"op":"open","template":"python","flags":1,"limits":{"pids":64,…},"env":["A=1"]}
 *       -> {"session":"s0","kernel_pid":…,"host_uid":…,"has_twin":…,"warmth":…}
 *   {"op":"exec","session":"s0","code":"…","timeout_ms":…,"output_bytes":…,"interrupt_after_ms":…}
 *       -> the record; with "events":true each event instead, the last of which has the record
 *   {"op":"start",…}     -> {"ok":true}; as exec, in another thread; {"op":"join"} -> the record
 *   {"op":"kill","session":"s0"}                -> ends the execution of the other thread
 *   {"op":"branch","session":"s0"}              -> as open
 *   {"op":"context","session":"s0","language":…,"cwd":…,"env":[…]}     -> as open
 *   {"op":"restart"|"check","session":"s0"}     -> {"ok":true}
 *   {"op":"put","session":"s0","path":"a","source":"/host/file"}    {"op":"get",…,"target":…}
 *   {"op":"files"|"variables"|"close","session":"s0"}
 *   {"op":"complete"|"inspect","session":"s0","code":"…","cursor":…,"detail":1}
 *   {"op":"port_exchange","session":"s0","port":8501,"text":…,"timeout_ms":…} -> {"hex":…}
 *   {"op":"port_list","session":"s0"} -> [{"port":…,"address":…,"loopback":…}] (driver_port.c)
 *   {"op":"process_start","session":"s0","command":…|"argv":[…],"terminal":true,…}
 *       -> {"process":0,"number":…,"pid":…}; process_list, and by "process": process_read,
 *       _write, _wait, _state, _signal, _resize, _close_input, _close (driver_process.c)
 *   {"op":"layout"}      -> offsets of the members of struct warden_request
 *
 * The reply to each line is one line; an error is {"failed":{"code":-3,"message":…,"remedy":…}}.
 */
#include <reckon.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "lib/session/branch.h"
#include "lib/session/session.h"
#include "driver_port.h"
#include "driver_process.h"

#define SESSIONS_MAX 512
#define LINE_MAX_BYTES (64u << 20)

static reckon_engine *engine;
static reckon_session *sessions[SESSIONS_MAX];
static size_t session_count;

/* An execution in another thread. */
static struct background {
	pthread_t thread;
	bool is_running;
	reckon_session *session;
	char *code;
	size_t len;
	reckon_execution *done;
	reckon_error err;
} backgrounds[SESSIONS_MAX];

const char *text_of(const struct json_value *line, const char *key)
{
	return json_read_text(json_read_member(line, key), NULL);
}

uint64_t number_of(const struct json_value *line, const char *key)
{
	int64_t value = 0;

	(void)json_read_int(json_read_member(line, key), &value);
	return (uint64_t)value;
}

void say(const char *json)
{
	(void)printf("%s\n", json);
	(void)fflush(stdout);
}

void say_failed(int code, const char *message, const char *remedy)
{
	cleanup_buf struct buf out = BUF_INIT(8192);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_key(&writer, "failed");
	json_write_object_begin(&writer);
	json_write_key(&writer, "code");
	json_write_int(&writer, code);
	json_write_member_string(&writer, "message", message);
	json_write_member_string(&writer, "remedy", remedy);
	json_write_object_end(&writer);
	json_write_object_end(&writer);
	(void)json_write_finish(&writer, &err);
	say(buf_text(&out));
}

void say_error(const reckon_error *err)
{
	say_failed(err->code, err->message, err->remedy);
}

/* "device" is that of the workspace, which no other box has. */
static void say_session(reckon_session *session)
{
	struct stat st;
	size_t at = 0;

	while (at < session_count && sessions[at] != NULL)
		at++;
	if (at == SESSIONS_MAX) {
		reckon_session_close(session);
		say_failed(RECKON_ELIMIT, "too many sessions for this driver", "");
		return;
	}
	if (fstat(session->workspace, &st) < 0) {
		say_failed(RECKON_ESYSTEM, "no workspace", "");
		return;
	}
	sessions[at] = session;
	if (at == session_count)
		session_count++;
	(void)printf("{\"session\":\"s%zu\",\"kernel_pid\":%d,\"host_uid\":%u,\"has_twin\":%s,"
		     "\"warmth\":%d,\"device\":%llu}\n",
		     at, session->warden.kernel_pid, session->warden.host_uid,
		     session->opening.has_twin ? "true" : "false", (int)session->opening.warmth,
		     (unsigned long long)st.st_dev);
	(void)fflush(stdout);
}

static void do_open(const struct json_value *line)
{
	const struct json_value *limits = json_read_member(line, "limits");
	const struct json_value *env = json_read_member(line, "env");
	const struct json_value *shared = json_read_member(line, "shared");
	const char *variables[16] = { NULL };
	reckon_mount mounts[1];
	reckon_session_options options = {
		.size = sizeof(options),
		.mounts = mounts,
		.template_name = text_of(line, "template"),
		.language = text_of(line, "language"),
		.flags = (unsigned)number_of(line, "flags"),
		.env = variables,
		.limits = { .wall_ms = number_of(limits, "wall_ms"),
			    .cpu_ms = number_of(limits, "cpu_ms"),
			    .memory_bytes = number_of(limits, "memory_bytes"),
			    .disk_bytes = number_of(limits, "disk_bytes"),
			    .inodes = number_of(limits, "inodes"),
			    .file_bytes = number_of(limits, "file_bytes"),
			    .pids = (uint32_t)number_of(limits, "pids"),
			    .cpu_percent = (uint32_t)number_of(limits, "cpu_percent"),
			    .output_bytes = number_of(limits, "output_bytes"),
			    .displays = (uint32_t)number_of(limits, "displays") },
	};
	reckon_session *session;
	reckon_error err;

	for (size_t i = 0; i < json_read_count(env) && i + 1 < ARRAY_LEN(variables); i++)
		variables[i] = json_read_text(json_read_at(env, i), NULL);
	for (; options.mount_count < json_read_count(shared) &&
	       options.mount_count < ARRAY_LEN(mounts); options.mount_count++)
		mounts[options.mount_count] = (reckon_mount){
			.source = json_read_text(json_read_at(shared, options.mount_count), NULL),
			.target = "/mnt/shared",
			.writable = 1,
		};
	if (reckon_session_open(engine, &options, &session, &err) < 0)
		say_error(&err);
	else
		say_session(session);
}

static void do_branch(reckon_session *parent)
{
	reckon_session *session;
	reckon_error err;

	if (session_branch(parent, &session, &err) < 0)
		say_error(&err);
	else
		say_session(session);
}

static void do_context(const struct json_value *line, reckon_session *parent)
{
	const struct json_value *env = json_read_member(line, "env");
	const char *variables[16] = { NULL };
	const reckon_context_options options = { .size = sizeof(options),
						 .language = text_of(line, "language"),
						 .template_name = text_of(line, "template"),
						 .cwd = text_of(line, "cwd"),
						 .env = variables };
	reckon_session *session;
	reckon_error err;

	for (size_t i = 0; i < json_read_count(env) && i + 1 < ARRAY_LEN(variables); i++)
		variables[i] = json_read_text(json_read_at(env, i), NULL);
	if (reckon_context_open(parent, &options, &session, &err) < 0)
		say_error(&err);
	else
		say_session(session);
}

static void *run_background(void *arg)
{
	struct background *background = arg;

	if (reckon_execute(background->session, background->code, background->len, NULL,
			   &background->done, &background->err) < 0)
		background->done = NULL;
	return NULL;
}

static void do_start(const struct json_value *line, size_t at)
{
	struct background *background = &backgrounds[at];
	const char *code = json_read_text(json_read_member(line, "code"), &background->len);

	background->session = sessions[at];
	background->code = strndup(code != NULL ? code : "", background->len);
	background->is_running =
		!background->is_running &&
		pthread_create(&background->thread, NULL, run_background, background) == 0;
	say(background->is_running ? "{\"ok\":true}" : "{\"ok\":false}");
}

static void do_join(size_t at)
{
	struct background *background = &backgrounds[at];

	if (!background->is_running) {
		say_failed(RECKON_EINVALID, "nothing runs there", "");
		return;
	}
	(void)pthread_join(background->thread, NULL);
	background->is_running = false;
	free(background->code);
	if (background->done == NULL)
		say_error(&background->err);
	else
		say(reckon_execution_record(background->done));
	reckon_execution_free(background->done);
}

struct interrupter {
	reckon_session *session;
	uint64_t after_ms;
};

static void *interrupt_later(void *arg)
{
	const struct interrupter *what = arg;
	const struct timespec wait = { .tv_sec = (time_t)(what->after_ms / 1000),
				       .tv_nsec = (long)(what->after_ms % 1000) * 1000000 };

	(void)nanosleep(&wait, NULL);
	reckon_interrupt(what->session);
	return NULL;
}

static int say_event(const reckon_event *event, void *arg)
{
	(void)arg;
	say(event->json);
	return RECKON_CONTINUE;
}

static void do_exec(const struct json_value *line, reckon_session *session)
{
	reckon_execute_options options = { .size = sizeof(options),
					   .wall_ms = number_of(line, "timeout_ms"),
					   .output_bytes = number_of(line, "output_bytes") };
	struct interrupter interrupter = { session, number_of(line, "interrupt_after_ms") };
	reckon_execution *done;
	reckon_error err;
	pthread_t thread;
	size_t len = 0;
	const char *code = json_read_text(json_read_member(line, "code"), &len);
	bool events = false;
	bool timed = interrupter.after_ms > 0 &&
		     pthread_create(&thread, NULL, interrupt_later, &interrupter) == 0;
	int result;

	(void)json_read_bool(json_read_member(line, "events"), &events);
	options.on_event = events ? say_event : NULL;
	result = reckon_execute(session, code != NULL ? code : "", len, &options, &done, &err);
	if (timed)
		(void)pthread_join(thread, NULL);
	if (result < 0) {
		say_error(&err);
		return;
	}
	if (!events)
		say(reckon_execution_record(done));
	reckon_execution_free(done);
}

static void do_copy(const struct json_value *line, reckon_session *session, bool put)
{
	const char *host = text_of(line, put ? "source" : "target");
	const char *path = text_of(line, "path");
	cleanup_fd int fd = -1;
	reckon_error err;
	int code;

	if (host == NULL || path == NULL) {
		say_failed(RECKON_EINVALID, "a path is missing", "");
		return;
	}
	fd = open(host, put ? O_RDONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		say_failed(RECKON_ESYSTEM, "cannot open the test's own file", "");
		return;
	}
	code = put ? reckon_file_put(session, path, fd, &err)
		   : reckon_file_get(session, path, fd, &err);
	if (code < 0)
		say_error(&err);
	else
		say("{\"ok\":true}");
}

typedef int list_fn(reckon_session *session, char **ret_json, reckon_error *err);

static void do_list(list_fn *list, reckon_session *session)
{
	cleanup_free char *json = NULL;
	reckon_error err;

	if (list(session, &json, &err) < 0)
		say_error(&err);
	else
		say(json);
}

typedef int simple_fn(reckon_session *session, reckon_error *err);

static void do_simple(simple_fn *simple, reckon_session *session)
{
	reckon_error err;

	if (simple(session, &err) < 0)
		say_error(&err);
	else
		say("{\"ok\":true}");
}

static void do_place(const char *op, const struct json_value *line, reckon_session *session)
{
	cleanup_free char *json = NULL;
	const size_t cursor = number_of(line, "cursor");
	reckon_error err;
	size_t len = 0;
	const char *code = json_read_text(json_read_member(line, "code"), &len);
	int result;

	if (strcmp(op, "complete") == 0)
		result = reckon_complete(session, code, len, cursor, &json, &err);
	else
		result = reckon_inspect(session, code, len, cursor,
					(int)number_of(line, "detail"), &json, &err);
	if (result < 0)
		say_error(&err);
	else
		say(json);
}

static void on_session(const char *op, const struct json_value *line)
{
	const char *name = text_of(line, "session");
	const size_t at = name != NULL && name[0] == 's' ? strtoul(name + 1, NULL, 10) : SESSIONS_MAX;
	reckon_session *session = at < session_count ? sessions[at] : NULL;

	if (driver_process(op, line, session) || driver_port(op, line, session)) {
		return;
	} else if (session == NULL) {
		say_failed(RECKON_ENOT_FOUND, "no such session in this driver", "");
	} else if (strcmp(op, "exec") == 0) {
		do_exec(line, session);
	} else if (strcmp(op, "branch") == 0) {
		do_branch(session);
	} else if (strcmp(op, "context") == 0) {
		do_context(line, session);
	} else if (strcmp(op, "start") == 0) {
		do_start(line, at);
	} else if (strcmp(op, "join") == 0) {
		do_join(at);
	} else if (strcmp(op, "kill") == 0) {
		reckon_kill(session);
		say("{\"ok\":true}");
	} else if (strcmp(op, "restart") == 0 || strcmp(op, "check") == 0) {
		do_simple(op[0] == 'r' ? reckon_session_restart : reckon_session_check, session);
	} else if (strcmp(op, "put") == 0 || strcmp(op, "get") == 0) {
		do_copy(line, session, op[0] == 'p');
	} else if (strcmp(op, "files") == 0) {
		do_list(reckon_file_list, session);
	} else if (strcmp(op, "variables") == 0) {
		do_list(reckon_variables, session);
	} else if (strcmp(op, "complete") == 0 || strcmp(op, "inspect") == 0) {
		do_place(op, line, session);
	} else if (strcmp(op, "close") == 0) {
		sessions[at] = NULL;
		reckon_session_close(session);
		say("{\"ok\":true}");
	} else {
		say_failed(RECKON_EINVALID, "unknown op", "");
	}
}

/* Prints the layout of a request to the warden, for tests that send malformed ones. */
static void do_layout(void)
{
	(void)printf("{\"magic\":%u,\"version\":%u,\"size\":%zu,\"template\":%zu,\"language\":%zu,"
		     "\"mount_count\":%zu,\"target\":%zu,\"lease\":%zu,\"seconds\":%zu,"
		     "\"is_busy\":%zu,\"execution\":%zu,\"ran\":%zu,\"error\":%zu}\n",
		     WARDEN_MAGIC, WARDEN_VERSION, sizeof(struct warden_request),
		     offsetof(struct warden_request, open.template_name),
		     offsetof(struct warden_request, open.language),
		     offsetof(struct warden_request, open.mount_count),
		     offsetof(struct warden_request, open.mounts[0].target),
		     offsetof(struct warden_request, lease.key),
		     offsetof(struct warden_request, lease.seconds),
		     offsetof(struct warden_request, is_busy),
		     offsetof(struct warden_request, execution),
		     offsetof(struct warden_reply, adopted.count),
		     offsetof(struct warden_reply, err.code));
	(void)fflush(stdout);
}

static void handle(const char *text, size_t len)
{
	struct json_value *line;
	struct err err;
	const char *op;

	if (json_read_parse(text, len, LINE_MAX_BYTES, &line, &err) < 0) {
		say_failed((int)err.code, err.text, err.remedy);
		return;
	}
	op = text_of(line, "op");
	if (op != NULL && strcmp(op, "open") == 0)
		do_open(line);
	else if (op != NULL && strcmp(op, "layout") == 0)
		do_layout();
	else
		on_session(op != NULL ? op : "", line);
	json_read_free(line);
}

int main(int argc, char **argv)
{
	reckon_engine_options options = { .size = sizeof(options) };
	cleanup_free char *text = NULL;
	reckon_error err;
	size_t size = 0;
	ssize_t len;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--private") == 0)
			options.private_warden = 1;
		else if (strcmp(argv[i], "--strict") == 0)
			options.strict = 1;
	}
	if (reckon_engine_open(&options, &engine, &err) < 0) {
		say_error(&err);
		return 125;
	}
	while ((len = getline(&text, &size, stdin)) > 0)
		handle(text, (size_t)len);
	reckon_engine_close(engine);
	return 0;
}
