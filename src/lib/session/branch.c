/*
 * branch.c - creates a session as a copy of a live, idle one.
 *
 * Runs in:  libreckon.
 * Reads:    the warden's reply.
 * Never:    copies a session during an execution.
 */
#include "lib/session/branch.h"

#include <string.h>

#include "lib/api.h"
#include "lib/session/session.h"

#define BRANCH_TIMEOUT_MS 60000

static int branch(struct reckon_session *parent, struct reckon_session **ret, struct err *err)
{
	struct warden_request request;
	struct reckon_session *session;
	struct client_call call;

	if (session_check_kernel(parent, err) < 0)
		return (int)err->code;
	if (parent->state != KERNEL_STATE_IDLE)
		return err_set(err, ERR_INVALID, "only an idle session can be branched");
	request = session_request(parent, WARDEN_BRANCH);
	if (client_ask(parent->client, &request, NULL, 0, &call, BRANCH_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	session = session_new(parent->engine, parent->client);
	session->limits = parent->limits;
	session->requested = parent->requested;
	session->sequence = parent->sequence;
	shared_set_sequence(session->shared, shared_sequence(parent->shared));
	session->warden.open_flags = parent->warden.open_flags;
	/* The copied kernel has seen these numbers, so they must not be used again. */
	session->next_request = parent->next_request;
	session->language = parent->language;
	memcpy(session->template_name, parent->template_name, sizeof(session->template_name));
	if (session_adopt(session, &call, err) < 0 ||
	    buf_add(&session->configured, parent->configured.data, parent->configured.len, err) <
		    0 ||
	    shared_look(session->shared, session->workspace, err) < 0) {
		session_free(session);
		return (int)err->code;
	}
	for (size_t i = 0; i < parent->known.count; i++)
		known_add(&session->known, parent->known.name[i], strlen(parent->known.name[i]));
	session->state = KERNEL_STATE_IDLE;
	session_link(session);
	*ret = session;
	return 0;
}

int session_branch(struct reckon_session *parent, struct reckon_session **ret, reckon_error *err)
{
	struct err inner;

	if (branch(parent, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
