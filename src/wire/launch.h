/*
 * launch.h - how a warden that a service manager starts learns what it is to be.
 *
 * A warden that its first client forks is in that client's control group and ends with it, or keeps
 * the group from being used again. So where a service manager is to start wardens in groups of their
 * own it listens on a socket (RECKON_WARDEN_SOCKET, packaging/systemd/reckon-warden.socket) and
 * starts `reckon-warden --request-fd N` for each connection. The client sends one struct
 * launch_request with one descriptor, the socket on which the new warden is to listen; the warden
 * answers with one struct err, whose code is ERR_OK when it serves, and closes the connection.
 */
#pragma once

#include <stdint.h>

#define LAUNCH_VERSION 1u
#define LAUNCH_PATH_SIZE 512
#define LAUNCH_WORD_SIZE 40

struct launch_request {
	uint32_t version;
	uint32_t idle_seconds;
	char template_dir[LAUNCH_PATH_SIZE];
	/* RECKON_LOG and RECKON_ROTATE of the client; "": not set. */
	char log[LAUNCH_WORD_SIZE];
	char rotate[LAUNCH_WORD_SIZE];
};
