/*
 * execute.c - run one cell: the loop between kernel, warden, program and caller.
 *
 * Runs in:  libreckon, inside reckon_execute().
 * Reads:    output of hostile programs, packets of hostile kernels (packets.c).
 * Never:    waits for only one of them, so that the time limit applies whatever hangs.
 *
 * Order: a kernel that has printed sends SYNC before its next packet and waits, so at any other
 * packet the pipes hold only what was printed after it. So the loop reads packets first, and drains
 * the pipes at SYNC and DONE. Between packets it reads only bytes that were in the pipe before the
 * socket was found empty: no packet can have been sent before them.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/api.h"
#include "lib/execution/execution.h"
#include "lib/execution/run.h"

/* Of a `done` event; a larger record is sent in the brief form. Output within the usual limit
 * fits. */
#define DONE_RECORD_MAX ((size_t)6 * 1024 * 1024)
#define CODE_MAX (32u * 1024u * 1024u)
#define ENV_MAX (256u * 1024u)
#define ENV_COUNT_MAX 4096u
/* How long the two signs of a kernel's end (end of file, the warden's event) may be apart. */
#define GONE_NS (2000ull * 1000000u)

struct record_moment run_moment(struct run *run)
{
	return (struct record_moment){ .seq = run->events + 1,
				       .elapsed_ns = clock_mono_ns() - run->start_ns };
}

void run_emit(struct run *run, const char *name, int stream, const struct buf *text)
{
	const reckon_event event = {
		.name = name,
		.json = buf_text(&run->event),
		.json_len = run->event.len,
		.stream = stream,
		.text = text != NULL ? buf_text(text) : NULL,
		.text_len = text != NULL ? text->len : 0,
	};

	run->events++;
	if (run->options->on_event(&event, run->options->on_event_arg) != RECKON_CONTINUE &&
	    run->end == RUN_GOING)
		stop_begin(run, STOP_CALLER);
}

void run_fail(struct run *run, enum run_end end, const struct err *why)
{
	if (run->end != RUN_GOING)
		return;
	run->end = end;
	run->why = *why;
	/* report.c lets the warden end the kernel, after it has asked for the cost. */
	if (client_is_dead(run->session->client, NULL))
		session_lose(run->session, why);
	else
		session_lose_kernel(run->session, why);
}

struct sink {
	struct run *run;
	int index;
};

static void emit_text(struct run *run, int index, const char *bytes, size_t len, bool is_last)
{
	struct err err;

	if (run->options->on_event == NULL)
		return;
	buf_clear(&run->text);
	buf_clear(&run->event);
	if (stream_decode(&run->stream[index], bytes, len, is_last, &run->text, &err) == 0 &&
	    run->text.len > 0 &&
	    record_event_stream(run_moment(run), (enum record_stream)(index + 1), run->text.data,
				run->text.len, &run->event, &err) == 0)
		run_emit(run, RECORD_EVENT_STREAM, index + 1, &run->text);
}

static void take_output(const char *bytes, size_t len, void *arg)
{
	const struct sink *sink = arg;
	struct run *run = sink->run;

	record_note_output(run->record, (enum record_stream)(sink->index + 1), len);
	if (!stream_take(&run->stream[sink->index], bytes, len))
		stop_begin(run, STOP_OUTPUT);
	emit_text(run, sink->index, bytes, len, false);
}

static void take_pipe(struct run *run, int index, size_t len)
{
	struct sink sink = { run, index };

	if (run->pipe[index] >= 0 && pipe_take(run->pipe[index], len, take_output, &sink) == 0)
		(void)close(TAKE_FD(run->pipe[index]));
}

void run_drain(struct run *run)
{
	for (int i = 0; i < 2; i++)
		if (run->pipe[i] >= 0)
			take_pipe(run, i, pipe_pending(run->pipe[i]));
}

static void clear_interrupts(struct reckon_session *session)
{
	uint64_t count;

	/* Requested between executions: it was for the last one, not for this one. */
	if (read(session->interrupt.fd, &count, sizeof(count)) < 0)
		count = 0;
	atomic_store(&session->interrupt.reason, NULL);
	if (session->interrupt.stop_wanted != NULL &&
	    atomic_load(session->interrupt.stop_wanted) != 0)
		reckon_interrupt(session);
}

