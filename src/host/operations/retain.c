/*
 * retain.c - retention: removes old history, ended sessions and expired documents.
 *
 * Runs in:  reckond's loop, a little once a second.
 * Reads:    its own tables, by the time at the start of ids.
 * Never:    removes a live session, or an execution that has not ended.
 *
 * Requests for removed objects get 410 `expired` and not 404. The id contains the age, so this
 * needs no stored data.
 */
#include "host/operations/retain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "host/db/tables/run.h"
#include "host/calls/tenants/document.h"
#include "host/host.h"

#define TICK_NS 1000000000ull
#define EXECUTIONS_IN_A_TICK 64u
#define SESSIONS_IN_A_TICK 8u
#define PREFIX_MAX 4u /* "ex_", "se_", "run_" */

static int take(struct host *host, uint64_t now_ms, unsigned *ret_executions,
		unsigned *ret_sessions, struct err *err)
{
	unsigned runs;
	char before[RETAIN_CUTOFF_SIZE + PREFIX_MAX], cutoff[RETAIN_CUTOFF_SIZE];

	if (document_expire(host, now_ms, EXECUTIONS_IN_A_TICK, err) < 0)
		return (int)err->code;
	retain_cutoff(now_ms, host->config.history_keep_ms, cutoff);
	(void)snprintf(before, sizeof(before), "ex_%s", cutoff);
	if (cutoff[0] != '\0' && db_retain_executions(host->db, before, EXECUTIONS_IN_A_TICK,
						      ret_executions, err) < 0)
		return (int)err->code;
	(void)snprintf(before, sizeof(before), "run_%s", cutoff);
	if (cutoff[0] != '\0') {
		if (db_run_retain(host->db, before, EXECUTIONS_IN_A_TICK, &runs, err) < 0)
			return (int)err->code;
		*ret_executions += runs;
	}
	retain_cutoff(now_ms, host->config.session_keep_ms, cutoff);
	(void)snprintf(before, sizeof(before), "se_%s", cutoff);
	if (cutoff[0] != '\0')
		return db_retain_sessions(host->db, before,
					  (now_ms - host->config.session_keep_ms) / 1000,
					  SESSIONS_IN_A_TICK, ret_sessions, err);
	return 0;
}

/* Reports the number of removed rows when no more are left for now. */
static void tell(struct host *host)
{
	struct retainer *retainer = &host->operations.retainer;

	if (retainer->executions == 0 && retainer->sessions == 0)
		return;
	log_line(LOG_INFO, "history was removed", "executions=%llu sessions=%llu",
		 (unsigned long long)retainer->executions, (unsigned long long)retainer->sessions);
	audit_note(host, "retention.remove", "", "ok",
		   "executions=%" PRIu64 " sessions=%" PRIu64, retainer->executions,
		   retainer->sessions);
	retainer->executions = retainer->sessions = 0;
}

void retain_stop(struct host *host)
{
	tell(host);
}

void retain_tick(struct host *host)
{
	struct retainer *retainer = &host->operations.retainer;
	const uint64_t now = clock_mono_ns(), now_ms = monotonic_now(&host->monotonic);
	unsigned executions = 0, sessions = 0;
	struct err err;
	int code;

	if (now - retainer->last_ns < TICK_NS)
		return;
	retainer->last_ns = now;
	code = audit_begin(host, &err);
	if (code == 0)
		code = audit_end(host, take(host, now_ms, &executions, &sessions, &err), &err);
	if (code < 0) {
		if (!retainer->has_failed)
			log_line(LOG_ERROR, "history cannot be removed", "why=\"%s\"", err.text);
		retainer->has_failed = true;
		return;
	}
	retainer->has_failed = false;
	retainer->executions += executions;
	retainer->sessions += sessions;
	metrics_add(&host->seen.metrics, METRICS_REMOVED,
		    metrics_counter_label(METRICS_REMOVED, "execution"), executions);
	metrics_add(&host->seen.metrics, METRICS_REMOVED,
		    metrics_counter_label(METRICS_REMOVED, "session"), sessions);
	if (executions == 0 && sessions == 0)
		tell(host);
}
