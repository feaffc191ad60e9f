/*
 * freeze.c - freezes and thaws a session: nothing in its box runs, and its memory is kept.
 *
 * Runs in:  libreckon.
 * Reads:    the warden's reply.
 * Never:    freezes during an execution of this handle, whose time limit would continue.
 */
#include "lib/api.h"
#include "lib/session/session.h"
#include "reckon_keep.h"

#define FREEZE_TIMEOUT_MS 30000

static int ask(struct reckon_session *session, enum warden_type type, struct err *err)
{
	struct warden_request request = { .type = (uint16_t)type,
					  .session = session->warden.number };
	struct client_call call = { 0 };

	if (session->client == NULL)
		return session_check_kernel(session, err);
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	return shared_ask(session->shared, session->client, session->warden.number, &request, &call,
			  FREEZE_TIMEOUT_MS, err);
}

int reckon_session_freeze(reckon_session *session, reckon_error *err)
{
	struct err inner;

	if (ask(session, WARDEN_FREEZE, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_session_thaw(reckon_session *session, reckon_error *err)
{
	struct err inner;

	if (ask(session, WARDEN_THAW, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
