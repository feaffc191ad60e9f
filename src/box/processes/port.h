/* port.h - the TCP ports on which something in a box listens, from outside the box. */
#pragma once

#include "base/err.h"
#include "box/mount/shell.h"
#include "wire/warden.h"

/*
 * A socket of the box's network namespace whose connection to one port of the box's own loopback
 * has begun: non-blocking, so that whoever gets it waits for the outcome.
 */
int port_connect(struct shell *shell, const struct warden_port *port, int *ret_fd,
		 struct err *err);

/* Where something listens, as the kernel tells it. */
void port_list(const struct shell *shell, struct warden_ports *ret);
