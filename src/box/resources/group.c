/*
 * group.c - groups of sessions that share processor time as if they were one.
 *
 * Runs in:  the warden.
 * Reads:    what server.c has checked.
 * Never:    refuses a session because this host cannot enforce its share; walls/probe.c reports
 *           that.
 *
 * A group lives as long as it has a session. Its cgroup is named by a number instead of the group's
 * name, because a box can read the name of its own cgroup.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "box/resources/resource.h"
#include "box/state.h"
#include "wire/kernel.h"

static struct cgroup_share share_of(const struct warden_group *requested)
{
	return (struct cgroup_share){ requested->weight > 0 ? requested->weight : CGROUP_WEIGHT,
				      requested->cpu_percent };
}

static struct group *find(struct warden *warden, const char *name)
{
	for (struct group *at = warden->groups; at != NULL; at = at->next)
		if (strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

static void drop(struct warden *warden, struct group *group)
{
	struct group **at = &warden->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	if (group->prepared_fd >= 0)
		(void)close(group->prepared_fd);
	cgroup_group_remove(&warden->cgroups, group->dir);
	free(group);
}

uint32_t group_cap(const struct session *session)
{
	const uint32_t own = session->limits.cpu_percent;
	const uint32_t all = session->group != NULL ? session->group->share.percent : 0;

	return own == 0 || (all > 0 && all < own) ? all : own;
}

/* v1 rejects a box's limit above its group's, so boxes are lowered before the group and raised
 * after it. */
static int cap_members(struct warden *warden, const struct group *group, struct err *err)
{
	for (size_t i = 0; i < warden->slot_count; i++) {
		const struct session *at = warden->sessions[i];

		if (at != NULL && at->group == group && at->state == SESSION_OPEN &&
		    at->limits.cpu_percent > 0 &&
		    cgroup_group_limit_box(&warden->cgroups, at->shell.name, group_cap(at), err) <
			    0)
			return (int)err->code;
	}
	return 0;
}

static int apply(struct warden *warden, struct group *group, const struct cgroup_share *share,
		 struct err *err)
{
	const struct cgroup_share before = group->share;
	const bool is_other = share->percent != before.percent;
	const bool is_less = share->percent > 0 &&
			     (before.percent == 0 || share->percent < before.percent);
	int code = 0;

	if (share->weight == before.weight && !is_other)
		return 0;
	group->share = *share;
	if (is_less)
		code = cap_members(warden, group, err);
	if (code == 0)
		code = cgroup_group_share(&warden->cgroups, group->dir, share, err);
	if (code == 0 && is_other && !is_less)
		code = cap_members(warden, group, err);
	if (code < 0)
		group->share = before;
	return code;
}

/* NULL on failure. */
static struct group *make(struct warden *warden, const char *name, struct err *err)
{
	struct group *group = mem_new0(1, sizeof(*group));

	memcpy(group->name, name, sizeof(group->name));
	(void)snprintf(group->dir, sizeof(group->dir), "group-%u", ++warden->next_group);
	group->prepared_fd = -1;
	group->next = warden->groups;
	warden->groups = group;
	if (cgroup_group_create(&warden->cgroups, group->dir, err) < 0) {
		drop(warden, group);
		return NULL;
	}
	log_line(LOG_INFO, "group made", "name=%s cgroup=%s", group->name, group->dir);
	return group;
}

/* v1: makes a kernel that ran before its session entered the group join the group's cgroup. Kernels
 * that start later are born in it. */
static int send_cgroup_join(struct warden *warden, const struct session *session, int prepared,
			    struct err *err)
{
	const struct box_kernel *kernel = session->kernels[0];
	cleanup_fd int tasks_fd = prepared;

	if (kernel->control_host < 0 || kernel->made.kernel <= 0)
		return 0;
	if (tasks_fd < 0 &&
	    cgroup_group_join(&warden->cgroups, session->shell.name, &tasks_fd, err) < 0)
		return (int)err->code;
	return tasks_fd < 0 ? 0
			    : kernel_send(kernel->control_host, KERNEL_CGROUP_JOIN, 0, NULL,
					  &tasks_fd, 1, err);
}

static int join(struct warden *warden, struct session *session, struct group *group,
		struct err *err)
{
	struct cgroup_host *host = &warden->cgroups;
	char *name = session->shell.name;
	const size_t size = sizeof(session->shell.name);
	int tasks_fd = TAKE_FD(group->prepared_fd);

	group->was_tried = false;
	if (tasks_fd >= 0 && cgroup_group_enter_prepared(host, group->dir, name, size) < 0)
		(void)close(TAKE_FD(tasks_fd));
	if (tasks_fd < 0 && cgroup_group_enter(host, group->dir, name, size, err) < 0)
		return (int)err->code;
	/* On v2 the box has a new cgroup now, which was neither measured nor limited yet. */
	if (host->kind == CGROUP_V2)
		session->is_limited = session->kernels[0]->used.is_measured = false;
	session->group = group;
	group->count++;
	return send_cgroup_join(warden, session, tasks_fd, err);
}

bool group_prepare(struct warden *warden)
{
	for (struct group *at = warden->groups; at != NULL; at = at->next) {
		if (at->was_tried)
			continue;
		at->was_tried = true;
		at->prepared_fd = cgroup_group_prepare(&warden->cgroups, at->dir);
		return true;
	}
	return false;
}

int group_enter(struct warden *warden, struct session *session,
		const struct warden_group *requested, struct err *err)
{
	const struct cgroup_share share = share_of(requested);
	struct group *group;
	int code = 0;

	if (requested->name[0] == '\0' || !cgroup_has_groups(&warden->cgroups))
		return 0;
	group = find(warden, requested->name);
	if (group == NULL)
		group = make(warden, requested->name, err);
	if (group == NULL)
		return (int)err->code;
	code = apply(warden, group, &share, err);
	if (code == 0)
		code = join(warden, session, group, err);
	if (group->count == 0)
		drop(warden, group);
	return code < 0 ? err_wrap(err, "a group of sessions") : 0;
}

int group_follow(struct warden *warden, struct session *session, const struct session *parent,
		 struct err *err)
{
	return parent->group != NULL ? join(warden, session, parent->group, err) : 0;
}

void group_leave(struct warden *warden, struct session *session)
{
	struct group *group = session->group;

	session->group = NULL;
	if (group != NULL && --group->count == 0)
		drop(warden, group);
}

int group_change(struct warden *warden, const struct warden_group *requested, struct err *err)
{
	const struct cgroup_share share = share_of(requested);
	struct group *group = find(warden, requested->name);

	return group != NULL ? apply(warden, group, &share, err) : 0;
}