static int send_execute(struct run *run, const char *code, size_t len, const int fds[3],
			struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(CODE_MAX + ENV_MAX + 4096);
	const char *const *env = run->options->env;
	char name[48];

	(void)snprintf(name, sizeof(name), "<cell %llu>",
		       (unsigned long long)run->session->sequence);
	if (kernel_pack(&payload, KERNEL_TAG_CODE, code, len, err) < 0 ||
	    kernel_pack(&payload, KERNEL_TAG_FILENAME, name, strlen(name), err) < 0)
		return (int)err->code;
	if ((run->options->has_stdin || run->options->on_input != NULL ||
	     (run->options->questions != NULL && run->options->questions->input != 0)) &&
	    kernel_pack(&payload, KERNEL_TAG_INPUT_ALLOWED, "1", 1, err) < 0)
		return (int)err->code;
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		if (kernel_pack(&payload, KERNEL_TAG_ENV, env[i], strlen(env[i]), err) < 0)
			return (int)err->code;
	return kernel_send(run->session->control, KERNEL_EXECUTE, run->request, &payload, fds, 3,
			   err);
}

/*
 * Programs reopen their descriptors by name (/dev/stdout, tee /dev/stderr), so the box's user must
 * own the pipes. Rootless that is our own user.
 */
static int give_pipe(const struct reckon_session *session, int fd, struct err *err)
{
	if (geteuid() == 0 && fchown(fd, session->warden.host_uid, session->warden.host_gid) < 0)
		return err_sys(err, "give a pipe to the session");
	return 0;
}

static int open_input(struct run *run, struct err *err)
{
	struct reckon_session *session = run->session;
	int *none = session->no_input;

	if (run->options->has_stdin) {
		if (feed_open(&run->feed, run->options->stdin_fd, err) < 0)
			return (int)err->code;
		return give_pipe(session, run->feed.theirs, err);
	}
	if (none[0] < 0) {
		if (feed_open(&run->feed, -1, err) < 0 ||
		    give_pipe(session, run->feed.theirs, err) < 0)
			return (int)err->code;
		none[0] = run->feed.theirs;
		none[1] = run->feed.unarchiver;
	}
	feed_lend(&run->feed, none[0], none[1]);
	return 0;
}

