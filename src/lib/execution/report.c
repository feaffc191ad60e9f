/*
 * report.c - the end of an execution: result, reason, cost, files.
 *
 * Runs in:  libreckon, inside reckon_execute().
 * Reads:    the warden's measurements, the workspace (through workspace/workspace.h).
 * Never:    blames the program for a failure of Reckon, or Reckon for one of the program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "lib/execution/denied.h"
#include "lib/execution/run.h"

#define USAGE_TIMEOUT_MS 5000
#define CLOSE_TIMEOUT_MS 5000
#define LOSS_MAX (64u * 1024u)
#define LOSS_NAMES 20 /* in the message; the detail has all names */
#define REPEATS_NOTED 3 /* identical successes in a row that are worth a diagnostic */

/* The answer arrives while we drain the pipes and examine the files. */
void report_ask(struct run *run)
{
	struct warden_request request = session_request(run->session, WARDEN_USAGE);
	struct err ignored;

	if (run->is_asking_usage) /* the limit of CPU time is being checked */
		client_forget(run->session->client, &run->usage_call);
	request.is_last = 1;
	run->is_asking_usage = !run->session->lost.has_ended &&
			       client_send(run->session->client, &request, NULL, 0,
					   &run->usage_call, &ignored) == 0;
}

static void measure_take(struct run *run)
{
	struct reckon_session *session = run->session;
	struct err ignored;

	if (run->is_asking_usage && client_wait(session->client, &run->usage_call,
						USAGE_TIMEOUT_MS, &ignored) == 0 &&
	    run->usage_call.reply.err.code == ERR_OK) {
		run->usage = run->usage_call.reply.usage;
		run->has_usage = true;
	} else if (session->lost.has_ended) {
		/* It ended before or while we asked; the notice holds what was known last. */
		run->usage = session->lost.ended.usage;
		run->has_usage = true;
	}
	if (run->is_asking_usage)
		client_forget(session->client, &run->usage_call);
	run->is_asking_usage = false;
}

/* Ends the kernel and its processes; the box stays, for a new kernel. */
static void end_kernel(struct run *run)
{
	struct warden_request request = session_request(run->session, WARDEN_END);
	struct client_call call;
	struct err ignored;

	/* Waited for, so that nothing writes to the workspace any more when we look at it. */
	if (!run->session->lost.has_ended &&
	    client_ask(run->session->client, &request, NULL, 0, &call, CLOSE_TIMEOUT_MS,
		       &ignored) == 0)
		client_forget(run->session->client, &call);
}

static bool is_oom(const struct run *run)
{
	return run->session->lost.has_ended && run->session->lost.ended.cause == WARDEN_END_OOM;
}

static enum record_status status_of_death(const struct run *run)
{
	if (is_oom(run))
		return RECORD_OUT_OF_MEMORY;
	switch (run->stop) {
	case STOP_WALL:
	case STOP_CPU:
		return RECORD_TIMEOUT;
	case STOP_OUTPUT:
		return RECORD_OUTPUT_LIMIT;
	case STOP_CALLER:
		return RECORD_KILLED;
	case STOP_NONE:
		break;
	}
	return RECORD_KERNEL_DIED;
}

static enum record_status status_of_done(const struct run *run)
{
	switch (run->stop) {
	case STOP_WALL:
	case STOP_CPU:
		return RECORD_TIMEOUT;
	case STOP_OUTPUT:
		return RECORD_OUTPUT_LIMIT;
	case STOP_CALLER:
		/* A program that finished despite the interrupt did what was asked. */
		return run->done == RUN_DONE_OK ? RECORD_OK : RECORD_INTERRUPTED;
	case STOP_NONE:
		break;
	}
	return run->done == RUN_DONE_OK ? RECORD_OK : RECORD_ERROR;
}

static enum record_status status_of(const struct run *run)
{
	switch (run->end) {
	case RUN_DONE:
		return status_of_done(run);
	case RUN_DIED:
	case RUN_KILLED:
		return status_of_death(run);
	case RUN_VIOLATION:
		return RECORD_KERNEL_DIED;
	case RUN_GOING:
	case RUN_INFRA:
		break;
	}
	return RECORD_INFRA_ERROR;
}

static void bytes_text(uint64_t bytes, char *ret, size_t size)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(unit) && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	(void)snprintf(ret, size, "%" PRIu64 " %s", bytes, unit[i]);
}

