/*
 * session_env.c - the variables that a session was opened with, for a dialect that tells them.
 *
 * Runs in:  reckond's loop.
 * Reads:    the host's own state.
 * Never:    answers a key that could not run code, which reads them as well.
 */
#include <string.h>

#include "base/cleanup.h"
#include "host/calls/call.h"
#include "host/host.h"

void handle_session_env(struct host *host, const struct request *req,
			const struct api_session_env_in *in)
{
	const struct session *session = answer_session_named(host, req, in->session, false);
	cleanup_arena struct arena arena = { 0 };
	const char **items;
	size_t count = 0;

	if (session == NULL)
		return;
	items = arena_new(&arena, FRONT_ENV_MAX, sizeof(*items));
	for (size_t at = 0; at < session->persisted.env.len && count < FRONT_ENV_MAX;
	     at += strlen(session->persisted.env.data + at) + 1)
		items[count++] = session->persisted.env.data + at;
	reply_session_env(host, req->id,
			  &(struct api_session_env_out){ .env = { items, count } });
}
