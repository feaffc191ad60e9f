/*
 * adopt.c - keeps a session frozen for a while after its connection ended, until a client adopts
 * it.
 *
 * Runs in:  the warden.
 * Reads:    leases of clients, which are of the same user; /proc/meminfo.
 * Never:    lets a box run while no client has it, or gives a session or a kernel to two clients.
 *
 * When a connection ends and its session executes nothing, the warden ends what belonged to that
 * client alone (processes, contexts without a lease) and freezes the box. A frozen box keeps its
 * memory, so their number is bounded, and the warden keeps none while the host is short of memory.
 *
 * The connections of one client end one after the other, and a client that adopts a session asks
 * for its contexts afterwards: so a context with a lease may be without a connection for LEFT_NS.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "box/clients/client.h"
#include "box/processes/process.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
#include "box/twin/task_freeze.h"
#include "box/walls/probe.h"

#define SECOND_NS 1000000000ull
#define LEFT_NS (30 * SECOND_NS) /* for how long a kernel in an open box may have no client */
#define MEMORY_PART 16u /* at least 1/16 of the host's memory has to be available */

int lease_set(struct warden *warden, struct session *session, const struct warden_lease *requested,
	      struct err *err)
{
	struct session *other;

	if (requested->seconds == 0) {
		lease_forget(session);
		return 0;
	}
	if (requested->seconds > WARDEN_LEASE_SECONDS_MAX || lease_is_zero(requested->key))
		return err_set(err, ERR_INVALID, "a lease that nobody could have");
	if (warden->single_client)
		return err_set(err, ERR_INVALID, "a private warden ends with its client");
	other = lease_find(warden, requested->key);
	/* The client that knows the lease has another box for its session by now. */
	if (other != NULL && other != session && other->state == SESSION_FROZEN)
		session_end(warden, other);
	else if (other != NULL && other != session)
		return err_set(err, ERR_INVALID, "another session has this lease");
	memcpy(session->lease.key, requested->key, sizeof(session->lease.key));
	session->lease.seconds = requested->seconds;
	session->lease.is_set = true;
	return 0;
}

/* ---- a context without its client ----------------------------------------------------------- */

static void leave(struct warden *warden, struct box_kernel *kernel, uint64_t now)
{
	kernel->conn = NULL;
	kernel->lease.ends_ns = now + LEFT_NS;
	if (warden->left_due_ns == 0 || kernel->lease.ends_ns < warden->left_due_ns)
		warden->left_due_ns = kernel->lease.ends_ns;
}

bool lease_leave_kernel(struct warden *warden, struct box_kernel *kernel)
{
	const struct session *session = kernel->session;

	if (!session->lease.is_set || session->state != SESSION_OPEN || warden->stopping ||
	    !lease_keeps_kernel(kernel))
		return false;
	leave(warden, kernel, clock_mono_ns());
	return true;
}

/* Ends kernels that no client adopted in time; those of a frozen box wait with it. */
static void end_left(struct warden *warden, uint64_t now)
{
	uint64_t due = 0;

	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *session = warden->sessions[i];

		for (size_t k = 1; session != NULL && k < WARDEN_KERNELS_MAX; k++) {
			struct box_kernel *at = session->kernels[k];

			if (session->state != SESSION_OPEN || at == NULL || at->conn != NULL ||
			    at->lease.ends_ns == 0)
				continue;
			if (at->lease.ends_ns <= now)
				context_remove(warden, at);
			else if (due == 0 || at->lease.ends_ns < due)
				due = at->lease.ends_ns;
		}
	}
	warden->left_due_ns = due;
}

/* ---- frozen --------------------------------------------------------------------------------- */

static bool is_memory_short(void)
{
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long total = 0, available = 0;
	char line[128];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "MemTotal:", 9) == 0)
			total = strtoull(line + 9, NULL, 10);
		else if (strncmp(line, "MemAvailable:", 13) == 0)
			available = strtoull(line + 13, NULL, 10);
	}
	return available < total / MEMORY_PART;
}

/* Why the session cannot wait to be adopted, or NULL. */
static const char *why_not(const struct warden *warden, const struct session *session)
{
	if (session->state != SESSION_OPEN || session->init_reaped || !session->kernels[0]->is_up)
		return "its kernel has ended";
	if (session->lease.busy > 0)
		return "its workspace was being changed";
	if (session->frozen != NULL)
		return "it is paused";
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL && session->kernels[i]->used.is_running)
			return "an execution ran in it";
	if (warden->frozen_count >= STATE_FROZEN_MAX)
		return "too many boxes wait already";
	return is_memory_short() ? "the host is short of memory" : NULL;
}

/* Ends processes and contexts without a lease: the next client does not know them, and they might
 * be in the middle of something. */