static const char *remaining_state(const struct run *run)
{
	return run->end == RUN_DONE ? "Variables and files stay in the session."
				    : "The kernel had to be ended: its variables are gone, files "
				      "stay in the session.";
}

static void explain_timeout(struct run *run)
{
	const bool is_cpu = run->stop == STOP_CPU;
	char value[320], limit[32];

	(void)stop_seconds(is_cpu ? run->session->limits.cpu_ms : run->wall_ms, limit);
	(void)snprintf(value, sizeof(value), "stopped at the %s limit of %s. %s",
		       is_cpu ? "CPU time" : "time", limit, remaining_state(run));
	record_set_error(run->record, is_cpu ? "CpuLimit" : "TimeLimit", value,
			 buf_text(&run->traceback),
			 is_cpu ? "Do less work in one cell, or raise the cpu limit."
				: "Split the work into smaller cells, or raise the wall limit.");
}

/* "1 GiB, and 1 GiB for files": the workspace is in memory and has its own quota on top. */
static void memory_bound(const reckon_limits *limits, char *ret, size_t size)
{
	char memory[40], disk[40];

	bytes_text(limits->memory_bytes, memory, sizeof(memory));
	bytes_text(limits->disk_bytes, disk, sizeof(disk));
	(void)snprintf(ret, size, "%s, and %s for files", memory, disk);
}

static void explain_memory(struct run *run)
{
	char value[320], limit[96];

	memory_bound(&run->session->limits, limit, sizeof(limit));
	(void)snprintf(value, sizeof(value),
		       "the session went over its memory limit (%s) and its kernel was ended: the "
		       "variables are gone, files stay in the session.",
		       limit);
	record_set_error(run->record, "OutOfMemory", value, NULL,
			 "Work on less data at a time (read in chunks, select columns, smaller "
			 "types), or open a session with a higher memory limit. The next cell runs "
			 "in a fresh kernel with the same files.");
}

static void explain_output(struct run *run)
{
	char value[320], limit[40];

	bytes_text(STREAM_SPOOL_MAX, limit, sizeof(limit));
	(void)snprintf(value, sizeof(value), "stopped after it printed more than %s. %s", limit,
		       remaining_state(run));
	record_set_error(run->record, "OutputLimit", value, buf_text(&run->traceback),
			 "Print less, or write to a file in the workspace.");
}

static void explain_death(struct run *run)
{
	char how[128], value[320];

	if (run->session->lost.has_ended)
		session_describe_end(&run->session->lost.ended, how, sizeof(how));
	else
		(void)snprintf(how, sizeof(how), "it closed its connection");
	(void)snprintf(value, sizeof(value),
		       "the kernel process ended (%s): its variables are gone, files stay in the "
		       "session.", how);
	record_set_error(run->record, "KernelDied", value, NULL,
			 "Run the earlier cells again: the next one begins in a fresh kernel with "
			 "the same files. Look for os._exit(), a crash in native code, or a signal "
			 "to the own process.");
}

static void explain_violation(struct run *run)
{
	record_set_error(run->record, "KernelDied", run->why.text, NULL,
			 "The next cell runs in a fresh kernel with the same files. Code must not "
			 "write to descriptor 3.");
	record_add_diagnostic(run->record, "protocol_violation", run->why.text, NULL);
}

static void explain(struct run *run, enum record_status status)
{
	switch (status) {
	case RECORD_TIMEOUT:
		explain_timeout(run);
		return;
	case RECORD_OUT_OF_MEMORY:
		explain_memory(run);
		return;
	case RECORD_OUTPUT_LIMIT:
		explain_output(run);
		return;
	case RECORD_INTERRUPTED:
		record_set_error(run->record, "Interrupted",
				 "interrupted on request. Variables and files stay in the session.",
				 buf_text(&run->traceback), NULL);
		return;
	case RECORD_KILLED:
		record_set_error(run->record, "Killed",
				 "ended on request: its variables are gone, files stay in the session.",
				 NULL,
				 "The next cell runs in a fresh kernel with the same files.");
		return;
	case RECORD_KERNEL_DIED:
		if (run->end == RUN_VIOLATION)
			explain_violation(run);
		else
			explain_death(run);
		return;
	case RECORD_INFRA_ERROR:
		record_set_error(run->record, "ReckonError", run->why.text, NULL,
				 run->why.remedy);
		return;
	case RECORD_OK:
	case RECORD_ERROR:
		break;
	}
}

