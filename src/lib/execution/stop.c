/*
 * stop.c - limits and interrupts, and the kill if they are ignored.
 *
 * Runs in:  libreckon, inside reckon_execute().
 * Reads:    the clock, the warden's measurements.
 * Never:    kills before the language had its chance to save the variables.
 *
 *   reason -> interrupt, again each half second -> grace over -> the session is ended
 */
#include <inttypes.h>
#include <stdio.h>

#include "lib/execution/run.h"

#define MS 1000000ull
#define INTERRUPT_EVERY_NS (500 * MS)
#define GRACE_LIMIT_NS (2000 * MS)
#define GRACE_CALLER_NS (5000 * MS)
#define USAGE_EVERY_NS (100 * MS)

const char *stop_seconds(uint64_t ms, char ret[32])
{
	if (ms % 1000 == 0)
		(void)snprintf(ret, 32, "%" PRIu64 " s", ms / 1000);
	else
		(void)snprintf(ret, 32, "%" PRIu64 ".%03" PRIu64 " s", ms / 1000, ms % 1000);
	return ret;
}

static void interrupt(struct run *run, uint64_t now)
{
	struct err err;

	run->next_interrupt_ns = now + INTERRUPT_EVERY_NS;
	if (session_tell(run->session, WARDEN_INTERRUPT, &err) < 0)
		run_fail(run, RUN_INFRA, &err);
}

void stop_begin(struct run *run, enum stop_reason reason)
{
	const uint64_t now = clock_mono_ns();

	if (run->end != RUN_GOING || run->session->lost.has_ended)
		return;
	if (run->stop == STOP_NONE) {
		run->stop = reason;
		run->kill_ns = now + (reason == STOP_CALLER ? GRACE_CALLER_NS : GRACE_LIMIT_NS);
		interrupt(run, now);
	}
}

void stop_now(struct run *run)
{
	struct err why;

	if (run->end != RUN_GOING || run->session->lost.has_ended)
		return;
	if (run->stop == STOP_NONE)
		run->stop = STOP_CALLER;
	(void)err_set(&why, ERR_LOST, "the kernel was ended on request; its variables are gone");
	run_fail(run, RUN_KILLED, &why);
}

/* Asks without waiting: a later iteration reads the answer. */
static void ask_usage(struct run *run, uint64_t now)
{
	struct warden_request request = session_request(run->session, WARDEN_USAGE);
	struct err err;

	run->next_usage_ns = now + USAGE_EVERY_NS;
	if (client_send(run->session->client, &request, NULL, 0, &run->usage_call, &err) < 0)
		run_fail(run, RUN_INFRA, &err);
	else
		run->is_asking_usage = true;
}

static void check_cpu(struct run *run, uint64_t now)
{
	const uint64_t limit = run->session->limits.cpu_ms * MS;

	if (limit == 0 || run->stop != STOP_NONE)
		return;
	if (!run->is_asking_usage) {
		if (now >= run->next_usage_ns)
			ask_usage(run, now);
		return;
	}
	if (!run->usage_call.done)
		return;
	client_forget(run->session->client, &run->usage_call);
	run->is_asking_usage = false;
	if (run->usage_call.reply.err.code != ERR_OK)
		return;
	run->usage = run->usage_call.reply.usage;
	run->has_usage = true;
	if (run->usage.cpu_user_ns + run->usage.cpu_system_ns > limit)
		stop_begin(run, STOP_CPU);
}

void stop_check(struct run *run)
{
	const uint64_t now = clock_mono_ns();
	char seconds[32];
	struct err why;

	if (now - run->start_ns - questions_waited_ns(run, now) >= run->wall_ms * MS)
		stop_begin(run, STOP_WALL);
	check_cpu(run, now);
	if (run->stop == STOP_NONE || run->end != RUN_GOING)
		return;
	if (now >= run->kill_ns) {
		(void)err_set(&why, ERR_LOST,
			      "the kernel ignored interrupts for %s and was ended; its variables "
			      "are gone",
			      stop_seconds(run->stop == STOP_CALLER ? GRACE_CALLER_NS / MS
								    : GRACE_LIMIT_NS / MS,
					   seconds));
		run_fail(run, RUN_KILLED, &why);
	} else if (now >= run->next_interrupt_ns) {
		interrupt(run, now);
	}
}

uint64_t stop_next_ns(const struct run *run)
{
	uint64_t next;

	if (run->stop != STOP_NONE)
		return run->kill_ns < run->next_interrupt_ns ? run->kill_ns
							     : run->next_interrupt_ns;
	next = questions_next_ns(run);
	if (next == UINT64_MAX)
		next = run->start_ns + run->wall_ms * MS +
		       questions_waited_ns(run, run->start_ns);
	if (run->session->limits.cpu_ms != 0 && !run->is_asking_usage &&
	    run->next_usage_ns < next)
		next = run->next_usage_ns;
	return next;
}
