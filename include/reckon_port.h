/*
 * reckon_port.h - libreckon: what listens on a TCP port in a session's box, reached from outside.
 *
 * As reckon.h, which has the rest.
 *
 *   reckon_port_connect(session, 8501, 5000, &fd, &err);   then read(), write(), close() fd
 */
#ifndef RECKON_PORT_H
#define RECKON_PORT_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A connection to the port (1 to 65535) of the box's own loopback: at 127.0.0.1, and at ::1 when
 * nobody is there. Nothing else can be reached, and the box gets nothing but the connection. Waits
 * for at most `timeout_ms`: RECKON_ENOT_FOUND when nothing listens, RECKON_ETIMEOUT when whoever
 * listens does not accept. With 0 it does not wait for the latter: *ret is writable once it is
 * connected.
 *
 * *ret is non-blocking and belongs to the caller. It stays when the session is closed, and then
 * has no other end. What comes from it was written by a program that nobody trusts.
 *
 * May be called while the session executes, from any thread when it was opened with
 * RECKON_SESSION_CONCURRENT.
 */
RECKON_PUBLIC int reckon_port_connect(reckon_session *session, unsigned port, int timeout_ms,
				      int *ret, reckon_error *err);

typedef struct reckon_port_entry {
	unsigned port;
	int is_loopback;  /* reckon_port_connect() reaches it */
	char address[48]; /* to which it is bound: "127.0.0.1", "::", … */
} reckon_port_entry;

/* On which TCP ports something listens: how many, of which up to `max` are written to `ret`. At
 * most 256 are told. */
RECKON_PUBLIC int reckon_port_list(reckon_session *session, reckon_port_entry *ret, size_t max,
				   reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
