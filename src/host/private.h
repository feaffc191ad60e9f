/* private.h - the private daemon of one user, with its own socket. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct host;

/*
 * Moves sessions and history of a private daemon to STATE/private, apart from those of a `reckon
 * serve`; artifacts are shared. Appends to `dir` and replaces host->place.state_fd.
 */
int private_state(struct host *host, char *dir, size_t size, struct err *err);
int private_listen(struct host *host, struct err *err);
void private_tick(struct host *host);  /* ends a private daemon that is idle */
void private_leave(struct host *host); /* removes the socket */