/* Reports each requested limit that this host cannot enforce, once. */
static void diagnose_unheld(struct run *run)
{
	struct reckon_session *session = run->session;

	if ((session->unheld & WARDEN_UNHELD_CPU) != 0)
		record_add_diagnostic(run->record, "limit_not_held",
				      "the CPU share that was asked for is not held on this host "
				      "(no cpu cgroup, see reckon doctor); time limits are", NULL);
	if ((session->unheld & WARDEN_UNHELD_MEMORY) != 0)
		record_add_diagnostic(run->record, "limit_not_held",
				      "the memory limit holds for each process, not for all of the "
				      "session's together (no memory cgroup, see reckon doctor)",
				      NULL);
	if ((session->unheld & WARDEN_UNHELD_CORE) != 0)
		record_add_diagnostic(run->record, "wall_missing",
				      "core scheduling was asked for and this host has none: the "
				      "session may share a core with others (see reckon doctor)",
				      NULL);
	if ((session->unheld & WARDEN_UNHELD_SPECULATION) != 0)
		record_add_diagnostic(
			run->record, "wall_missing",
			"speculation was to be off and this host cannot turn all of it "
			"off for a session (see reckon doctor)",
			NULL);
	session->unheld = 0;
}

static void diagnose_usage(struct run *run)
{
	const struct warden_usage *usage = &run->usage;
	const reckon_limits *limits = &run->session->limits;
	char text[256], bound[96];

	if (usage->oom_kills > 0 && !is_oom(run)) {
		memory_bound(limits, bound, sizeof(bound));
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " process(es) were killed at the memory limit of %s",
			       usage->oom_kills, bound);
		record_add_diagnostic(run->record, "process_out_of_memory", text, NULL);
	}
	if (usage->pids_refused > 0) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " new processes or threads were refused: the limit is "
			       "%u; raise the pids limit if that many are needed",
			       usage->pids_refused, limits->pids);
		record_add_diagnostic(run->record, "process_limit", text, NULL);
	}
	if (limits->disk_bytes > 0 && usage->disk_used_bytes >= limits->disk_bytes) {
		bytes_text(limits->disk_bytes, bound, sizeof(bound));
		(void)snprintf(text, sizeof(text),
			       "the workspace is full (%s); delete files or raise the disk limit",
			       bound);
		record_add_diagnostic(run->record, "disk_full", text, NULL);
	}
	if (limits->inodes > 0 && usage->inodes_used >= limits->inodes) {
		(void)snprintf(text, sizeof(text),
			       "the workspace holds as many files as it may (%" PRIu64 "); delete "
			       "some or raise the inodes limit",
			       limits->inodes);
		record_add_diagnostic(run->record, "inode_limit", text, NULL);
	}
	if (usage->is_shared != 0)
		record_add_diagnostic(
			run->record, "shared_measurement",
			"another context of the session ran meanwhile: processor time, "
			"memory, processes and disk are those of both",
			NULL);
	diagnose_unheld(run);
	denied_diagnose(usage, run->record);
}

/*
 * Lists the names that were lost. Reported twice: with the execution in which the kernel ended, and
 * with the next one, whose author may not know about the loss.
 */
static void diagnose_loss(struct run *run, const char *message)
{
	const struct loss *loss = &run->session->loss;
	cleanup_buf struct buf detail = BUF_INIT(LOSS_MAX), text = BUF_INIT(LOSS_MAX);
	struct json_writer json;
	struct err ignored;

	(void)buf_adds(&text, message, &ignored);
	if (loss->names.count > 0) {
		(void)buf_adds(&text, ": ", &ignored);
		known_list(&loss->names, LOSS_NAMES, &text);
	}
	json_write_init(&json, &detail);
	json_write_object_begin(&json);
	json_write_member_string(&json, "why", loss->why.text);
	json_write_key(&json, "variables");
	known_write_into(&loss->names, &json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &ignored) < 0)
		buf_clear(&detail);
	record_add_diagnostic(run->record, "kernel_lost", buf_text(&text),
			      detail.len > 0 ? buf_text(&detail) : NULL);
}

