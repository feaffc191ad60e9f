/*
 * revive.c - loads the sessions that an earlier run of the daemon left, without boxes.
 *
 * Runs in:  reckond, at its start and its end.
 * Reads:    the database.
 * Never:    ends a session because the wall clock was set.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/db/log.h"
#include "host/files/file_mounts.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"
#include "host/sessions/folders.h"

static int revive(const struct db_session *row, void *arg, struct err *err)
{
	struct host *host = arg;
	struct tenant *tenant = tenant_find(host, row->tenant);
	struct db_persisted persisted;
	struct session *session;
	int found;

	if (tenant == NULL) {
		audit_note(host, "session.end", row->id, "closed", "%s", "its tenant was deleted");
		return db_session_end(host->db, row->id, "closed", "its tenant was deleted", err);
	}
	found = db_persisted_find(host->db, row->id, &persisted, err);
	if (found <= 0)
		return found;
	session = session_add(host, tenant, &row->limits);
	db_persisted_done(&session->persisted);
	session->persisted = persisted;
	session->row = *row;
	session->row.metadata = row->metadata != NULL ? mem_strdup(row->metadata) : NULL;
	session->row.tools = row->tools != NULL ? mem_strdup(row->tools) : NULL;
	session->row.volumes = row->volumes != NULL ? mem_strdup(row->volumes) : NULL;
	session_index(session);
	db_name_of(host->db, row->id, session->given.name);
	/* After a reboot there are no boxes to adopt. */
	/* The warden keeps no boxes of paused sessions (src/box/sessions/adopt.c). */
	session->box.state = box_lease_seconds(session) > 0 && persist_is_of_this_boot(session) &&
					     persisted.paused_ms == 0
				     ? BOX_LEFT
				     : BOX_PARKED;
	(void)life_move(&session->life, persisted.paused_ms != 0 ? SESSION_PAUSED : SESSION_LIVE,
			session->row.id);
	session->clock.idle_since_ns =
		clock_boot_ms() * 1000000u - persist_idle_ms(session) * 1000000u;
	persist_set_expiry(session, persisted.expires_ms);
	if (context_revive(session, err) < 0 ||
	    db_last_sequence(host->db, row->id, &session->executions.sequence, err) < 0)
		return (int)err->code;
	session->box.parked_sequence = session->executions.sequence;
	folders_again(session);
	return 0;
}

static void why_lost(struct host *host, char *ret, size_t size)
{
	char stopped_at[CLOCK_RFC3339_SIZE];

	db_note_read(host->db, "stopped_at", stopped_at, sizeof(stopped_at));
	clock_rfc3339_now(host->operations.started_at);
	if (stopped_at[0] != '\0')
		(void)snprintf(ret, size, "the daemon was stopped at %s and started again at %s",
			       stopped_at, host->operations.started_at);
	else
		(void)snprintf(ret, size, "the daemon ended without a word (a crash, or it was "
			       "killed) and was started again at %s", host->operations.started_at);
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
	else if (fsync(host->place.state_fd) < 0)
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
	if (host->sessions.count > 0)
		log_line(LOG_INFO, "sessions of an earlier run are there", "count=%u why=\"%s\"",
			 host->sessions.count, why);
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
