/*
 * send.c - sends one frame to the agent.
 *
 * Runs in:  programs that start an agent.
 * Reads:    nothing.
 * Never:    waits for the agent: an agent that does not read its frames is given up.
 */
#include "agent_client/inner.h"

int agent_client_send(struct agent_client *client, enum agent_type type, uint64_t id,
		      const struct buf *payload, struct err *err)
{
	if (agent_send(client->sock, type, id, payload, err) == 0)
		return 0;
	/* The few frames under way fit into the socket, so a full one means a stuck agent. */
	if (err->code == ERR_TIMEOUT)
		return err_set(err, ERR_PROTOCOL, "reckon-agent does not read what it is told");
	return err_wrap(err, "reckon-agent");
}
