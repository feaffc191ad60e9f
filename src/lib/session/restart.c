/*
 * restart.c - replaces a session's kernel by a fresh one.
 *
 * Runs in:  libreckon.
 * Reads:    the warden's reply; READY of a kernel.
 * Never:    hides the loss of a kernel that ended by itself: the next record reports it.
 */
#include "lib/api.h"
#include "lib/session/session.h"

#define RESTART_TIMEOUT_MS 120000 /* the same as for opening a session */

/* *ret_is_gone: there is no box for a kernel. */
static int restart(struct reckon_session *session, bool *ret_is_gone, struct err *err)
{
	struct warden_request request = session_request(session, WARDEN_RESTART);
	struct client_call call;
	int code;

	request.context.flags = session->warden.open_flags;
	if (client_ask(session->client, &request, NULL, 0, &call, RESTART_TIMEOUT_MS, err) < 0) {
		*ret_is_gone = err->code == ERR_LOST || err->code == ERR_NOT_FOUND;
		return (int)err->code;
	}
	code = session_adopt_kernel(session, &call, err);
	client_forget(session->client, &call);
	return code < 0 ? code : session_meet(session, err);
}

int session_restart(struct reckon_session *session, struct err *err)
{
	bool is_gone = false;
	struct err why;

	if (session->client == NULL)
		return session_check_kernel(session, err);
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	if (restart(session, &is_gone, err) == 0)
		return 0;
	(void)err_wrap(err, "begin a fresh kernel");
	why = *err;
	if (client_is_dead(session->client, &why) || is_gone) {
		session_lose(session, &why);
		*err = session->lost.why_lost;
	} else {
		session_kill(session, &why);
		err->code = ERR_KERNEL_LOST;
	}
	return (int)err->code;
}

int reckon_session_restart(reckon_session *session, reckon_error *err)
{
	struct err inner;

	if (session_restart(session, &inner) < 0)
		return api_fail(err, &inner);
	/* The caller asked for the restart, so the next record need not report the loss. */
	session->loss.is_unreported = false;
	return api_ok(err);
}
