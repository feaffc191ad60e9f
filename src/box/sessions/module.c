/*
 * module.c - how sessions react to events of other parts.
 *
 * Runs in:  the warden.
 * Reads:    nothing that a client sent.
 * Never:    keeps a session without a client for longer than its lease says.
 */
#include "box/module.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"

static void conn_gone(struct warden *warden, struct conn *conn)
{
	struct session *of = conn->member_of;

	for (size_t i = 0; of != NULL && i < WARDEN_KERNELS_MAX; i++)
		if (of->kernels[i] != NULL && of->kernels[i]->conn == conn &&
		    !lease_leave_kernel(warden, of->kernels[i]))
			context_remove(warden, of->kernels[i]);
	while (conn->sessions != NULL) {
		if (!lease_freeze(warden, conn->sessions))
			session_end(warden, conn->sessions);
		warden->open_sessions--;
	}
}

/* Ends a parked or frozen session: it has no client that could request another kernel. */
static void kernel_ended(struct warden *warden, struct box_kernel *kernel)
{
	struct session *session = kernel->session;

	if (session->state != SESSION_PARKED && session->state != SESSION_FROZEN)
		return;
	if (session->state == SESSION_PARKED)
		session->of->parked = NULL;
	session_end(warden, session);
}

const struct module sessions_module = {
	.conn_gone = conn_gone,
	.zygote_replaced = pool_zygote_replaced,
	.template_dropped = pool_drop,
	.execution_over = lease_note_ran,
	.kernel_ended = kernel_ended,
};
