/*
 * program_run.c - runs a program's command: a process, its input and output, its end.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    events with bytes of a hostile program.
 * Never:    stores more of a stream than the program's order allows: it kills the command instead.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/events.h"
#include "dialects/program/program.h"

#define EVENT_MAX ((size_t)1 << 20)
#define INPUT_STEP (256u * 1024u) /* bytes of input under way at a time */
#define BUSY_MS 50u
#define SIGNALS_MAX 64

struct running {
	struct program *program;
	const struct program_stage *stage;
	struct program_end *end;
	struct program_interactive *interactive;
	uint64_t written;  /* bytes passed on instead of collected */
	struct call input; /* the piece under way */
	size_t fed, step;
	bool is_sending;
	uint64_t pause_ms;  /* until sending more input makes sense */
	bool is_cut;	    /* its output was too long, and it is being killed */
	bool has_lost_some; /* part of its output */
};

void program_end_done(struct program_end *end)
{
	buf_done(&end->out);
	buf_done(&end->err);
	buf_done(&end->both);
	json_read_free(TAKE_PTR(end->files));
}

/* ---- input ---------------------------------------------------------------------------------- */

static size_t left_of(const struct running *running)
{
	return running->interactive != NULL ? running->interactive->input.len
					    : running->stage->input_len - running->fed;
}

static void take_off(struct running *running, size_t len)
{
	if (running->interactive != NULL)
		buf_consume(&running->interactive->input, len);
	else
		running->fed += len;
}

/* Handles the reply for the piece under way: accepted, or to be sent again. Stops if the program no
 * longer reads. */
static int take_answer(struct running *running)
{
	const enum call_status status = call_take(running->program->request, 0, NULL,
						  &running->input);

	running->is_sending = false;
	if (status == CALL_OK)
		take_off(running, running->step);
	else if (status == CALL_FAILED && running->input.failure->error == API_ERR_BUSY)
		running->pause_ms = BUSY_MS;
	else
		take_off(running, left_of(running));
	return status == CALL_GONE ? -1 : 0;
}

static bool is_fed(const struct running *running)
{
	return left_of(running) == 0;
}

static int send_more(struct running *running)
{
	const size_t left = left_of(running);
	const bool is_interactive = running->interactive != NULL;

	running->step = left < INPUT_STEP ? left : INPUT_STEP;
	running->is_sending = true;
	return call_ask(running->program->request, API_PROCESS_STDIN,
			&(struct api_process_stdin_in){
				.session = running->program->session,
				.process = running->program->process,
				.data = { is_interactive
						  ? buf_text(&running->interactive->input)
						  : running->stage->input + running->fed,
					  running->step },
				.has_close = true,
				.close = !is_interactive && running->step == left },
			&running->input) == CALL_OK
		       ? 0
		       : -1;
}

static int feed(struct running *running)
{
	if (running->is_sending &&
	    upstream_is_answered(running->program->request, running->input.frame) &&
	    take_answer(running) < 0)
		return -1;
	if (running->is_sending || is_fed(running) || running->pause_ms != 0)
		return 0;
	return send_more(running);
}

/* ---- output --------------------------------------------------------------------------------- */

