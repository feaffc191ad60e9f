/*
 * gone.c - answers for a session that has ended or never existed.
 *
 * Runs in:  reckond's loop.
 * Reads:    the database.
 * Never:    tells another tenant about a session.
 */
#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "host/sessions/gone.h"

void session_tell_gone(struct host *host, const struct tenant *tenant, uint64_t request,
		 const char *session_id)
{
	struct db_session row;
	enum api_error error = API_ERR_SESSION_LOST;
	char message[128];
	struct err err;
	int found = db_session_find(host->db, tenant->row.id, session_id, &row, &err);

	if (found < 0) {
		front_fail_err(host, request, &err);
		return;
	}
	if (found == 0 && retain_is_expired(host->config.session_keep_ms, session_id)) {
		(void)snprintf(message, sizeof(message), "session %s is older than what is kept",
			       session_id);
		front_fail(host, request, API_ERR_EXPIRED, message, "session-keep of the daemon",
			   "", 0);
		return;
	}
	if (found == 0) {
		(void)snprintf(message, sizeof(message), "there is no session %s", session_id);
		front_fail(host, request, API_ERR_SESSION_NOT_FOUND, message, "",
			  "create one: POST /reckon/v1/sessions", 0);
		return;
	}
	if (strcmp(row.state, "closed") == 0)
		error = API_ERR_SESSION_CLOSED;
	else if (strcmp(row.state, "expired") == 0)
		error = API_ERR_SESSION_EXPIRED;
	(void)snprintf(message, sizeof(message),
		       "session %s is %s: its variables and files are gone", session_id, row.state);
	if (strcmp(row.state, "live") == 0) {
		/*
		 * The box is being closed, or the end could not be stored yet (session_closed()).
		 */
		error = API_ERR_SESSION_CLOSED;
		(void)snprintf(message, sizeof(message), "session %s has ended", session_id);
	}
	front_fail(host, request, error, message, row.why,
		  "create a new session; its records and the artifacts they name can still be read",
		  0);
	db_session_done(&row);
}