static int choose_id(struct run *run, struct err *err)
{
	const char *given = run->options->execution_id;

	if (given == NULL)
		return id_new(run->execution_id, "ex", err);
	if (strncmp(given, "ex_", 3) != 0 || strlen(given) != 29 ||
	    strspn(given + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 26)
		return err_set(err, ERR_INVALID, "\"%.64s\" is not an execution's id", given);
	memcpy(run->execution_id, given, 30);
	return 0;
}

/* Fails with an error instead of a record until the kernel has received the cell. */
static int run_begin(struct run *run, const char *code, size_t len, struct err *err)
{
	struct reckon_session *session = run->session;
	cleanup_fd int out = -1, error = -1;
	char started_at[CLOCK_RFC3339_SIZE];
	int fds[3];

	if (choose_id(run, err) < 0 ||
	    pipe_new_from_box(&run->pipe[0], &out, err) < 0 ||
	    pipe_new_from_box(&run->pipe[1], &error, err) < 0 ||
	    give_pipe(session, out, err) < 0 || give_pipe(session, error, err) < 0 ||
	    open_input(run, err) < 0)
		return (int)err->code;
	clear_interrupts(session);
	session->sequence = shared_next_sequence(session->shared);
	run->request = session->next_request++;
	clock_rfc3339_now(started_at);
	run->record = record_new(&(struct record_head){ .id = run->execution_id,
							.session = session->id,
							.context = session->context,
							.kernel = session->language->name,
							.sequence = session->sequence,
							.started_at = started_at,
							.displays_max = session->limits.displays,
							.text_max = run->options->text_bytes });
	record_set_store(run->record, session->engine->store);
	run->code = code;
	run->code_len = len;
	for (int i = 0; i < 2; i++)
		stream_init(&run->stream[i], session->engine->store, run->output_bytes);
	fds[0] = out;
	fds[1] = error;
	fds[2] = run->feed.theirs;
	if (session_tell_begin(session, run->execution_id, err) < 0)
		return (int)err->code;
	run->start_ns = clock_mono_ns();
	err_clear(err);
	if ((questions_begin(run, err) < 0 || send_execute(run, code, len, fds, err) < 0) &&
	    err->code == ERR_SYSTEM &&
	    err->errnum == EPIPE) {
		/* The kernel ended after the check above: treat it like an end during the cell,
		 * which it may be. */
		run->control_ended = true;
	} else if (err->code != ERR_OK) {
		/* An idle kernel reads; one that does not read will not recover. */
		session_kill(session, err);
		(void)session_is_gone(session, err);
		return (int)err->code;
	}
	session->state = KERNEL_STATE_EXECUTING;
	return 0;
}

/* Room for control, warden, interrupt, two outputs, input (2), questions, strays. */
#define POLL_MAX (7 + QUESTIONS_POLL_MAX + STRAYS_MAX)

struct polled {
	struct pollfd fd[POLL_MAX];
	size_t count;
	size_t feed_at;
	size_t feed_count;
};

static void poll_add(struct polled *polled, int fd)
{
	if (fd >= 0)
		polled->fd[polled->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void poll_fill(const struct run *run, struct polled *polled)
{
	const struct reckon_session *session = run->session;

	polled->count = 0;
	if (!run->control_ended)
		poll_add(polled, session->control);
	poll_add(polled, client_sock(session->client));
	poll_add(polled, session->interrupt.fd);
	poll_add(polled, run->pipe[0]);
	poll_add(polled, run->pipe[1]);
	polled->feed_at = polled->count;
	polled->feed_count = feed_poll(&run->feed, polled->fd + polled->count);
	polled->count += polled->feed_count;
	if (run->wants_input)
		poll_add(polled, run->feed.unarchiver);
	polled->count += questions_poll(run, polled->fd + polled->count);
	for (size_t i = 0; i < session->strays.count; i++)
		poll_add(polled, session->strays.fd[i]);
}

static void run_wait(struct run *run, struct polled *polled)
{
	uint64_t now = clock_mono_ns(), next = stop_next_ns(run);
	struct timespec timeout;
	struct err err;

	if (run->gone_ns != 0 && run->gone_ns < next)
		next = run->gone_ns;
	next = next > now ? next - now : 0;
	timeout.tv_sec = (time_t)(next / 1000000000u);
	timeout.tv_nsec = (long)(next % 1000000000u);
	poll_fill(run, polled);
	if (ppoll(polled->fd, (nfds_t)polled->count, &timeout, NULL) < 0) {
		polled->count = polled->feed_count = 0;
		if (errno != EINTR) {
			(void)err_sys(&err, "poll");
			run_fail(run, RUN_INFRA, &err);
		}
	}
}

static void check_interrupt(struct run *run)
{
	uint64_t count;

	if (read(run->session->interrupt.fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return;
	if (count >= SESSION_KILL)
		stop_now(run);
	else
		stop_begin(run, STOP_CALLER);
}

/* A kernel's end has two signs, in any order: end of file on the socket and the warden's event. */
static void check_gone(struct run *run)
{
	struct reckon_session *session = run->session;
	struct err err;

	if (run->end != RUN_GOING)
		return;
	if (client_is_dead(session->client, &err)) {
		run_fail(run, RUN_INFRA, &err);
		return;
	}
	if (!run->control_ended && !session->lost.has_ended)
		return;
	if (run->gone_ns == 0)
		run->gone_ns = clock_mono_ns() + GONE_NS;
	if ((run->control_ended && session->lost.has_ended) || clock_mono_ns() >= run->gone_ns) {
		(void)err_set(&err, ERR_LOST,
			      "the kernel closed its connection; its variables are gone");
		run_fail(run, RUN_DIED,
			 session->lost.has_ended ? &session->lost.why_kernel_lost : &err);
	}
}

/* Packets first; see the top of this file. The output of a kernel that never pauses is still
 * read. */
static void take_in(struct run *run)
{
	size_t pending[2];

	for (int i = 0; i < 2; i++)
		pending[i] = run->pipe[i] >= 0 ? pipe_pending(run->pipe[i]) : 0;
	if (!run->control_ended && packet_receive(run) && ++run->packets_in_a_row % 16 != 0)
		return;
	run->packets_in_a_row = 0;
	for (int i = 0; i < 2 && run->end == RUN_GOING; i++)
		take_pipe(run, i, pending[i]);
}

static void run_turn(struct run *run)
{
	struct polled polled;

	run_wait(run, &polled);
	check_interrupt(run);
	client_dispatch(run->session->client);
	take_in(run);
	stray_drain(&run->session->strays);
	feed_move(&run->feed, polled.fd + polled.feed_at, polled.feed_count);
	if (run->wants_input)
		packet_answer_input(run);
	if (run->end == RUN_GOING)
		questions_turn(run);
	check_gone(run);
	if (run->end == RUN_GOING)
		stop_check(run);
}

/* Bytes that are in the pipes now belong to this execution; later ones do not. */
static void run_settle(struct run *run)
{
	struct reckon_session *session = run->session;

	run->end_ns = clock_mono_ns();
	report_ask(run);
	run_drain(run);
	for (int i = 0; i < 2; i++) {
		emit_text(run, i, "", 0, true);
		if (run->pipe[i] >= 0 && run->end == RUN_DONE)
			stray_add(&session->strays, TAKE_FD(run->pipe[i]));
	}
	session->state = KERNEL_STATE_IDLE;
}

static void run_done(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		if (run->pipe[i] >= 0)
			(void)close(run->pipe[i]);
		stream_done(&run->stream[i]);
	}
	if (run->is_asking_usage)
		client_forget(run->session->client, &run->usage_call);
	questions_done(run);
	feed_close(&run->feed);
	record_free(run->record);
	free(run->items);
	buf_done(&run->event);
	buf_done(&run->text);
	buf_done(&run->input);
	buf_done(&run->payload);
	buf_done(&run->traceback);
	run->session->engine->is_busy = false;
}

static void run_init(struct run *run, struct reckon_session *session,
		     const reckon_execute_options *options)
{
	memset(run, 0, sizeof(*run));
	run->session = session;
	run->options = options;
	run->wall_ms = options->wall_ms != 0 ? options->wall_ms : session->limits.wall_ms;
	run->output_bytes = (size_t)(options->output_bytes != 0 ? options->output_bytes
								: session->limits.output_bytes);
	run->pipe[0] = run->pipe[1] = -1;
	run->feed = (struct feed){ .source = -1, .target = -1, .theirs = -1, .unarchiver = -1 };
	questions_init(run);
	run->event = BUF_INIT(RECORD_JSON_MAX);
	run->text = BUF_INIT(RECORD_JSON_MAX);
	run->input = BUF_INIT(RUN_INPUT_MAX);
	run->payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	run->traceback = BUF_INIT(RUN_TRACEBACK_MAX);
	run->items = mem_grow(NULL, KERNEL_FIELDS_MAX, sizeof(*run->items));
	session->engine->is_busy = true;
}

static int check_env(const char *const *env, struct err *err)
{
	size_t bytes = 0;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
		const char *equals = strchr(env[i], '=');

		if (equals == NULL || equals == env[i]) {
			(void)err_set(err, ERR_INVALID, "\"%.100s\" is not a variable", env[i]);
			return err_remedy(err, "write it as NAME=value");
		}
		bytes += strlen(env[i]) + sizeof(struct kernel_field);
		if (bytes > ENV_MAX || i >= ENV_COUNT_MAX)
			return err_set(err, ERR_LIMIT, "the environment of the code is too large");
	}
	return 0;
}

static int check_arguments(const char *code, size_t len, const reckon_execute_options *options,
			   struct err *err)
{
	if (code == NULL && len > 0)
		return err_set(err, ERR_INVALID, "no code");
	if (len > CODE_MAX)
		return err_set(err, ERR_LIMIT, "code of %zu bytes; at most %u", len, CODE_MAX);
	if (options->output_bytes > 64ull * 1024 * 1024)
		return err_set(err, ERR_INVALID, "output_bytes is %llu, at most 64 MiB are kept",
			       (unsigned long long)options->output_bytes);
	if (options->text_bytes != 0 &&
	    (options->text_bytes < RECORD_TEXT_MIN || options->text_bytes > RECORD_TEXT_MAX))
		return err_set(err, ERR_INVALID, "text_bytes is %llu, from 1 KiB to 1 MiB",
			       (unsigned long long)options->text_bytes);
	return check_env(options->env, err);
}

/* Leaves streams and results out of a record of megabytes: they were already sent as events. */
static void tell_done(struct run *run, const struct reckon_execution *execution)
{
	cleanup_buf struct buf brief = BUF_INIT(DONE_RECORD_MAX + RECORD_TEXT_MAX * 8);
	const struct buf *record = &execution->record;
	struct err ignored;

	if (record->len > DONE_RECORD_MAX &&
	    record_write_brief(run->record, execution->status, &brief, &ignored) == 0)
		record = &brief;
	buf_clear(&run->event);
	if (record_event_done(run_moment(run), record->data, record->len, &run->event, &ignored) ==
	    0)
		run_emit(run, RECORD_EVENT_DONE, 0, NULL);
}

static int run_execution(struct run *run, const char *code, size_t len,
			 struct reckon_execution *execution, struct err *err)
{
	if (run_begin(run, code, len, err) < 0)
		return (int)err->code;
	while (run->end == RUN_GOING)
		run_turn(run);
	run_settle(run);
	if (report_finish(run, &execution->status, &execution->record, err) < 0)
		return (int)err->code;
	if (run->options->on_event != NULL)
		tell_done(run, execution);
	return 0;
}

/* Notes cost and stored artifacts from our own accounts. */
static void note_cost(const struct run *run, struct reckon_execution *execution)
{
	const struct store *store = run->session->engine->store;
	const struct store_note *object;
	const struct warden_usage *usage = &run->usage;

	execution->cost.wall_ns = run->end_ns - run->start_ns;
	if (run->has_usage) {
		execution->cost.cpu_ns = usage->cpu_user_ns + usage->cpu_system_ns;
		execution->cost.memory_peak_bytes = usage->memory_peak_bytes;
		execution->cost.memory_bytes = usage->memory_bytes;
		execution->cost.read_bytes = usage->read_bytes;
		execution->cost.written_bytes = usage->written_bytes;
		execution->cost.disk_bytes = usage->disk_used_bytes;
	}
	for (size_t i = 0; (object = store_made(store, i)) != NULL; i++) {
		execution->objects = mem_grow(execution->objects, i + 1,
					      sizeof(*execution->objects));
		execution->objects[i] = *object;
		execution->object_count = i + 1;
	}
}

static int execute(struct reckon_session *session, const char *code, size_t len,
		   const reckon_execute_options *given, struct reckon_execution **ret,
		   struct err *err)
{
	reckon_execute_options options;
	struct reckon_execution *execution;
	int result;

	if (api_options("reckon_execute_options", &options, sizeof(options), given, err) < 0 ||
	    check_arguments(code, len, &options, err) < 0)
		return (int)err->code;

	__attribute__((cleanup(run_done))) struct run run;

	run_init(&run, session, &options);
	execution = mem_new0(1, sizeof(*execution));
	execution->record = BUF_INIT(RECORD_JSON_MAX);
	store_forget_made(session->engine->store);
	shared_begin(session->shared);
	result = run_execution(&run, code != NULL ? code : "", len, execution, err);
	shared_end(session->shared);
	if (result < 0) {
		reckon_execution_free(execution);
		return result;
	}
	note_cost(&run, execution);
	execution->source = TAKE_PTR(run.record);
	*ret = execution;
	return 0;
}

int reckon_execute(reckon_session *session, const char *code, size_t code_len,
		   const reckon_execute_options *options, reckon_execution **ret,
		   reckon_error *err)
{
	struct err inner;

	if ((session->client == NULL && session_check_kernel(session, &inner) < 0) ||
	    session_check_box(session, &inner) < 0 ||
	    (session->lost.is_kernel_lost && session_restart(session, &inner) < 0) ||
	    execute(session, code, code_len, options, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