static int cut(struct running *running)
{
	cleanup_call struct call call = CALL_INIT;

	if (running->is_cut)
		return 0;
	running->is_cut = true;
	return call_make(running->program->request, API_PROCESS_DELETE,
			 &(struct api_process_delete_in){ .session = running->program->session,
							  .process = running->program->process },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

/* Passes output on to the interactive client, up to the order's limit. */
static int hand_over(struct running *running, bool is_error, const struct buf *bytes)
{
	const uint64_t most = running->program->output_max != 0 ? running->program->output_max
								: PROGRAM_OUTPUT_MAX;
	const uint64_t room = running->written < most ? most - running->written : 0;
	const size_t len = bytes->len < room ? bytes->len : (size_t)room;

	running->written += bytes->len;
	if (len > 0 && running->interactive->take_output(running->interactive, is_error,
							 buf_text(bytes), len) < 0)
		return -1;
	return bytes->len > room ? cut(running) : 0;
}

static int take_output(struct running *running, const struct json_value *event)
{
	cleanup_buf struct buf bytes = BUF_INIT(EVENT_MAX);
	const uint64_t most = running->program->output_max;
	struct buf *to = strcmp(json_get_str(event, "name"), "stderr") == 0 ? &running->end->err
									    : &running->end->out;
	size_t len, room = (most != 0 && most < to->max ? (size_t)most : to->max) - to->len;
	const char *data = json_read_text(json_read_member(event, "data"), &len);
	struct err err;

	if (running->interactive != NULL && data != NULL &&
	    base64_decode(data, len, &bytes, &err) == 0)
		return hand_over(running, to == &running->end->err, &bytes);
	if (data == NULL || base64_decode(data, len, &bytes, &err) < 0 ||
	    buf_add(to, buf_text(&bytes), bytes.len < room ? bytes.len : room, &err) < 0 ||
	    (running->end->both.max > 0 &&
	     buf_add(&running->end->both, buf_text(&bytes), bytes.len < room ? bytes.len : room,
		     &err) < 0))
		running->has_lost_some = true;
	return bytes.len > room ? cut(running) : 0;
}

static int take_event(struct running *running, const struct api_event *event)
{
	struct json_value *value = NULL;
	struct err ignored;
	int code = 0;

	if (strcmp(event->name, "stream") != 0)
		return 0;
	if (json_read_parse(event->data.data, event->data.len, EVENT_MAX, &value, &ignored) == 0)
		code = take_output(running, value);
	json_read_free(value);
	return code;
}

/* Transfers both directions until the end. */
static int follow(struct running *running)
{
	struct request *request = running->program->request;
	struct api_process_events_in in = { .session = running->program->session,
					    .process = running->program->process };
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;
	int code;

	events_open(&reader, request, API_PROCESS_EVENTS, &in);
	events_go_on(&reader);
	while ((code = feed(running)) == 0) {
		const bool polls = running->interactive != NULL || !is_fed(running);

		switch (events_next(&reader, polls ? EVENTS_POLL : 0, &call, &next)) {
		case EVENT_NEXT:
			code = take_event(running, &next.event);
			break;
		case EVENT_GAP:
			running->has_lost_some = true;
			break;
		case EVENT_QUIET:
			code = running->interactive != NULL && is_fed(running)
				       ? running->interactive->wait(running->interactive)
				       : upstream_wait(request, running->pause_ms);
			running->pause_ms = 0;
			break;
		case EVENT_FAILED: /* its record has the same */
		case EVENT_END:
			return 0;
		case EVENT_GONE:
			return -1;
		}
		if (code < 0)
			break;
	}
	return code;
}

/* ---- its end -------------------------------------------------------------------------------- */

static int signal_of(const char *name)
{
	for (int i = 1; name != NULL && i <= SIGNALS_MAX; i++)
		if (sigabbrev_np(i) != NULL && strcmp(sigabbrev_np(i), name) == 0)
			return i;
	const long number = name != NULL ? strtol(name, NULL, 10) : 0;

	return number > 0 && number <= SIGNALS_MAX ? (int)number : SIGKILL;
}

static void fail(struct program_end *end, const char *why)
{
	struct err ignored;

	end->how = PROGRAM_FAILED;
	(void)buf_addf(&end->err, &ignored, "%.4000s", why);
}

static void read_how(const struct running *running, const struct api_process *process)
{
	struct program_end *end = running->end;

	end->code = SIGKILL;
	if (process->state != API_PROCESS_STATE_ENDED) {
		fail(end, process->why != NULL ? process->why : "the process was lost");
		return;
	}
	switch (process->cause) {
	case API_PROCESS_CAUSE_EXIT:
		end->how = PROGRAM_EXITED;
		end->code = (int)process->exit_code;
		break;
	case API_PROCESS_CAUSE_TIMEOUT:
		end->how = PROGRAM_TIMEOUT;
		break;
	case API_PROCESS_CAUSE_CPU_LIMIT:
		end->how = PROGRAM_CPU_LIMIT;
		break;
	case API_PROCESS_CAUSE_OUT_OF_MEMORY:
		end->how = PROGRAM_OUT_OF_MEMORY;
		break;
	case API_PROCESS_CAUSE_SESSION_ENDED:
		fail(end, "the session ended");
		return;
	case API_PROCESS_CAUSE_SYSTEM_CALL:
		end->how = PROGRAM_SIGNALLED;
		end->code = SIGSYS;
		break;
	case API_PROCESS_CAUSE_SIGNAL:
	default:
		end->how = PROGRAM_SIGNALLED;
		end->code = signal_of(process->signal);
		break;
	}
	if (running->is_cut)
		end->how = PROGRAM_OUTPUT_LIMIT;
	else if (running->has_lost_some)
		fail(end, "a part of the output was lost");
}

static void read_usage(const struct api_bytes *bytes, struct program_end *end)
{
	struct json_value *usage = NULL;
	double user = 0, system = 0;
	int64_t memory = 0;
	struct err ignored;

	if (bytes->len == 0 ||
	    json_read_parse(bytes->data, bytes->len, EVENT_MAX, &usage, &ignored) < 0)
		return;
	(void)json_read_double(json_read_member(usage, "wall_s"), &end->wall_s);
	(void)json_read_double(json_read_member(usage, "cpu_user_s"), &user);
	(void)json_read_double(json_read_member(usage, "cpu_system_s"), &system);
	(void)json_read_int(json_read_member(usage, "memory_peak_bytes"), &memory);
	end->cpu_s = user + system;
	end->memory_bytes = memory > 0 ? (uint64_t)memory : 0;
	json_read_free(usage);
}

static int read_end(struct running *running)
{
	struct program *program = running->program;
	struct program_end *end = running->end;
	struct api_process process;
	struct err ignored;

	if (call_or_refuse(program->request, API_PROCESS_WAIT,
			   &(struct api_process_wait_in){ .session = program->session,
							  .process = running->program->process },
			   &process, &program->call) < 0)
		return -1;
	read_how(running, &process);
	read_usage(&process.usage, end);
	if (process.files.len > 0)
		(void)json_read_parse(process.files.data, process.files.len, EVENT_MAX, &end->files,
				      &ignored);
	return 0;
}

/* ---- a command ------------------------------------------------------------------------------ */

static int start(struct running *running)
{
	const struct program_stage *stage = running->stage;
	struct program *program = running->program;
	struct api_process process;

	if (program_call_in_turn(program, API_PROCESS_CREATE,
				 &(struct api_process_create_in){
					 .session = program->session,
					 .command = stage->command,
					 .tag = stage->tag,
					 .has_stdin = true,
					 .stdin = stage->input_len > 0 || stage->interactive != NULL,
					 .has_timeout_ms = stage->timeout_ms != 0,
					 .timeout_ms = stage->timeout_ms,
					 .has_cpu_ms = stage->cpu_ms != 0,
					 .cpu_ms = stage->cpu_ms,
					 .when_full = API_PROCESS_CREATE_IN_WHEN_FULL_WAIT },
				 &process) < 0)
		return -1;
	(void)snprintf(program->process, sizeof(program->process), "%s", process.id);
	return 0;
}

int program_run(struct program *program, const struct program_stage *stage,
		struct program_end *ret)
{
	struct running running = { .program = program,
				   .stage = stage,
				   .end = ret,
				   .interactive = stage->interactive,
				   .input = CALL_INIT };
	int code;

	buf_clear(&ret->out);
	buf_clear(&ret->err);
	json_read_free(TAKE_PTR(ret->files));
	code = start(&running);
	if (code == 0)
		code = follow(&running);
	/* The process's end also ends the piece of input under way. */
	if (code == 0 && running.is_sending &&
	    call_take(program->request, 0, NULL, &running.input) == CALL_GONE)
		code = -1;
	call_done(&running.input);
	return code == 0 ? read_end(&running) : -1;
}

int program_signal(struct program *program, enum api_process_signal_in_signal signal)
{
	cleanup_call struct call call = CALL_INIT;

	/* A process that has ended needs no signal. */
	return call_make(program->request, API_PROCESS_SIGNAL,
			 &(struct api_process_signal_in){ .session = program->session,
							  .process = program->process,
							  .signal = signal,
							  .to = API_PROCESS_SIGNAL_IN_TO_GROUP },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}
