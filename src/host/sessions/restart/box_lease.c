/*
 * box_lease.c - leases that let the box of a session wait for the next daemon.
 *
 * Runs in:  reckond's loop; box_lease() in a thread of the pool.
 * Reads:    the secret of leases, which does not change.
 * Never:    leases a box that no daemon will adopt.
 */
#include "host/sessions/restart/box_lease.h"

#include <sodium.h>
#include <string.h>

#include "host/host.h"

_Static_assert(crypto_generichash_KEYBYTES_MIN <= 32 && 32 <= crypto_generichash_KEYBYTES_MAX &&
		       crypto_generichash_BYTES_MIN <= RECKON_LEASE_SIZE &&
		       RECKON_LEASE_SIZE <= crypto_generichash_BYTES_MAX,
	       "BLAKE2b takes the secret, and gives a lease");

unsigned box_lease_seconds(const struct session *session)
{
	const struct config *config = &session->host->config;

	/* A private daemon ends because nobody needs it; what was asked for once, or is held by a
	 * request, needs no successor. */
	if (config->is_private || (session->row.policy & DB_POLICY_OURS) != 0)
		return 0;
	return (unsigned)(config->adopt_grace_ms / 1000);
}

void box_lease_key(const struct session *session, const char *id,
		   unsigned char ret[RECKON_LEASE_SIZE])
{
	const unsigned char *secret = session->host->sessions.lease_secret;

	(void)crypto_generichash(ret, RECKON_LEASE_SIZE, (const unsigned char *)id, strlen(id), secret,
				 sizeof(session->host->sessions.lease_secret));
}

void box_lease(const struct job *job)
{
	const struct session *session = job->session;
	reckon_session *handle = job->context != NULL ? job->context->handle : session->box.handle;
	unsigned char key[RECKON_LEASE_SIZE];
	reckon_error ignored; /* the next job notices a lost session */

	if (handle == NULL)
		return;
	/* Uses the handle's id, because a row gets its id only with the answer. */
	box_lease_key(session,
		      job->context != NULL ? reckon_context_id(handle) : reckon_session_id(handle),
		      key);
	(void)reckon_session_lease(handle, key, job->box.lease_seconds, &ignored);
	explicit_bzero(key, sizeof(key));
}