/* The loss of an earlier kernel, and of this one if it has just ended. */
static void diagnose_losses(struct run *run)
{
	struct reckon_session *session = run->session;
	char text[512];

	if (run->end == RUN_DONE) {
		if (!session->loss.is_unreported)
			return;
		(void)snprintf(
			text, sizeof(text),
			"this cell ran in a fresh kernel with the same files, because %.360s",
			session->loss.why.text);
		diagnose_loss(run, text);
		session->loss.is_unreported = false;
	} else if (session->lost.is_kernel_lost) {
		(void)snprintf(text, sizeof(text), "%.400s", session->loss.why.text);
		diagnose_loss(run, text);
	}
}

/* A name that an earlier kernel had: its absence is not the program's mistake. */
static void hint_lost(struct run *run, enum record_status status)
{
	const struct loss *loss = &run->session->loss;
	struct record_error_view error;
	const char *name, *end;
	char text[512];

	if (status != RECORD_ERROR || loss->names.count == 0)
		return;
	record_view_error(run->record, &error);
	name = strcmp(error.name, "NameError") == 0 ? strchr(error.value, '\'') : NULL;
	end = name != NULL ? strchr(name + 1, '\'') : NULL;
	if (end == NULL || !known_has(&loss->names, name + 1, (size_t)(end - name - 1)))
		return;
	(void)snprintf(text, sizeof(text),
		       "%.*s was a variable of a kernel that is gone (%.200s): run the cell again "
		       "that makes it",
		       (int)(end - name - 1), name + 1, loss->why.text);
	record_add_hint(run->record, text);
}

static void diagnose(struct run *run)
{
	const uint64_t stray = stray_take_bytes(&run->session->strays);
	const reckon_reason *reason = atomic_load(&run->session->interrupt.reason);
	char text[256], detail[64];

	if (run->has_usage)
		diagnose_usage(run);
	if (stray > 0) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " bytes printed by processes or threads of earlier cells "
			       "were dropped",
			       stray);
		(void)snprintf(detail, sizeof(detail), "{\"bytes\":%" PRIu64 "}", stray);
		record_add_diagnostic(run->record, "stray_output", text, detail);
	}
	diagnose_losses(run);
	if (run->stop == STOP_CALLER && reason != NULL)
		record_add_diagnostic(run->record, reason->code, reason->message, NULL);
	if (run->end == RUN_DONE && run->stop == STOP_CALLER && run->done == RUN_DONE_OK)
		record_add_diagnostic(run->record, "interrupt_ignored",
				      "the program came to its normal end although it was "
				      "interrupted",
				      NULL);
}

static void add_receipt(struct run *run)
{
	const reckon_limits *limits = &run->session->limits;
	struct record_receipt receipt;

	memset(&receipt, 0, sizeof(receipt));
	if (run->has_usage)
		record_receipt_from_usage(&receipt, &run->usage);
	else
		record_add_diagnostic(run->record, "not_measured",
				      "the warden could not tell what this execution cost", NULL);
	receipt.wall_ns = run->end_ns - run->start_ns;
	receipt.limit_wall_ms = run->wall_ms;
	receipt.limit_cpu_ms = limits->cpu_ms;
	receipt.limit_memory_bytes = limits->memory_bytes;
	receipt.limit_disk_bytes = limits->disk_bytes;
	receipt.limit_output_bytes = run->output_bytes;
	receipt.limit_pids = limits->pids;
	receipt.limit_cpu_percent = limits->cpu_percent;
	record_set_receipt(run->record, &receipt);
}

static void add_stream(struct run *run, int index)
{
	const enum record_stream which = index == 0 ? RECORD_STDOUT : RECORD_STDERR;
	struct stream *stream = &run->stream[index];
	char handle[STORE_ID_SIZE], text[400];
	size_t gap_at, gap_size;
	struct err err;

	buf_clear(&run->text);
	if (stream_text(stream, &run->text, &err) == 0)
		record_set_stream(run->record, which, buf_text(&run->text), run->text.len);
	if (!stream_is_cut(stream))
		return;
	stream_gap(stream, &gap_at, &gap_size);
	stream_finish_spool(stream, handle, &err);
	record_set_truncated(run->record, which, stream->total, stream->limit,
			     handle[0] != '\0' ? handle : NULL);
	record_set_gap(run->record, which, gap_at, gap_size, stream_lines(stream));
	if (handle[0] == '\0') {
		(void)snprintf(text, sizeof(text), "the whole output could not be stored: %s",
			       err.text);
		record_add_diagnostic(run->record, "output_not_kept", text, NULL);
	}
}

