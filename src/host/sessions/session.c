/*
 * session.c - the life of a session: opening, lookup, end.
 *
 * Runs in:  reckond's loop.
 * Reads:    results of opening and closing a session.
 * Never:    answers for a session that lost its state, or keeps one whose id nobody got.
 *
 * state/life.h has the states. A live session may be parked: it has no box, for example since the
 * daemon restarted, and gets one with the first job that needs it (restart/restore.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/db/tables/snapshot.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"
#include "host/tenants/quota.h"
#include "host/tenants/usage.h"

/* Ids end in random characters, so a simple hash spreads them well. */
static struct session **bucket_of(struct host *host, const char *id)
{
	uint32_t sum = 2166136261u;

	for (; *id != '\0'; id++)
		sum = (sum ^ (unsigned char)*id) * 16777619u;
	return &host->sessions.buckets[sum % HOST_BUCKETS];
}

struct session *session_by_id(struct host *host, const char *id)
{
	struct session *at = *bucket_of(host, id);

	while (at != NULL && strcmp(at->row.id, id) != 0)
		at = at->chain;
	return at;
}

struct session *session_find(struct host *host, const struct tenant *tenant, const char *id)
{
	struct session *session = session_by_id(host, id);

	return session != NULL && session->tenant == tenant ? session : NULL;
}

void session_index(struct session *session)
{
	struct session **bucket = bucket_of(session->host, session->row.id);

	session->chain = *bucket;
	*bucket = session;
}

static void unindex(struct session *session)
{
	struct session **at = bucket_of(session->host, session->row.id);

	while (*at != NULL && *at != session)
		at = &(*at)->chain;
	if (*at != NULL)
		*at = session->chain;
}

struct session *session_named(struct host *host, const struct tenant *tenant, const char *name)
{
	for (struct session *at = host->sessions.first; at != NULL; at = at->next)
		if (at->tenant == tenant && !life_is_closing(at->life) &&
		    strcmp(at->given.name, name) == 0)
			return at;
	return NULL;
}

struct session *session_add(struct host *host, struct tenant *tenant,
			    const struct front_limits *limits)
{
	struct session *session = mem_new0(1, sizeof(*session));

	session->host = host;
	session->tenant = tenant;
	session->clock.opened_ns = clock_mono_ns();
	session->limits = session->row.limits = *limits;
	tenant->sessions++;
	tenant->memory_limits += quota_memory_of(limits);
	memcpy(session->row.tenant, tenant->row.id, sizeof(session->row.tenant));
	session->next = host->sessions.first;
	host->sessions.first = session;
	host->sessions.count++;
	(void)snprintf(session->row.state, sizeof(session->row.state), "live");
	db_persisted_init(&session->persisted);
	return session;
}

void session_forget(struct session *session)
{
	struct host *host = session->host;

	for (struct session **at = &host->sessions.first; *at != NULL; at = &(*at)->next)
		if (*at == session) {
			*at = session->next;
			break;
		}
	host->sessions.count--;
	unindex(session);
	transaction_forget(session);
	once_forget(session);
	session_measured(session, 0, 0);
	MODULE_EACH(host, session_gone, session);
	session->tenant->sessions--;
	session->tenant->memory_limits -= quota_memory_of(&session->limits);
	if (session->row.id[0] != '\0')
		quota_note_lifetime(host, (clock_mono_ns() - session->clock.opened_ns) / 1000000u);
	free(session->box.observed);
	db_session_done(&session->row);
	db_persisted_done(&session->persisted);
	missing_free(session->box.missing);
	grant_done(&session->box.folders);
	free(session);
	/*
	 * The end of the last session ends a stopping daemon, except during its grace period
	 * (operations/operate.c).
	 */
	if (lifecycle_is_ending(&host->life) && !lifecycle_is_in_grace(&host->life) &&
	    host->sessions.first == NULL)
		loop_stop(host->loop);
}

static const char *state_of(enum api_error end)
{
	if (end == API_ERR_SESSION_CLOSED)
		return "closed";
	return end == API_ERR_SESSION_EXPIRED ? "expired" : "lost";
}

static int commit_end(struct session *session, const char *state, const char *why, struct err *err)
{
	struct host *host = session->host;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_session_end(host->db, session->row.id, state, why, err);
	if (code >= 0)
		code = db_persisted_drop(host->db, session->row.id, err);
	if (code >= 0)
		code = audit_add(host, "session.end", session->row.id, state, err, "%s", why);
	return audit_end(host, code, err);
}

int session_commit_start(struct session *session, struct err *err)
{
	struct host *host = session->host;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_session_add(host->db, &session->row, err);
	if (code >= 0)
		code = persist_add(session, err);
	if (code >= 0 && session->given.snapshot[0] != '\0')
		code = db_snapshot_give(host->db, session->given.snapshot, session->row.id, err);
	if (code >= 0 && session->given.name[0] != '\0')
		code = db_name_add(host->db, session->row.id, session->given.name, err);
	if (code >= 0)
		code = audit_add(host, "session.create", session->row.id, "ok", err,
				 "template=%s language=%s%s%s", session->row.template_name,
				 session->row.language,
				 session->given.snapshot[0] != '\0' ? " snapshot=" : "",
				 session->given.snapshot);
	if (code >= 0)
		usage_add(host, session->tenant, &(struct front_usage){ .sessions = 1 });
	return audit_end(host, code, err);
}

