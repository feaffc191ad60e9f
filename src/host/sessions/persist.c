/*
 * persist.c - sessions kept over a restart: manifests and clocks.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back, the database, the clocks.
 * Never:    ends a session because of a clock that was set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/db/log.h"
#include "host/files/file_mounts.h"
#include "host/host.h"
#include "host/sessions/folders.h"

#define USE_WRITTEN_NS (30ull * 1000000000u)
#define GRACE_MS 60000u /* after a start with another clock than the last use was stamped with */

/* ---- clocks --------------------------------------------------------------------------------- */

static const char *boot_id(void)
{
	static char id[DB_BOOT_SIZE];
	cleanup_file FILE *file = NULL;

	if (id[0] != '\0')
		return id;
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file == NULL || fgets(id, sizeof(id), file) == NULL)
		(void)snprintf(id, sizeof(id), "unknown");
	id[strcspn(id, "\n")] = '\0';
	return id;
}

void persist_use(struct session *session)
{
	struct db_persisted *kept = &session->kept;

	session->idle_since_ns = clock_boot_ms() * 1000000u;
	kept->used_ms = clock_wall_ms();
	kept->used_boot_ms = clock_boot_ms();
	(void)snprintf(kept->boot, sizeof(kept->boot), "%s", boot_id());
	session->used_since = true;
}

/*
 * For how long nobody has used it. In the same boot that is exact, whatever became of the clock;
 * else the wall clock has to do, and a wrong one ends no session before somebody had a chance.
 */
static uint64_t idle_ms(const struct session *session)
{
	const struct db_persisted *kept = &session->kept;
	const uint64_t wall = clock_wall_ms(), boot = clock_boot_ms();
	const uint64_t limit = session->row.idle_ms;
	uint64_t idle;

	if (strcmp(kept->boot, boot_id()) == 0)
		return boot > kept->used_boot_ms ? boot - kept->used_boot_ms : 0;
	idle = wall > kept->used_ms ? wall - kept->used_ms : 0;
	if (idle + GRACE_MS > limit)
		idle = limit > GRACE_MS ? limit - GRACE_MS : 0;
	return idle;
}

void persist_set_expiry(struct session *session, uint64_t expires_ms)
{
	const uint64_t now = clock_wall_ms();
	const uint64_t left = expires_ms > now ? expires_ms - now : 0;

	session->kept.expires_ms = expires_ms;
	session->expires_ns = expires_ms != 0 ? clock_boot_ms() * 1000000u + left * 1000000u : 0;
}

const char *persist_expired(const struct session *session, uint64_t now_ns)
{
	if (session->expires_ns == 0 || now_ns < session->expires_ns)
		return NULL;
	return "the time that it was given is over";
}

/* ---- one session ---------------------------------------------------------------------------- */

int persist_write(struct session *session, struct err *err)
{
	session->used_since = false;
	return db_persisted_put(session->host->db, session->row.id, &session->kept, err);
}

int persist_add(struct session *session, struct err *err)
{
	session->is_unborn = session->host->transaction_is_open;
	session->unborn_transaction = session->host->transaction;
	transaction_note(session);
	return persist_write(session, err);
}

static bool take_variables(struct db_persisted *kept, const reckon_workspace *changes)
{
	const char *was = kept->variables != NULL ? kept->variables : "";

	if (changes->variables == NULL || strcmp(changes->variables, was) == 0)
		return false;
	free(kept->variables);
	kept->variables = mem_strdup(changes->variables);
	return true;
}

static bool take_not_kept(struct db_persisted *kept, const reckon_workspace *changes)
{
	if (kept->not_kept == changes->not_kept && strcmp(kept->not_kept_why, changes->why) == 0)
		return false;
	kept->not_kept = changes->not_kept;
	(void)snprintf(kept->not_kept_why, sizeof(kept->not_kept_why), "%s", changes->why);
	return true;
}

static int commit_changes(struct session *session, const struct job *job, struct err *err)
{
	const reckon_workspace *changes = job->changes;
	/* Those of a context are in its own row (context_keep()). */
	const bool has_more =
		(int)(job->context == NULL && take_variables(&session->kept, changes)) |
		(int)take_not_kept(&session->kept, changes);

	if (changes->count == 0 && !changes->is_whole && !has_more)
		return 0;
	session->is_uncommitted = true;
	transaction_note(session);
	if (db_files_change(session->host->db, session->row.id, changes, err) < 0)
		return (int)err->code;
	return persist_write(session, err);
}

void persist_job_done(struct session *session, struct job *job)
{
	const bool has_row = session->phase != SESSION_CLOSING || session->is_leaving;
	struct err err;

	if (job->kind != JOB_KEEP)
		persist_use(session);
	if (job->kind == JOB_EXECUTE && job->json != NULL)
		session->parked_sequence++;
	session->ran_since = job->kind == JOB_EXECUTE ||
			     (session->ran_since && job->kind != JOB_KEEP);
	if (job->changes == NULL)
		return;
	/* Of a session that ended meanwhile nothing is kept any more. */
	if (has_row && commit_changes(session, job, &err) < 0)
		transaction_fail(session->host, &err);
}

