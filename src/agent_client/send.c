/*
 * send.c - one frame to the agent.
 *
 * Runs in:  whoever has a model asked.
 * Reads:    nothing.
 * Never:    waits for the agent: one that does not read what it is told is given up.
 */
#include "agent_client/inner.h"

int agent_client_send(struct agent_client *talk, enum agent_type type, uint64_t id,
		  const struct buf *payload, struct err *err)
{
	if (agent_send(talk->sock, type, id, payload, err) == 0)
		return 0;
	/* Few frames are ever under way, and they fit into its socket together. */
	if (err->code == ERR_TIMEOUT)
		return err_set(err, ERR_PROTOCOL, "reckon-agent does not read what it is told");
	return err_wrap(err, "reckon-agent");
}
