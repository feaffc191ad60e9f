/*
 * spare.c - network namespaces that boxes use one after the other, and procfs mounts that they
 * share.
 *
 * Runs in:  the warden.
 * Reads:    nothing.
 * Never:    gives a network namespace to two live boxes.
 *
 * A network namespace takes 0.4 ms to make and, later, another 0.4 ms of kernel time to destroy. An
 * ended box leaves only the loopback interface in its own, so the next box joins it. No two live
 * boxes ever share one.
 *
 * Each user namespace has its own /proc/sys/user. Linux keeps all of them that were looked up in
 * one procfs in one list, and walks it three times before it adds a new one: with a thousand boxes
 * that takes a millisecond for each further box. So the boxes are spread over several procfs.
 */
#include <unistd.h>

#include "base/log.h"
#include "box/mount/mount.h"
#include "box/sessions/session.h"
#include "box/state.h"

int spare_take_netns(struct warden *warden)
{
	return warden->netns_count > 0 ? warden->netns_pool[--warden->netns_count] : -1;
}

void spare_keep_netns(struct warden *warden, int fd)
{
	if (fd < 0)
		return;
	if (warden->netns_count < STATE_NETNS_MAX && !warden->stopping)
		warden->netns_pool[warden->netns_count++] = fd;
	else
		(void)close(fd);
}

void spare_make_sysctls(struct warden *warden)
{
	struct err err;

	for (size_t i = 0; i < STATE_SYSCTLS; i++) {
		if (mount_own_sysctl(&warden->sysctl_dirs[i], &err) < 0) {
			log_line(LOG_INFO, "boxes share a procfs", "why=\"%s\"", err.text);
			return;
		}
		warden->sysctl_count++;
	}
}

int spare_sysctl_dir(const struct warden *warden, unsigned slot)
{
	return warden->sysctl_count > 0 ? warden->sysctl_dirs[slot % warden->sysctl_count] : -1;
}
