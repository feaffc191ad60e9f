/* private.h - a daemon of one user, on a socket of its own. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct host;

/*
 * Sessions and history of a private daemon are below STATE/private, beside those of a `reckon
 * serve`; artifacts are shared. Adds to `dir`, replaces host->place.state_fd.
 */
int private_state(struct host *host, char *dir, size_t size, struct err *err);
int private_listen(struct host *host, struct err *err);
void private_tick(struct host *host);  /* ends a private daemon that nobody needs */
void private_leave(struct host *host); /* takes the socket's name away */
