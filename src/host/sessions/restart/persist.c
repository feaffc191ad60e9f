/*
 * persist.c - stores what restores a session after a restart: manifests and clocks.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back, the database, the clocks.
 * Never:    ends a session because the wall clock was set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"

#define USE_WRITTEN_NS (30ull * 1000000000u)
#define GRACE_MS 60000u /* minimum time that is left after a reboot */

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
	struct db_persisted *persisted = &session->persisted;

	session->clock.idle_since_ns = clock_boot_ms() * 1000000u;
	persisted->used_ms = clock_wall_ms();
	persisted->used_boot_ms = clock_boot_ms();
	(void)snprintf(persisted->boot, sizeof(persisted->boot), "%s", boot_id());
	session->clock.used_since = true;
}

bool persist_is_of_this_boot(const struct session *session)
{
	return strcmp(session->persisted.boot, boot_id()) == 0;
}

/*
 * How long the session has been idle. Exact within one boot. After a reboot only the wall clock is
 * left; it may be wrong, so a session gets at least GRACE_MS before it expires.
 */
uint64_t persist_idle_ms(const struct session *session)
{
	const struct db_persisted *persisted = &session->persisted;
	const uint64_t wall = clock_wall_ms(), boot = clock_boot_ms();
	const uint64_t limit = session->row.idle_ms;
	uint64_t idle;

	if (strcmp(persisted->boot, boot_id()) == 0)
		return boot > persisted->used_boot_ms ? boot - persisted->used_boot_ms : 0;
	idle = wall > persisted->used_ms ? wall - persisted->used_ms : 0;
	if (idle + GRACE_MS > limit)
		idle = limit > GRACE_MS ? limit - GRACE_MS : 0;
	return idle;
}

void persist_set_expiry(struct session *session, uint64_t expires_ms)
{
	const uint64_t now = clock_wall_ms();
	const uint64_t left = expires_ms > now ? expires_ms - now : 0;

	session->persisted.expires_ms = expires_ms;
	session->clock.expires_ns =
		expires_ms != 0 ? clock_boot_ms() * 1000000u + left * 1000000u : 0;
}

const char *persist_expired(const struct session *session, uint64_t now_ns)
{
	if (session->clock.expires_ns == 0 || now_ns < session->clock.expires_ns)
		return NULL;
	return "the time that it was given is over";
}

/* ---- one session ---------------------------------------------------------------------------- */

int persist_write(struct session *session, struct err *err)
{
	session->clock.used_since = false;
	return db_persisted_put(session->host->db, session->row.id, &session->persisted, err);
}

int persist_add(struct session *session, struct err *err)
{
	session->transactions.is_unborn = session->host->transactions.is_open;
	session->transactions.birth = session->host->transactions.current;
	transaction_note(session);
	return persist_write(session, err);
}

static bool take_variables(struct db_persisted *persisted, const reckon_workspace *changes)
{
	const char *was = persisted->variables != NULL ? persisted->variables : "";

	if (changes->variables == NULL || strcmp(changes->variables, was) == 0)
		return false;
	free(persisted->variables);
	persisted->variables = mem_strdup(changes->variables);
	return true;
}

static bool take_unsaved(struct db_persisted *persisted, const reckon_workspace *changes)
{
	if (persisted->unsaved_count == changes->not_kept &&
	    strcmp(persisted->unsaved_why, changes->why) == 0)
		return false;
	persisted->unsaved_count = changes->not_kept;
	(void)snprintf(persisted->unsaved_why, sizeof(persisted->unsaved_why), "%s", changes->why);
	return true;
}

static int commit_changes(struct session *session, const struct job *job, struct err *err)
{
	const reckon_workspace *changes = job->result.changes;
	/* Variables of a context are in its own row (context_keep()). */
	const bool has_more =
		(int)(job->context == NULL && take_variables(&session->persisted, changes)) |
		(int)take_unsaved(&session->persisted, changes);

	if (changes->count == 0 && !changes->is_whole && !has_more)
		return 0;
	session->transactions.is_uncommitted = true;
	transaction_note(session);
	if (db_files_change(session->host->db, session->row.id, changes, err) < 0)
		return (int)err->code;
	return persist_write(session, err);
}

void persist_job_done(struct session *session, struct job *job)
{
	const bool has_row = !life_has_ended(session->life);
	struct err err;

	/* A KEEP job is not a use, because no client asked for it. */
	if (job->kind != JOB_KEEP)
		persist_use(session);
	if (job->kind == JOB_EXECUTE && job->result.json != NULL)
		session->box.parked_sequence++;
	session->looks.ran_since = job->kind == JOB_EXECUTE ||
			     (session->looks.ran_since && job->kind != JOB_KEEP);
	if (job->result.changes == NULL)
		return;
	/* An ended session has no state in the database any more. */
	if (has_row && commit_changes(session, job, &err) < 0)
		transaction_fail(session->host, &err);
}

void persist_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct err err;

	gc_tick(host);
	if (now < host->sessions.next_use_ns)
		return;
	host->sessions.next_use_ns = now + USE_WRITTEN_NS;
	if (db_begin(host->db, &err) < 0)
		return;
	for (struct session *at = host->sessions.first; at != NULL; at = at->next) {
		if (!at->clock.used_since || !life_is_live(at->life))
			continue;
		at->clock.used_since = false;
		if (db_persisted_use(host->db, at->row.id, &at->persisted, &err) < 0)
			log_line(LOG_WARN, "a clock could not be kept", "session=%s why=\"%s\"",
				 at->row.id, err.text);
	}
	if (db_commit(host->db, &err) < 0)
		log_line(LOG_WARN, "clocks could not be kept", "why=\"%s\"", err.text);
}