static void end_unleased(struct warden *warden, struct session *session)
{
	struct box_process *next;

	client_forget_session(warden, session);
	for (size_t i = 1; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL && !lease_keeps_kernel(session->kernels[i]))
			context_remove(warden, session->kernels[i]);
	for (struct box_process *at = session->processes; at != NULL; at = next) {
		next = at->next;
		if (at->state != PROCESS_RELEASED)
			process_release(warden, at);
	}
}

bool lease_freeze(struct warden *warden, struct session *session)
{
	struct lease *lease = &session->lease;
	const char *why = NULL;
	struct err err;

	if (!lease->is_set || warden->stopping)
		return false;
	why = why_not(warden, session);
	if (why == NULL) {
		end_unleased(warden, session);
		lease->still = mem_new0(1, sizeof(*lease->still));
		if (task_freeze_soon(lease->still, &warden->cgroups, &session->shell, &err) < 0) {
			task_freeze_end(lease->still);
			free(TAKE_PTR(lease->still));
			why = err.text;
		}
	}
	if (why != NULL) {
		log_line(LOG_INFO, "a session does not wait to be adopted", "session=%u why=\"%s\"",
			 session->id, why);
		return false;
	}
	session_leave_conn(session);
	session->kernels[0]->conn = NULL;
	session->kernels[0]->end.is_unreported = false;
	session->state = SESSION_FROZEN;
	lease->ends_ns = clock_mono_ns() + lease->seconds * SECOND_NS;
	if (warden->frozen_count++ == 0 || lease->ends_ns < warden->frozen_due_ns)
		warden->frozen_due_ns = lease->ends_ns;
	log_line(LOG_INFO, "a session waits to be adopted", "session=%u seconds=%u", session->id,
		 lease->seconds);
	return true;
}

void lease_tick(struct warden *warden)
{
	uint64_t now, due = UINT64_MAX;

	if (warden->frozen_count == 0 && warden->left_due_ns == 0)
		return;
	now = clock_mono_ns();
	if (warden->left_due_ns != 0 && now >= warden->left_due_ns)
		end_left(warden, now);
	if (warden->frozen_count == 0 || now < warden->frozen_due_ns)
		return;
	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *at = warden->sessions[i];

		if (at == NULL || at->state != SESSION_FROZEN)
			continue;
		if (at->lease.ends_ns <= now) {
			log_line(LOG_INFO, "nobody adopted a session", "session=%u", at->id);
			session_end(warden, at);
		} else if (at->lease.ends_ns < due) {
			due = at->lease.ends_ns;
		}
	}
	warden->frozen_due_ns = due;
}

/* ---- adopted -------------------------------------------------------------------------------- */

static bool has_hung_up(const struct conn *conn)
{
	struct pollfd wait = { .fd = conn->watch.fd, .events = POLLRDHUP };

	return poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

static int find_frozen(struct warden *warden, const struct conn *conn,
		       const struct warden_lease *shown, struct session **ret, struct err *err)
{
	struct session *found = lease_is_zero(shown->key) ? NULL : lease_find(warden, shown->key);

	/* Its client has just hung up, and the warden has not handled that event yet. */
	if (found != NULL && found->state == SESSION_OPEN && found->conn != conn &&
	    has_hung_up(found->conn)) {
		client_drop(warden, found->conn);
		found = lease_find(warden, shown->key);
	}
	if (found == NULL || found->state != SESSION_FROZEN)
		return err_set(err, ERR_NOT_FOUND, "no session waits for this lease");
	*ret = found;
	return 0;
}

int lease_adopt(struct warden *warden, const struct conn *conn, const struct warden_lease *shown,
		struct session **ret, struct err *err)
{
	struct session *session = NULL;

	if (find_frozen(warden, conn, shown, &session, err) < 0 || session == NULL)
		return (int)err->code;
	/* As in answer_open(): a strict client gets no session that lacks a wall. */
	if (conn->strict && probe_strict(warden, err) < 0)
		return (int)err->code;
	if (conn->strict && session->unheld != 0)
		return err_set(err, ERR_UNAVAILABLE, "a wall of the session is missing");
	if (session->init_reaped || !session->kernels[0]->is_up) {
		session_end(warden, session);
		return err_set(err, ERR_NOT_FOUND, "no session waits for this lease");
	}
	task_freeze_end(session->lease.still);
	lease_leave_frozen(warden, session);
	session->state = SESSION_OPEN;
	for (size_t i = 1; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL)
			leave(warden, session->kernels[i], clock_mono_ns());
	log_line(LOG_INFO, "a session was adopted", "session=%u", session->id);
	*ret = session;
	return 0;
}
