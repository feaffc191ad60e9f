/*
 * lease.c - leases: secrets with which a client finds a session that lost its connection.
 *
 * Runs in:  the warden.
 * Reads:    leases of clients, which are of the same user.
 * Never:    answers a wrong lease differently from an unknown one.
 */
#include "box/sessions/lease.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/state.h"

#define BUSY_MAX 1024u

/* Takes the same time wherever the keys differ. */
static bool is_equal(const uint8_t left[WARDEN_LEASE_SIZE], const uint8_t right[WARDEN_LEASE_SIZE])
{
	volatile uint8_t differ = 0;

	for (size_t i = 0; i < WARDEN_LEASE_SIZE; i++)
		differ = (uint8_t)(differ | (left[i] ^ right[i]));
	return differ == 0;
}

/* Compares with all sessions, so that the time does not tell which one has the lease. */
struct session *lease_find(const struct warden *warden, const uint8_t key[WARDEN_LEASE_SIZE])
{
	struct session *found = NULL;

	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *at = warden->sessions[i];

		if (at == NULL || at->state == SESSION_DYING || !at->lease.is_set)
			continue;
		if (is_equal(at->lease.key, key))
			found = at;
	}
	return found;
}

bool lease_is_zero(const uint8_t key[WARDEN_LEASE_SIZE])
{
	static const uint8_t zero[WARDEN_LEASE_SIZE];

	return is_equal(key, zero);
}

void lease_forget(struct session *session)
{
	explicit_bzero(session->lease.key, sizeof(session->lease.key));
	session->lease.is_set = false;
	session->lease.seconds = 0;
}

/* ---- of a context --------------------------------------------------------------------------- */

int lease_set_kernel(struct box_kernel *kernel, const struct warden_lease *requested,
		     struct err *err)
{
	struct kernel_lease *lease = &kernel->lease;

	lease_forget_kernel(kernel);
	if (requested->seconds == 0)
		return 0;
	if (kernel->place == 0 || lease_is_zero(requested->key))
		return err_set(err, ERR_INVALID, "a lease that nobody could have");
	memcpy(lease->key, requested->key, sizeof(lease->key));
	lease->is_set = true;
	return 0;
}

void lease_forget_kernel(struct box_kernel *kernel)
{
	explicit_bzero(&kernel->lease, sizeof(kernel->lease));
}

bool lease_keeps_kernel(const struct box_kernel *kernel)
{
	return kernel->lease.is_set && kernel->is_up && !kernel->used.is_running;
}

int lease_find_kernel(const struct session *session, const struct warden_lease *shown,
		      struct box_kernel **ret, struct err *err)
{
	*ret = NULL;
	for (size_t i = 1; i < WARDEN_KERNELS_MAX; i++) {
		struct box_kernel *at = session->kernels[i];

		if (at != NULL && at->conn == NULL && lease_keeps_kernel(at) &&
		    is_equal(at->lease.key, shown->key))
			*ret = at;
	}
	if (*ret == NULL)
		return err_set(err, ERR_NOT_FOUND, "no kernel waits for this lease");
	return 0;
}

/* ---- the workspace -------------------------------------------------------------------------- */

int lease_busy(struct session *session, bool is_busy, struct err *err)
{
	struct lease *lease = &session->lease;

	if (is_busy ? lease->busy >= BUSY_MAX : lease->busy == 0)
		return err_set(err, ERR_INVALID, "a change of the workspace that cannot be");
	lease->busy += is_busy ? 1u : -1u;
	return 0;
}

void lease_leave_frozen(struct warden *warden, struct session *session)
{
	warden->frozen_count--;
	warden->idle_since = clock_mono_ns();
	free(TAKE_PTR(session->lease.still));
}

void lease_drop(struct warden *warden, struct session *session)
{
	/* Its tasks need not be resumed: they got SIGKILL, which also ends a task that is stopped
	 * by tracing. */
	if (session->state == SESSION_FROZEN)
		lease_leave_frozen(warden, session);
	lease_forget(session);
}

/* ---- what ran ------------------------------------------------------------------------------- */

void lease_note_ran(struct box_kernel *kernel)
{
	struct lease *lease = &kernel->session->lease;

	memcpy(lease->ran[lease->next].id, kernel->execution, WARDEN_EXECUTION_SIZE);
	lease->ran[lease->next].is_used = true;
	lease->next = (lease->next + 1) % WARDEN_RAN_MAX;
}

void lease_fill(const struct session *session, struct warden_adopted *ret)
{
	const struct lease *lease = &session->lease;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < WARDEN_RAN_MAX; i++)
		if (lease->ran[i].is_used)
			memcpy(ret->ran[ret->count++], lease->ran[i].id, WARDEN_EXECUTION_SIZE);
}
