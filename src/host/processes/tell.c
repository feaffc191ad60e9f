/*
 * tell.c - what clients see of a process.
 *
 * Runs in:  reckond's loop.
 * Reads:    rows of the database.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "codec/json_write.h"
#include "host/host.h"
#include "host/processes/process.h"

#define COMMAND_HEAD_MAX 400u /* bytes of each command in a list */
#define ARGV_HEAD_MAX 4096u

static const struct {
	const char *name;
	int number;
} signals[] = {
#define SIGNAL(name) [API_PROCESS_SIGNAL_IN_SIGNAL_##name] = { #name, SIG##name }
	SIGNAL(HUP),  SIGNAL(INT),  SIGNAL(QUIT), SIGNAL(KILL), SIGNAL(USR1),
	SIGNAL(USR2), SIGNAL(PIPE), SIGNAL(ALRM), SIGNAL(TERM), SIGNAL(CONT),
	SIGNAL(STOP), SIGNAL(TSTP), SIGNAL(TTIN), SIGNAL(TTOU), SIGNAL(WINCH),
#undef SIGNAL
};
static const char *const causes[] = {
	[API_PROCESS_CAUSE_EXIT] = "exit",
	[API_PROCESS_CAUSE_SIGNAL] = "signal",
	[API_PROCESS_CAUSE_TIMEOUT] = "timeout",
	[API_PROCESS_CAUSE_CPU_LIMIT] = "cpu_limit",
	[API_PROCESS_CAUSE_OUT_OF_MEMORY] = "out_of_memory",
	[API_PROCESS_CAUSE_SYSTEM_CALL] = "system_call",
	[API_PROCESS_CAUSE_SESSION_ENDED] = "session_ended",
};
static const char *const states[] = {
	[API_PROCESS_STATE_RUNNING] = "running",
	[API_PROCESS_STATE_ENDED] = "ended",
	[API_PROCESS_STATE_LOST] = "lost",
};

int process_signal_of(unsigned signal)
{
	return signal > 0 && signal < ARRAY_LEN(signals) ? signals[signal].number : SIGTERM;
}

const char *process_cause_name(unsigned cause)
{
	return cause > 0 && cause < ARRAY_LEN(causes) ? causes[cause] : "lost";
}

unsigned process_cause_of(const char *name)
{
	for (unsigned i = 1; name != NULL && i < ARRAY_LEN(causes); i++)
		if (strcmp(causes[i], name) == 0)
			return i;
	return API_PROCESS_CAUSE_SIGNAL;
}

static const char *signal_name(struct arena *arena, int number)
{
	char text[16];

	for (size_t i = 1; i < ARRAY_LEN(signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	if (sigabbrev_np(number) != NULL)
		return sigabbrev_np(number);
	(void)snprintf(text, sizeof(text), "%d", number);
	return arena_text(arena, text, strlen(text));
}

static struct api_bytes copy_json(struct arena *arena, const struct buf *json)
{
	if (json->len == 0)
		return (struct api_bytes){ 0 };
	return (struct api_bytes){ arena_text(arena, json->data, json->len), json->len };
}

static void tell_program(struct arena *arena, const struct db_process *row, bool is_list,
			 struct api_process *ret)
{
	size_t len = row->argv.len;

	if ((row->flags & PROCESS_COMMAND) == 0) {
		if (!is_list || len <= ARGV_HEAD_MAX)
			ret->argv = copy_json(arena, &row->argv);
		return;
	}
	if (is_list && len > COMMAND_HEAD_MAX) {
		len = COMMAND_HEAD_MAX;
		len -= utf8_incomplete_tail(row->argv.data, len);
	}
	ret->command = arena_text(arena, len > 0 ? row->argv.data : "", len);
}

void process_tell(struct arena *arena, const struct db_process *row, bool is_list,
		  struct api_process *ret)
{
	struct api_pty *pty;

	*ret = (struct api_process){
		.id = arena_text_or_null(arena, row->id),
		.session = arena_text_or_null(arena, row->session),
		.pid = row->pid > 0 ? (uint64_t)row->pid : 0,
		.tag = arena_text_or_null(arena, row->tag),
		.cwd = arena_text_or_null(arena, row->cwd),
		.stdin = (row->flags & PROCESS_STDIN) != 0,
		.detach = (row->flags & PROCESS_DETACH) != 0,
		.state = row->state,
		.cause = row->cause,
		.has_exit_code = row->cause == API_PROCESS_CAUSE_EXIT,
		.exit_code = row->exit_code > 0 ? (uint64_t)row->exit_code : 0,
		.signal = row->signal > 0 ? signal_name(arena, row->signal) : NULL,
		.why = arena_text_or_null(arena, row->why),
		.created_at = arena_text_or_null(arena, row->created_at),
		.ended_at = arena_text_or_null(arena, row->ended_at),
		.last_event = row->last_event,
		.usage = copy_json(arena, &row->usage),
		.files = copy_json(arena, &row->files),
	};
	tell_program(arena, row, is_list, ret);
	if ((row->flags & PROCESS_PTY) == 0)
		return;
	pty = arena_new(arena, 1, sizeof(*pty));
	*pty = (struct api_pty){ true, row->rows, true, row->cols };
	ret->pty = pty;
}

int process_tell_end(const struct db_process *row, struct buf *ret, struct err *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "event", "end");
	json_write_member_string(&writer, "state", states[row->state]);
	if (row->cause != 0)
		json_write_member_string(&writer, "cause", process_cause_name(row->cause));
	if (row->cause == API_PROCESS_CAUSE_EXIT)
		json_write_member_uint(&writer, "exit_code", (uint64_t)row->exit_code);
	if (row->signal > 0)
		json_write_member_string(&writer, "signal", signal_name(&arena, row->signal));
	if (row->why[0] != '\0')
		json_write_member_string(&writer, "why", row->why);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}
