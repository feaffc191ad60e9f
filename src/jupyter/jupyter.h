/*
 * jupyter.h - a session of libreckon as a Jupyter kernel: messages over ZeroMQ.
 *
 *   jupyter_connection_read(path, &connection, &err)     the file that a Jupyter client wrote
 *   jupyter_run(session, language, &connection, &err)    serves until a client ends it
 *
 *   connection.c  reads the connection file
 *   wire.c        the parts of a message and their signature; pure
 *   message.c     receives, builds and sends messages
 *   sockets.c     opens the five sockets, and runs the threads of iopub and heartbeat
 *   shell.c       handles shell requests, one after the other
 *   waiting.c     collects requests that came while a cell ran
 *   execute.c     runs cells: events, input, errors
 *   ask.c         kernel info, completion, inspection, history, comms
 *   control.c     interrupts and shutdown, also while a cell runs
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "languages/languages.h"
#include "reckon.h"

#define JUPYTER_KEY_MAX 1024u

struct jupyter_connection {
	char transport[8]; /* "tcp", "ipc" */
	char ip[256];
	unsigned shell_port, iopub_port, stdin_port, control_port, hb_port;
	char key[JUPYTER_KEY_MAX + 1]; /* "": messages are not signed */
};

int jupyter_connection_read(const char *path, struct jupyter_connection *ret, struct err *err);
/* The same for the text of the file. */
int jupyter_connection_parse(const char *text, size_t len, struct jupyter_connection *ret,
			     struct err *err);

int jupyter_run(reckon_session *session, const struct language *language,
		const struct jupyter_connection *connection, struct err *err);
