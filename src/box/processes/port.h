/* port.h - lists the TCP ports on which programs in a box listen, and connects to them from
 * outside. */
#pragma once

#include "base/err.h"
#include "box/mount/shell.h"
#include "wire/warden.h"

/*
 * Begins a connection to a port of the box's loopback. *ret_fd is a non-blocking socket in the
 * box's network namespace: its receiver waits for the outcome. ERR_NOT_FOUND if Linux refuses the
 * connection at once, ERR_INVALID for port 0.
 */
int port_connect(struct shell *shell, const struct warden_port *port, int *ret_fd,
		 struct err *err);

/* Lists the listening sockets in the box's network namespace; is_cut if there are too many. */
void port_list(const struct shell *shell, struct warden_ports *ret);
