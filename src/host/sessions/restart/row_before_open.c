/*
 * row_before_open.c - writes a session's row while its box is being opened.
 *
 * Runs in:  reckond's loop.
 * Reads:    a session that is being opened.
 * Never:    leaves the row of a session that could not be opened.
 *
 * Before a new session is answered, its row needs a transaction and a sync. Neither needs the box,
 * so the loop does both while a thread opens it, and the answer waits for whichever takes longer.
 * Until then nobody knows the session's id, and lists leave it out. If the box cannot be opened,
 * the row is removed and the audit says so. So this is done only for a template and language that
 * opened the last time, and for a session from a snapshot: it gets the files before the snapshot
 * can be removed.
 *
 * A crash in between leaves an empty session that no client knows, as a crash between commit and
 * answer always does; it stays until it expires.
 */
#include "host/sessions/restart/row_before_open.h"

#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "host/tenants/usage.h"

static void name_of(const struct session *session, char ret[EARLY_SIZE])
{
	(void)snprintf(ret, EARLY_SIZE, "%s %s", session->row.template_name,
		       session->row.language);
}

void row_before_open_note(const struct session *session)
{
	name_of(session, session->host->sessions.early);
}

void row_before_open_begin(struct session *session)
{
	char name[EARLY_SIZE];
	struct err ignored;

	name_of(session, name);
	/* Without a name libreckon chooses the template. */
	session->transactions.is_early = session->row.template_name[0] != '\0' &&
			    (session->given.snapshot[0] != '\0' ||
			     strcmp(name, session->host->sessions.early) == 0) &&
			    id_new(session->row.id, "se", &ignored) == 0;
	if (!session->transactions.is_early)
		return;
	clock_rfc3339_now(session->row.created_at);
	persist_use(session);
}

void row_before_open_write(struct session *session)
{
	struct host *host = session->host;
	struct err ignored;
	bool is_own;

	if (!session->transactions.is_early)
		return;
	err_clear(&session->transactions.early_failed);
	if (transaction_join(host, &is_own, &ignored) < 0) {
		session->transactions.is_early = false;
		return;
	}
	/*
	 * If the transaction fails later, `early_failed` is set (transaction.c), and the session
	 * ends when its box is open.
	 */
	session->transactions.is_early = session_commit_start(session, &ignored) >= 0;
	transaction_leave(host, is_own, 1); /* the job that opens it */
}

static int undo(struct session *session, const char *why, struct err *err)
{
	struct host *host = session->host;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_persisted_drop(host->db, session->row.id, err);
	if (code >= 0)
		code = db_session_undo(host->db, session->row.id, err);
	if (code >= 0)
		code = audit_add(host, "session.end", session->row.id, "lost", err,
				 "it could not be opened: %s", why);
	return audit_end(host, code, err);
}

void row_before_open_undo(struct session *session, const char *why)
{
	struct err err;

	if (session->transactions.is_early && undo(session, why, &err) < 0)
		transaction_fail(session->host, &err);
	if (session->transactions.is_early)
		usage_unopened(session->host, session->tenant);
	session->transactions.is_early = false;
	session->row.id[0] = '\0'; /* the session never existed */
}
