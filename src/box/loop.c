/*
 * loop.c - adds descriptors to the warden's event loop, and removes them.
 *
 * Runs in:  the warden.
 * Reads:    nothing.
 * Never:    waits for events: main.c does.
 */
#include <sys/epoll.h>

#include "box/state.h"

int watch_add(struct warden *warden, struct watch *watch, uint32_t events, struct err *err)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (epoll_ctl(warden->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0)
		return err_sys(err, "watch a descriptor");
	return 0;
}

void watch_remove(struct warden *warden, struct watch *watch)
{
	if (watch->fd >= 0 && watch->ready != NULL)
		(void)epoll_ctl(warden->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
}
