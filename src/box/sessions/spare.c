/*
 * spare.c - what boxes use one after the other, or share.
 *
 * Runs in:  the warden.
 * Reads:    nothing.
 * Never:    gives a network namespace to two live boxes.
 *
 * Network namespaces are dear to make (0.4 ms) and to destroy (another 0.4 ms of kernel time, later),
 * and an ended box leaves nothing in its own but the loopback interface, so they are kept and
 * joined by the next box. No two live boxes ever share one.
 *
 * Each user namespace has its own /proc/sys/user, and Linux keeps all of those that were looked up
 * in one procfs in one list, which it walks three times to find that a new one is not in it: with a
 * thousand boxes a millisecond for each further one. So each box looks in one of some procfs.
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