void persist_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct err err;

	gc_tick(host);
	if (now < host->next_use_ns)
		return;
	host->next_use_ns = now + USE_WRITTEN_NS;
	if (db_begin(host->db, &err) < 0)
		return;
	for (struct session *at = host->sessions; at != NULL; at = at->next) {
		if (!at->used_since || at->phase != SESSION_LIVE)
			continue;
		at->used_since = false;
		if (db_persisted_use(host->db, at->row.id, &at->kept, &err) < 0)
			log_line(LOG_WARN, "a clock could not be kept", "session=%s why=\"%s\"",
				 at->row.id, err.text);
	}
	if (db_commit(host->db, &err) < 0)
		log_line(LOG_WARN, "clocks could not be kept", "why=\"%s\"", err.text);
}

/* ---- start, stop ---------------------------------------------------------------------------- */

static int revive(const struct db_session *row, void *arg, struct err *err)
{
	struct host *host = arg;
	struct tenant *tenant = tenant_find(host, row->tenant);
	struct db_persisted kept;
	struct session *session;
	int found;

	if (tenant == NULL) {
		audit_note(host, "session.end", row->id, "closed", "%s", "its tenant was deleted");
		return db_session_end(host->db, row->id, "closed", "its tenant was deleted", err);
	}
	found = db_persisted_find(host->db, row->id, &kept, err);
	if (found <= 0)
		return found;
	session = session_add(host, tenant, &row->limits);
	db_persisted_done(&session->kept);
	session->kept = kept;
	session->row = *row;
	session->row.metadata = row->metadata != NULL ? mem_strdup(row->metadata) : NULL;
	session->row.tools = row->tools != NULL ? mem_strdup(row->tools) : NULL;
	session_index(session);
	db_name_of(host->db, row->id, session->name);
	session->is_parked = true;
	session->phase = SESSION_LIVE;
	session->idle_since_ns = clock_boot_ms() * 1000000u - idle_ms(session) * 1000000u;
	persist_set_expiry(session, kept.expires_ms);
	if (context_revive(session, err) < 0 ||
	    db_last_sequence(host->db, row->id, &session->sequence, err) < 0)
		return (int)err->code;
	session->parked_sequence = session->sequence;
	folders_again(session);
	return 0;
}

static void why_lost(struct host *host, char *ret, size_t size)
{
	char stopped_at[CLOCK_RFC3339_SIZE];

	db_note_read(host->db, "stopped_at", stopped_at, sizeof(stopped_at));
	clock_rfc3339_now(host->started_at);
	if (stopped_at[0] != '\0')
		(void)snprintf(ret, size, "the daemon was stopped at %s and started again at %s",
			       stopped_at, host->started_at);
	else
		(void)snprintf(ret, size, "the daemon ended without a word (a crash, or it was "
			       "killed) and was started again at %s", host->started_at);
}

static int tell_lost(const char *session, const char *tenant, const char *why, void *arg,
		     struct err *err)
{
	struct host *host = arg;
	int code;

	(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s", tenant);
	code = audit_add(host, "session.end", session, "lost", err, "%s", why);
	host->about.tenant[0] = '\0';
	return code;
}

int persist_revive(struct host *host, struct err *err)
{
	struct db_recovered recovered = { 0 };
	char why[DB_WHY_SIZE];

	why_lost(host, why, sizeof(why));
	if (host->config.durability != 0)
		db_relax(host->db);
	else if (fsync(host->state_fd) < 0)
		return err_sys(err, "sync the state directory");
	db_log_begin(host->db);
	if (db_recover(host->db, why, tell_lost, host, &recovered, err) < 0 ||
	    db_note(host->db, "stopped_at", "", err) < 0 ||
	    db_live_list(host->db, revive, host, err) < 0 || db_sync(host->db, err) < 0)
		return (int)err->code;
	if (recovered.executions > 0)
		audit_note(host, "execution.lost", "", "lost", "count=%d %s", recovered.executions,
			   why);
	if (recovered.processes > 0)
		audit_note(host, "process.lost", "", "lost", "count=%d %s", recovered.processes,
			   why);
	if (recovered.runs > 0)
		audit_note(host, "agent.lost", "", "lost", "count=%d %s", recovered.runs, why);
	if (recovered.lost > 0)
		log_line(LOG_WARN, "sessions of an earlier version are lost", "count=%d",
			 recovered.lost);
	if (host->session_count > 0)
		log_line(LOG_INFO, "sessions of an earlier run are there", "count=%u why=\"%s\"",
			 host->session_count, why);
	file_mounts_sweep(host);
	return 0;
}

void persist_stop(struct host *host)
{
	char now[CLOCK_RFC3339_SIZE];
	struct err err;

	clock_rfc3339_now(now);
	if (host->db != NULL &&
	    (db_note(host->db, "stopped_at", now, &err) < 0 || db_sync(host->db, &err) < 0))
		log_line(LOG_WARN, "the end could not be kept", "why=\"%s\"", err.text);
}