static int keep_end(struct session *session, const char *why, struct err *err)
{
	if (session->row.id[0] == '\0')
		return 0;
	if (commit_end(session, state_of(session->end), why, err) < 0)
		return (int)err->code;
	session->transactions.is_uncommitted = true;
	transaction_note(session);
	return 0;
}

void session_interrupt(struct session *session)
{
	if (session->queue.running == NULL || session->queue.running->execution == NULL)
		return;
	execution_want_stop(session->queue.running->execution, EXECUTION_STOP_INTERRUPT);
	reckon_interrupt(session->box.handle);
}

void session_end(struct session *session, enum api_error end, const char *why,
		 uint64_t request)
{
	struct host *host = session->host;
	bool is_own, is_stored;
	struct err err;

	if (life_is_closing(session->life))
		return;
	(void)life_move(&session->life, SESSION_ENDING, session->row.id);
	session->end = end;
	metrics_add(&host->seen.metrics, METRICS_ENDS,
		    metrics_counter_label(METRICS_ENDS, state_of(end)), 1);
	(void)snprintf(session->row.why, sizeof(session->row.why), "%s", why);
	/*
	 * One transaction for the end of the session and of all its waiting jobs; meanwhile its box
	 * closes.
	 */
	is_stored = transaction_join(host, &is_own, &err) == 0 && keep_end(session, why, &err) == 0;
	if (!is_stored)
		log_line(LOG_ERROR, "the end of a session could not be kept",
			 "session=%s why=\"%s\"", session->row.id, err.text);
	session->transactions.is_end_unsaved = !is_stored;
	log_line(LOG_INFO, "session ended", "session=%s state=%s why=\"%s\"", session->row.id,
		 state_of(end), why);
	MODULE_EACH(host, session_ends, session, end, why);
	session_interrupt(session);
	session_enqueue(session, job_new(session, JOB_CLOSE, request));
	transaction_leave(host, is_own, 1); /* the CLOSE */
}

#define LET_GO_WHY "the request that it was for is over"

/* One that is being opened ends when it is open: nobody is left whom to tell of it. */
void session_let_go(struct host *host, uint64_t first, uint64_t last)
{
	struct session *next;

	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		next = at->next;
		if (life_is_live(at->life) && at->given.held_by != 0 &&
		    at->given.held_by >= first && at->given.held_by <= last)
			session_end(at, API_ERR_SESSION_CLOSED, LET_GO_WHY, 0);
	}
}

void session_let_go_after_restart(struct session *session)
{
	if ((session->row.policy & DB_POLICY_HELD) != 0 && session->given.held_by == 0)
		session_end(session, API_ERR_SESSION_CLOSED, LET_GO_WHY, 0);
}

void session_leave(struct session *session)
{
	const bool hands_over = life_is_live(session->life) && box_lease_seconds(session) > 0;
	struct job *look, *close;

	if (life_is_closing(session->life))
		return;
	if ((session->row.policy & DB_POLICY_HELD) != 0 ||
	    (once_is(session) && !(session->alone.is_to_stay && life_is_live(session->life)))) {
		session_end(session, API_ERR_SESSION_CLOSED, "the daemon is stopping", 0);
		return;
	}
	MODULE_EACH(session->host, session_leaves, session);
	session_interrupt(session);
	/* A last scan that reads every byte. */
	look = job_new(session, JOB_KEEP, 0);
	look->how = JOB_HOW_THOROUGH;
	if (life_is_live(session->life) && !session_is_parked(session) && session->looks.ran_since)
		session_enqueue(session, look);
	else
		job_free(look);
	(void)life_move(&session->life, SESSION_LEAVING, session->row.id);
	session->end = API_ERR_UNAVAILABLE;
	(void)snprintf(session->row.why, sizeof(session->row.why), "the daemon is stopping");
	close = job_new(session, JOB_CLOSE, 0);
	if (hands_over)
		close->how = JOB_HOW_HANDS_OVER;
	session_enqueue(session, close);
}

/* A transaction whose sync failed may have been committed all the same. */
int session_keep_end_again(struct session *session, struct err *err)
{
	struct db_session row;
	const int found = db_session_find(session->host->db, session->row.tenant, session->row.id,
					  &row, err);
	bool is_live;

	if (found <= 0)
		return found;
	is_live = strcmp(row.state, "live") == 0;
	db_session_done(&row);
	return is_live ? commit_end(session, state_of(session->end), session->row.why, err) : 0;
}

bool context_is_running(const struct session *session)
{
	const struct context *at = session->kernels.first;

	while (at != NULL && at->running == NULL)
		at = at->next;
	return at != NULL;
}
