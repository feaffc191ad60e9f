/* request.h - what a warden is to be, told by its first client instead of its command line. */
#pragma once

#include "base/err.h"
#include "box/state.h"

/*
 * Takes the struct launch_request (wire/launch.h) that waits on `fd`: the socket to listen on, the
 * folder of templates, the environment.
 */
int request_take(struct warden *warden, int fd, struct err *err);
/* Tells the client whether this warden serves, and closes `fd`; nothing is done when it is -1. */
void request_answer(int fd, const struct err *err);
