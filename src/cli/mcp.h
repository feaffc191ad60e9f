/*
 * mcp.h - reckon mcp: what its files share.
 *
 *   remote_mcp.c          messages between stdin, stdout and a daemon
 *   remote_mcp_command.c  the command: serve, install, uninstall, doctor
 *   remote_mcp_config.c   the configuration of clients
 */
#pragma once

#include "client/client.h"
#include "client/relay.h"

/* Serves until stdin ends. `session`: the name of the session that calls mean which name none; NULL:
 * one of this process, which ends with it. */
int mcp_serve(struct client *client, const char *session, struct err *err);
