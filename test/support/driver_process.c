/*
 * driver_process.c - processes of a session, for tests that inspect them from the host.
 *
 * Runs in:  a test, in reckon-driver.
 * Reads:    lines of driver.c; output of programs, which it prints as hexadecimal digits.
 * Never:    waits longer than a line says.
 */
#include "driver_process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define PROCESSES_MAX 512
#define STRINGS_MAX 64
#define CHUNK_MAX 65536

static reckon_process *processes[PROCESSES_MAX];
static size_t process_count;

static void strings_of(const struct json_value *list, const char **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < json_read_count(list) && count + 1 < STRINGS_MAX; i++)
		ret[count++] = json_read_text(json_read_at(list, i), NULL);
	ret[count] = NULL;
}

static bool is_set(const struct json_value *line, const char *key)
{
	bool value = false;

	(void)json_read_bool(json_read_member(line, key), &value);
	return value;
}

static void do_start(const struct json_value *line, reckon_session *session)
{
	const char *argv[STRINGS_MAX], *env[STRINGS_MAX];
	reckon_process_options options = { .size = sizeof(options),
					   .command = text_of(line, "command"),
					   .cwd = text_of(line, "cwd"),
					   .env = env,
					   .rows = (unsigned)number_of(line, "rows"),
					   .columns = (unsigned)number_of(line, "columns"),
					   .wall_ms = number_of(line, "wall_ms"),
					   .cpu_ms = number_of(line, "cpu_ms") };
	reckon_process_state state = { .size = sizeof(state) };
	reckon_error err;

	strings_of(json_read_member(line, "argv"), argv);
	strings_of(json_read_member(line, "env"), env);
	options.argv = argv[0] != NULL ? argv : NULL;
	options.flags = (is_set(line, "terminal") ? RECKON_PROCESS_TERMINAL : 0) |
			(is_set(line, "input") ? RECKON_PROCESS_INPUT : 0) |
			(is_set(line, "detach") ? RECKON_PROCESS_DETACH : 0);
	if (process_count == PROCESSES_MAX) {
		say_failed(RECKON_ELIMIT, "too many processes for this driver", "");
		return;
	}
	if (reckon_process_start(session, &options, &processes[process_count], &err) < 0 ||
	    reckon_process_status(processes[process_count], &state, &err) < 0) {
		say_error(&err);
		return;
	}
	(void)printf("{\"process\":%zu,\"number\":%u,\"pid\":%d}\n", process_count,
		     reckon_process_number(processes[process_count]), state.pid);
	(void)fflush(stdout);
	process_count++;
}

static void do_read(const struct json_value *line, const reckon_process *process)
{
	const int fd = reckon_process_fd(process, (int)number_of(line, "which"));
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	static char chunk[CHUNK_MAX];
	ssize_t n = -2;

	if (poll(&wait, 1, (int)number_of(line, "timeout_ms")) > 0)
		n = read(fd, chunk, sizeof(chunk));
	(void)fputs("{\"hex\":\"", stdout);
	for (ssize_t i = 0; i < n; i++)
		(void)printf("%02x", (unsigned char)chunk[i]);
	(void)printf("\",\"end\":%s}\n", n == 0 || n == -1 ? "true" : "false");
	(void)fflush(stdout);
}

static void do_write(const struct json_value *line, const reckon_process *process)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(line, "text"), &len);
	const ssize_t n = write(reckon_process_fd(process, RECKON_PROCESS_STDIN), text, len);

	(void)printf("{\"written\":%zd}\n", n);
	(void)fflush(stdout);
}

static void say_state(const reckon_process_state *state)
{
	(void)printf("{\"running\":%s,\"cause\":\"%s\",\"exit_code\":%d,\"signal\":%d,\"left\":%u,"
		     "\"pid\":%d,\"wall_ns\":%llu,\"cpu_ns\":%llu,\"memory_peak\":%llu,"
		     "\"processes_peak\":%llu,\"written\":%llu}\n",
		     state->is_running != 0 ? "true" : "false",
		     state->cause != NULL ? state->cause : "", state->exit_code, state->signal,
		     state->left, state->pid, (unsigned long long)state->wall_ns,
		     (unsigned long long)(state->cpu_user_ns + state->cpu_system_ns),
		     (unsigned long long)state->memory_peak_bytes,
		     (unsigned long long)state->processes_peak,
		     (unsigned long long)state->written_bytes);
	(void)fflush(stdout);
}

static void do_list(reckon_session *session)
{
	reckon_process_entry entries[300];
	reckon_error err;
	const int count = reckon_process_list(session, entries, 300, &err);

	if (count < 0) {
		say_error(&err);
		return;
	}
	(void)putchar('[');
	for (int i = 0; i < count; i++)
		(void)printf("%s{\"number\":%u,\"pid\":%d,\"running\":%s}", i > 0 ? "," : "",
			     entries[i].number, entries[i].pid,
			     entries[i].is_running != 0 ? "true" : "false");
	(void)puts("]");
	(void)fflush(stdout);
}

static void on_process(const char *op, const struct json_value *line, reckon_process *process)
{
	reckon_process_state state = { .size = sizeof(state) };
	reckon_error err;
	int code = 0;

	if (strcmp(op, "read") == 0 || strcmp(op, "write") == 0) {
		(op[0] == 'r' ? do_read : do_write)(line, process);
		return;
	}
	if (strcmp(op, "state") == 0)
		code = reckon_process_status(process, &state, &err);
	else if (strcmp(op, "wait") == 0)
		code = reckon_process_wait(process, (int)number_of(line, "timeout_ms"), &state, &err);
	else if (strcmp(op, "signal") == 0)
		code = reckon_process_signal(process, (int)number_of(line, "number"),
					     is_set(line, "leader") ? RECKON_SIGNAL_LEADER : 0, &err);
	else if (strcmp(op, "resize") == 0)
		code = reckon_process_resize(process, (unsigned)number_of(line, "rows"),
					     (unsigned)number_of(line, "columns"), &err);
	else if (strcmp(op, "close_input") == 0)
		reckon_process_close_input(process);
	if (code < 0)
		say_error(&err);
	else if (strcmp(op, "state") == 0 || strcmp(op, "wait") == 0)
		say_state(&state);
	else
		say("{\"ok\":true}");
}

bool driver_process(const char *op, const struct json_value *line, reckon_session *session)
{
	const uint64_t at = number_of(line, "process");

	if (strncmp(op, "process_", 8) != 0)
		return false;
	op += 8;
	if (strcmp(op, "start") == 0 || strcmp(op, "list") == 0) {
		if (session == NULL)
			say_failed(RECKON_ENOT_FOUND, "no such session in this driver", "");
		else if (op[0] == 's')
			do_start(line, session);
		else
			do_list(session);
	} else if (at >= process_count || processes[at] == NULL) {
		say_failed(RECKON_ENOT_FOUND, "no such process in this driver", "");
	} else if (strcmp(op, "close") == 0) {
		reckon_process_close(processes[at]);
		processes[at] = NULL;
		say("{\"ok\":true}");
	} else {
		on_process(op, line, processes[at]);
	}
	return true;
}
