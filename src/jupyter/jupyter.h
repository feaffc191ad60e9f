/*
 * jupyter.h - a session of libreckon as a Jupyter kernel: messages over ZeroMQ.
 *
 *   jupyter_connection_read(path, &connection, &err)     the file that a Jupyter client wrote
 *   jupyter_run(session, language, &connection, &err)    serves until a client ends it
 *
 *   connection.c  the connection file
 *   wire.c        parts of a message and their signature; pure
 *   message.c     messages as JSON: received, made, sent
 *   sockets.c     the five sockets, and the threads of two of them
 *   shell.c       requests, one after the other
 *   execute.c     cells: events as they come, input, errors
 *   ask.c         completion, inspection, whole cells, comms
 *   control.c     interrupts and the end, also while a cell runs
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
/* Of the file's text. */
int jupyter_connection_parse(const char *text, size_t len, struct jupyter_connection *ret,
			     struct err *err);

int jupyter_run(reckon_session *session, const struct language *language,
		const struct jupyter_connection *connection, struct err *err);
