/*
 * leave.c - clients that disconnect, and periodic work for processes that nobody follows.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing of a process.
 * Never:    ends a process whose client may still come back.
 */
#include "host/host.h"
#include "host/processes/process.h"

#define HANG_UP_NS (3ull * 1000000000u) /* from SIGHUP to SIGKILL */
#define SIGNAL_HUP 1u
#define LEFT_CHECK_NS (5ull * 1000000000u)
#define LOOK_EVERY_NS (30ull * 1000000000u)

static void answer_late(struct process *process, uint64_t now)
{
	struct process_followers *follow = &process->follow;

	for (size_t i = 0; i < follow->waiter_count;) {
		if (follow->waiters[i].until_ns > now) {
			i++;
			continue;
		}
		process_answer_waiter(process, follow->waiters[i].request);
		follow->waiters[i] = follow->waiters[--follow->waiter_count];
	}
}

static void forget_one(struct process *process, uint64_t request)
{
	struct process_followers *follow = &process->follow;

	for (size_t i = 0; i < follow->reader_count; i++)
		if (follow->readers[i].request == request) {
			process_remove_reader(process, i);
			break;
		}
	for (size_t i = 0; i < follow->waiter_count; i++)
		if (follow->waiters[i].request == request) {
			follow->waiters[i] = follow->waiters[--follow->waiter_count];
			break;
		}
	process_drop_input(process, request);
	process_unhold(process);
}

void process_forget(struct host *host, uint64_t request)
{
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct process *at = session->processes.first; at != NULL; at = at->next)
			forget_one(at, request);
}

void process_front_lost(struct host *host, uint64_t first, uint64_t last)
{
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct process *at = session->processes.first; at != NULL; at = at->next)
			for (size_t i = 0; i < at->follow.reader_count;) {
				const uint64_t request = at->follow.readers[i].request;

				if (request >= first && request <= last)
					process_remove_reader(at, i);
				else
					i++;
			}
}

static void hang_up(struct process *process, uint64_t now)
{
	struct process_followers *follow = &process->follow;
	const uint64_t alone = follow->alone_ns != 0 ? now - follow->alone_ns : 0;
	const uint64_t grace = follow->was_followed || follow->grace_ns > PROCESS_FIRST_READER_NS
				       ? follow->grace_ns
				       : PROCESS_FIRST_READER_NS;
	struct job *job;

	if (!follow->dies_alone || process->phase != PROCESS_RUNNING || follow->alone_ns == 0 ||
	    alone < grace)
		return;
	if (!follow->is_hung_up) {
		follow->is_hung_up = true;
		audit_note(process->session->host, "process.signal", process->session->row.id, "ok",
			   "process=%s signal=1 its client went away", process->row.id);
		job = job_new(process->session, JOB_PROCESS_SIGNAL, 0);
		job->cursor = SIGNAL_HUP;
		process_ask(process, JOB_PROCESS_SIGNAL, job);
	} else if (alone >= grace + HANG_UP_NS && process->stay == PROCESS_MAY_STAY) {
		process_kill(process);
	}
}

static void look_who_follows(struct process *process)
{
	const uint64_t now = clock_mono_ns();

	answer_late(process, now);
	hang_up(process, now);
}

/* ---- periodic work -------------------------------------------------------------------------- */

static void tick_one(struct process *process, uint64_t now)
{
	struct err err;

	process_io_tick(process);
	look_who_follows(process);
	if (process->phase == PROCESS_ENDED && process->handle != NULL && process->jobs == 0 &&
	    now - process->checked_ns >= LEFT_CHECK_NS) {
		process->checked_ns = now;
		process_ask(process, JOB_PROCESS_CHECK, NULL);
	}
	if (process->is_unstored && !process->is_uncommitted && process->phase == PROCESS_ENDED &&
	    db_process_put(process->session->host->db, &process->row, &err) == 0)
		process->is_unstored = false;
}

void process_begin_anew(struct session *session)
{
	const uint64_t now = clock_mono_ns();

	for (struct process *at = session->processes.first; at != NULL; at = at->next)
		if (at->follow.alone_ns != 0)
			at->follow.alone_ns = now;
}

void process_tick(struct session *session)
{
	const uint64_t now = clock_mono_ns();

	if (!life_is_live(session->life) || life_stands_still(session->life) ||
	    session_is_parked(session))
		return;
	for (struct process *at = session->processes.first; at != NULL; at = at->next)
		tick_one(at, now);
	/* A process that runs for long changes files, so the workspace must be scanned. */
	if (process_count(session) > 0 && now - session->processes.looked_ns >= LOOK_EVERY_NS) {
		session->processes.looked_ns = now;
		session->looks.ran_since = true;
	}
	process_drop_old(session->host);
}
