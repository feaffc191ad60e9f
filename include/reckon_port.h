/*
 * reckon_port.h - libreckon: connects to TCP ports in a session's box.
 *
 * An addition to reckon.h, with the same rules.
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
 * Connects to the port (1 to 65535) of the box's loopback: 127.0.0.1, and ::1 if nothing listens
 * there. No other address can be reached, and the box gets nothing but the connection. Waits for at
 * most `timeout_ms`: RECKON_ENOT_FOUND if nothing listens, RECKON_ETIMEOUT if the listener does not
 * accept. With 0 it does not wait for the listener: *ret becomes writable when it is connected.
 *
 * *ret is non-blocking; the caller closes it. It remains open when the session is closed, and is
 * then disconnected. Data from it is untrusted.
 *
 * Can be called while the session executes, and from any thread if the session was opened with
 * RECKON_SESSION_CONCURRENT.
 */
RECKON_PUBLIC int reckon_port_connect(reckon_session *session, unsigned port, int timeout_ms,
				      int *ret, reckon_error *err);

typedef struct reckon_port_entry {
	unsigned port;
	int is_loopback;  /* reckon_port_connect() can reach it */
	char address[48]; /* bind address: "127.0.0.1", "::", … */
} reckon_port_entry;

/* Lists the TCP ports with a listener: returns their number, and writes at most `max` of them to
 * `ret`. At most 256 are found. */
RECKON_PUBLIC int reckon_port_list(reckon_session *session, reckon_port_entry *ret, size_t max,
				   reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