/* This comes first, so that listed files are already in the store. */
static void keep_files(struct run *run)
{
	struct shared_unstored unstored;
	char text[512], detail[64];
	struct err err;

	if (durable_keep(run->session, false, &unstored, &err) < 0) {
		(void)snprintf(
			text, sizeof(text),
			"what this execution changed in the workspace is not kept, a restart "
			"of the daemon would lose it: %s",
			err.text);
		record_add_diagnostic(run->record, "files_not_kept", text, NULL);
	} else if (unstored.count > 0) {
		(void)snprintf(text, sizeof(text),
			       "%zu names of the workspace are not kept, a restart of the daemon "
			       "would lose them; %s", unstored.count, unstored.why);
		(void)snprintf(detail, sizeof(detail), "{\"count\":%zu}", unstored.count);
		record_add_diagnostic(run->record, "files_not_kept", text, detail);
	}
}

static void add_files(struct run *run)
{
	struct reckon_session *session = run->session;
	struct err err;

	keep_files(run);
	if (shared_collect(session->shared, session->workspace, session->engine->store, run->record,
			   &err) < 0)
		record_add_diagnostic(run->record, "workspace_unreadable", err.text, NULL);
}

static void note_success(struct run *run, uint64_t code)
{
	uint64_t times = repeat_detector_note_success(&run->session->repeats, code,
						      record_output_fingerprint(run->record));
	char text[160];

	if (times < REPEATS_NOTED || !record_has_output(run->record))
		return; /* repeated code without output, such as x = 1, is no sign of a problem */
	(void)snprintf(text, sizeof(text),
		       "the same code gave the same output %" PRIu64 " times in a row", times);
	record_add_diagnostic(run->record, "repeated_execution", text, NULL);
}

/* Repeated failures or identical successes; the end of a session does not count. */
static void note_repeats(struct run *run, enum record_status status)
{
	struct reckon_session *session = run->session;
	const struct language_syntax *syntax = &session->language->syntax;
	const uint64_t code = repeat_detector_code_fingerprint(syntax, run->code, run->code_len);
	struct repeat_detector_failure failure = { .sequence = session->sequence,
					 .code = code,
					 .files_before = shared_changes(session->shared) };
	struct record_error_view error;
	struct repeat_detector_repeat repeat;

	if (record_file_count(run->record) > 0)
		(void)shared_note_change(session->shared);
	if (status == RECORD_OK)
		note_success(run, code);
	if (status != RECORD_ERROR && status != RECORD_TIMEOUT && status != RECORD_OUTPUT_LIMIT)
		return;
	record_view_error(run->record, &error);
	failure.error = repeat_detector_error_fingerprint(syntax, error.name, error.value,
							  error.source, code);
	failure.files_after = shared_changes(session->shared);
	repeat_detector_note_failure(&session->repeats, &failure, &repeat);
	record_set_repeat(run->record, &repeat);
}

/* The kernel's own error was sent when it came; the host's error is sent here. */
static void tell_error(struct run *run, enum record_status status)
{
	struct err err;

	if (run->options->on_event == NULL || status == RECORD_OK || status == RECORD_ERROR)
		return;
	buf_clear(&run->event);
	if (record_event_error(run_moment(run), run->record, &run->event, &err) == 0)
		run_emit(run, RECORD_EVENT_ERROR, 0, NULL);
}

int report_finish(struct run *run, enum record_status *ret_status, struct buf *ret_json,
		  struct err *err)
{
	const enum record_status status = status_of(run);

	if (run->end != RUN_DONE) {
		measure_take(run);
		end_kernel(run);
	}
	explain(run, status);
	hint_lost(run, status);
	tell_error(run, status);
	add_stream(run, 0);
	add_stream(run, 1);
	add_files(run);
	note_repeats(run, status);
	if (run->end == RUN_DONE)
		measure_take(run);
	diagnose(run);
	add_receipt(run);
	if (record_finish(run->record, status, ret_json, err) < 0)
		return (int)err->code;
	/* Make everything that the record names as durable as the record itself. */
	if (shared_keeps(run->session->shared) && store_sync(run->session->engine->store, err) < 0)
		return (int)err->code;
	*ret_status = status;
	return 0;
}
