/*
 * cgroup.c - resource limits and accounts of a box, over cgroup v2 and v1/hybrid.
 *
 * Runs in:  the warden.
 * Reads:    /proc/self/cgroup, /proc/self/mountinfo and control files.
 * Never:    fails a session for a limit that this host cannot give: walls/probe.c reports that, and
 *           strict mode refuses.
 *
 * v1: <hierarchy>/<own group>/reckon-<pid>/<box>, in each of memory, pids, cpu, cpuacct, freezer.
 * v2: <own group if delegated to us, else its parent or the top>/reckon-<pid>/<box>/{box,twin}.
 */
#include "box/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/base.h"
#include "box/cgroup/file.h"
#include "box/cgroup/group.h"
#include "box/cgroup/settle.h"

#define CLOSE_TRIES 200 /* 10 ms apart */
#define SOCKETS_MIN (4ull << 20)
#define SOCKETS_MAX (64ull << 20)

static const char *const controller_names[CG_COUNT] = { "memory", "pids", "cpu", "cpuacct",
							"freezer" };

/* ---- finding the hierarchies ------------------------------------------------------------- */

static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
		if ((at == list || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
			return true;
	return false;
}

/* Mount point of the v1 hierarchy with this controller, or of cgroup2 when controller is NULL. */
static bool find_mount(const char *controller, char ret[256])
{
	cleanup_file FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[1024];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char point[256], type[32], options[256];
		char *dash = strstr(line, " - ");

		if (dash == NULL || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
		    sscanf(dash, " - %31s %*s %255s", type, options) != 2)
			continue;
		if (controller == NULL
			    ? strcmp(type, "cgroup2") == 0
			    : strcmp(type, "cgroup") == 0 && list_has(options, controller)) {
			memcpy(ret, point, sizeof(point));
			return true;
		}
	}
	return false;
}

/* Our own group in the hierarchy with this controller ("" for v2), as in /proc/self/cgroup. */
static bool find_own_group(const char *controller, char *ret, size_t size)
{
	cleanup_file FILE *file = fopen("/proc/self/cgroup", "re");
	char line[1024];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *list = strchr(line, ':');
		char *path = list != NULL ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controller[0] == '\0' ? list[1] == '\0' : list_has(list + 1, controller)) {
			(void)snprintf(ret, size, "%s", strcmp(path, "/") == 0 ? "" : path);
			return true;
		}
	}
	return false;
}

static void open_v1(struct cgroup_host *host)
{
	for (int i = 0; i < CG_COUNT; i++) {
		char point[256], own[256];

		if (!find_mount(controller_names[i], point) ||
		    !find_own_group(controller_names[i], own, sizeof(own)))
			continue;
		if (strlen(point) + strlen(own) >= sizeof(host->parent[i]))
			continue;
		(void)snprintf(host->parent[i], sizeof(host->parent[i]), "%.127s%.127s", point,
			       own);
		if (access(host->parent[i], F_OK) < 0)
			/* A cgroup namespace shows paths that do not exist in its own mount. */
			(void)snprintf(host->parent[i], sizeof(host->parent[i]), "%s", point);
		cgroup_base_sweep(host->parent[i], host->name);
		host->base[i] = cgroup_base_make(host, i);
		if (host->base[i] >= 0)
			host->kind = CGROUP_V1;
	}
}

static bool v2_controls(int base, const char *controller)
{
	char text[512] = "";
	cleanup_fd int fd = openat(base, "cgroup.controllers", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *at = text; *at != '\0'; at++)
		if (*at == ' ' || *at == '\n')
			*at = ',';
	return list_has(text, controller);
}

static void adopt_v2(struct cgroup_host *host, int base)
{
	const bool memory = v2_controls(base, "memory");

	if (!memory && !v2_controls(base, "pids")) {
		(void)close(base);
		return;
	}
	cgroup_file_enable(base, "");
	host->kind = CGROUP_V2;
	host->base[CG_FREEZER] = base;
	host->base[CG_CPUACCT] = base;
	if (memory)
		host->base[CG_MEMORY] = base;
	if (v2_controls(base, "pids"))
		host->base[CG_PIDS] = base;
	if (v2_controls(base, "cpu"))
		host->base[CG_CPU] = base;
}

/*
 * A v2 group that has processes cannot enable controllers for its children. If the group that we
 * run in was delegated to us, by systemd or a container, its processes are moved out of the way;
 * otherwise our group is made next to it, or else directly below the top.
 */
static void open_v2(struct cgroup_host *host)
{
	char point[256], own[256], parent[520];
	bool settled;
	char *slash;
	int base;

	if (!find_mount(NULL, point) || !find_own_group("", own, sizeof(own)))
		return;
	(void)snprintf(parent, sizeof(parent), "%s%s", point, own);
	/* If so, we now run in a group below it. */
	settled = cgroup_settle(parent, own[0] == '\0');
	if (settled && !find_own_group("", own, sizeof(own)))
		return;
	slash = strrchr(own, '/');
	if (slash != NULL)
		*slash = '\0';
	for (int attempt = 0; attempt < 2 && host->kind == CGROUP_NONE; attempt++) {
		cleanup_fd int top = -1;

		(void)snprintf(parent, sizeof(parent), "%s%s", point, attempt == 0 ? own : "");
		if (strlen(parent) >= sizeof(host->parent[0]))
			continue;
		top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (top < 0)
			continue;
		cgroup_file_enable(top, "");
		if (settled && attempt == 0)
			cgroup_settle_raise(top);
		cgroup_base_sweep(parent, host->name);
		for (int i = 0; i < CG_COUNT; i++)
			(void)snprintf(host->parent[i], sizeof(host->parent[i]), "%.255s", parent);
		base = cgroup_base_make(host, 0);
		if (base < 0)
			continue;
		adopt_v2(host, base);
		if (host->kind == CGROUP_NONE)
			(void)unlinkat(top, host->name, AT_REMOVEDIR);
	}
}

static void explain(struct cgroup_host *host)
{
	size_t used = 0;

	for (int i = 0; i < CG_COUNT; i++) {
		if (host->base[i] >= 0 || used >= sizeof(host->why_not))
			continue;
		used += (size_t)snprintf(host->why_not + used, sizeof(host->why_not) - used, "%s%s",
					 used == 0 ? "no writable " : ", ", controller_names[i]);
	}
}

void cgroup_host_open(struct cgroup_host *host)
{
	*host = CGROUP_HOST_NONE;
	cgroup_base_name(host->name, sizeof(host->name));
	open_v2(host);
	if (host->kind == CGROUP_NONE)
		open_v1(host);
	explain(host);
}

void cgroup_host_sweep(void)
{
	/* The group of systemd for what a unit starts beside its main process, when it delegates. */
	static const char control[] = "/.control";

	for (int i = 0; i <= CG_COUNT; i++) {
		const char *controller = i < CG_COUNT ? controller_names[i] : NULL;
		char point[256], own[256], path[520];
		size_t len;

		if (!find_mount(controller, point) ||
		    !find_own_group(controller != NULL ? controller : "", own, sizeof(own)))
			continue;
		len = strlen(own);
		if (len >= strlen(control) && strcmp(own + len - strlen(control), control) == 0)
			own[len - strlen(control)] = '\0';
		(void)snprintf(path, sizeof(path), "%s%s", point, own);
		cgroup_base_sweep(path, "");
		cgroup_base_sweep(point, "");
	}
}

int cgroup_host_open_at(struct cgroup_host *host, enum cgroup_kind kind, const char *root,
			struct err *err)
{
	*host = CGROUP_HOST_NONE;
	cgroup_base_name(host->name, sizeof(host->name));
	host->kind = kind;
	for (int i = 0; i < CG_COUNT; i++) {
		if (kind == CGROUP_V1)
			(void)snprintf(host->parent[i], sizeof(host->parent[i]), "%.200s/%s", root,
				       controller_names[i]);
		else
			(void)snprintf(host->parent[i], sizeof(host->parent[i]), "%.200s", root);
		if (kind == CGROUP_V1 || i == 0)
			host->base[i] = cgroup_base_make(host, i);
		else
			host->base[i] = host->base[0];
		if (host->base[i] < 0)
			return err_sys(err, "make %s/%s", host->parent[i], host->name);
	}
	return 0;
}

void cgroup_host_close(struct cgroup_host *host)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int tries = CLOSE_TRIES;

	for (int i = 0; i < CG_COUNT; i++) {
		char path[400];

		if (host->base[i] < 0)
			continue;
		if (host->kind == CGROUP_V1)
			(void)close(host->base[i]);
		host->base[i] = -1;
		(void)snprintf(path, sizeof(path), "%s/%s", host->parent[i], host->name);
		while (cgroup_base_remove(path) < 0 && tries-- > 0)
			(void)nanosleep(&pause, NULL);
		/* Tasks of a killed warden may still have been ending when we swept at our
		 * start. */
		cgroup_base_sweep(host->parent[i], host->name);
	}
	host->kind = CGROUP_NONE;
}

/* ---- one box ------------------------------------------------------------------------------ */

int cgroup_create(const struct cgroup_host *host, const char *name, struct err *err)
{
	char part[128];

	if (host->kind == CGROUP_V2) {
		const int base = host->base[CG_FREEZER];

		if (mkdirat(base, name, 0755) < 0)
			return err_sys(err, "make cgroup %s", name);
		cgroup_file_enable(base, name);
		cgroup_part_name(part, sizeof(part), name, "box");
		if (mkdirat(base, part, 0755) < 0)
			return err_sys(err, "make cgroup %s", part);
		cgroup_part_name(part, sizeof(part), name, "twin");
		if (mkdirat(base, part, 0755) < 0)
			return err_sys(err, "make cgroup %s", part);
		return 0;
	}
	for (int i = 0; i < CG_COUNT; i++)
		/* Hierarchies may be mounted together: the directory then exists already. */
		if (host->base[i] >= 0 && mkdirat(host->base[i], name, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make %s cgroup %s", controller_names[i], name);
	return 0;
}

/*
 * Limits the buffers of TCP and UDP: v1 counts them separately from memory, and only once a limit
 * is set. v2 counts them as memory.
 */
static void limit_sockets(const struct cgroup_host *host, const char *group, uint64_t memory_bytes)
{
	uint64_t bytes = memory_bytes / 8;
	struct err ignored; /* not every Linux has this file */

	bytes = bytes < SOCKETS_MIN ? SOCKETS_MIN : bytes > SOCKETS_MAX ? SOCKETS_MAX : bytes;
	(void)cgroup_file_write_u64(host->base[CG_MEMORY], group, "memory.kmem.tcp.limit_in_bytes",
				    bytes, &ignored);
}

static int limit_v1(const struct cgroup_host *host, const char *name,
		    const struct cgroup_limits *limits, struct err *err)
{
	const char *plain = cgroup_name_in(host, CG_MEMORY, name);
	struct err ignored;

	if (host->base[CG_MEMORY] >= 0 && limits->memory_bytes > 0) {
		/*
		 * Without swap accounting the memsw file is missing; a host without swap does not
		 * need it. Raising and lowering need opposite orders, so the combined limit is
		 * tried before and after.
		 */
		(void)cgroup_file_write_u64(host->base[CG_MEMORY], plain,
					    "memory.memsw.limit_in_bytes", limits->memory_bytes,
					    &ignored);
		if (cgroup_file_write_u64(host->base[CG_MEMORY], plain, "memory.limit_in_bytes",
					  limits->memory_bytes, err) < 0)
			return (int)err->code;
		(void)cgroup_file_write_u64(host->base[CG_MEMORY], plain,
					    "memory.memsw.limit_in_bytes", limits->memory_bytes,
					    &ignored);
		limit_sockets(host, plain, limits->memory_bytes);
	}
	if (host->base[CG_PIDS] >= 0 && limits->pids > 0 &&
	    cgroup_file_write_u64(host->base[CG_PIDS], cgroup_name_in(host, CG_PIDS, name),
				  "pids.max", limits->pids, err) < 0)
		return (int)err->code;
	if (host->base[CG_CPU] >= 0 && limits->cpu_percent > 0)
		return cgroup_group_limit_box(host, name, limits->cpu_percent, err);
	return 0;
}

static int limit_v2(const struct cgroup_host *host, const char *name,
		    const struct cgroup_limits *limits, struct err *err)
{
	const int base = host->base[CG_FREEZER];
	char part[128];
	struct err ignored;

	if (host->base[CG_MEMORY] >= 0 && limits->memory_bytes > 0) {
		if (cgroup_file_write_u64(base, name, "memory.max", limits->memory_bytes, err) < 0)
			return (int)err->code;
		(void)cgroup_file_write(base, name, "memory.swap.max", "0", &ignored);
		/* A kernel and its twin share their memory, so an out-of-memory kill takes both;
		 * the box stays, with its files and its other kernels. */
		(void)cgroup_file_write(base, name, "memory.oom.group", "0", &ignored);
	}
	cgroup_part_name(part, sizeof(part), name, "box");
	if (host->base[CG_PIDS] >= 0 && limits->pids > 0 &&
	    cgroup_file_write_u64(base, part, "pids.max", limits->pids, err) < 0)
		return (int)err->code;
	if (host->base[CG_CPU] >= 0 && limits->cpu_percent > 0)
		return cgroup_group_limit_box(host, name, limits->cpu_percent, err);
	return 0;
}

int cgroup_limit(const struct cgroup_host *host, const char *name,
		 const struct cgroup_limits *limits, struct err *err)
{
	if (host->kind == CGROUP_V1)
		return limit_v1(host, name, limits, err);
	if (host->kind == CGROUP_V2)
		return limit_v2(host, name, limits, err);
	return 0;
}

int cgroup_attach_box(const struct cgroup_host *host, const char *name, pid_t pid, struct err *err)
{
	char part[128];

	cgroup_part_name(part, sizeof(part), name, "box");
	if (host->kind == CGROUP_V2)
		return cgroup_file_write_u64(host->base[CG_FREEZER], part, "cgroup.procs",
					     (uint64_t)pid, err);
	for (int i = 0; i < CG_COUNT; i++)
		if (host->base[i] >= 0 &&
		    cgroup_file_write_u64(host->base[i],
					  cgroup_name_in(host, (enum cgroup_controller)i, name),
					  "cgroup.procs", (uint64_t)pid, err) < 0)
			return (int)err->code;
	return 0;
}

int cgroup_attach_twin(const struct cgroup_host *host, const char *name, pid_t pid, struct err *err)
{
	char part[128];

	cgroup_part_name(part, sizeof(part), name, "twin");
	if (host->kind == CGROUP_V2)
		return cgroup_file_write_u64(host->base[CG_FREEZER], part, "cgroup.procs",
					     (uint64_t)pid, err);
	return cgroup_attach_box(host, name, pid, err);
}

int cgroup_attach_child(const struct cgroup_host *host, const char *name,
			const struct cgroup_place *place, pid_t pid, struct err *err)
{
	char group[128];

	if (host->kind == CGROUP_V2) {
		cgroup_kernel_group(host, name, place->number, group, sizeof(group));
		return cgroup_file_write_u64(host->base[CG_FREEZER], group, "cgroup.procs",
					     (uint64_t)pid, err);
	}
	if (place->is_late && cgroup_has_joins(host) && cgroup_has(host, CG_PIDS))
		return cgroup_file_write_u64(host->base[CG_PIDS],
					     cgroup_name_in(host, CG_PIDS, name), "cgroup.procs",
					     (uint64_t)pid, err);
	return 0;
}

bool cgroup_counts_twins(const struct cgroup_host *host)
{
	return host->kind == CGROUP_V1;
}

static bool is_frozen(const struct cgroup_host *host, const char *group)
{
	char text[32] = "";
	cleanup_fd int fd = -1;
	char path[200];
	ssize_t n;

	if (host->kind == CGROUP_V2)
		return cgroup_file_key(host->base[CG_FREEZER], group, "cgroup.events", "frozen") ==
		       1;
	(void)snprintf(path, sizeof(path), "%s/freezer.state", group);
	fd = openat(host->base[CG_FREEZER], path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	return n > 0 && strncmp(text, "FROZEN", 6) == 0;
}

/* Requests the state; *ret_group is the group's name in the freezer's hierarchy. */
static int tell_freezer(const struct cgroup_host *host, const char *name, bool frozen,
			char ret_group[128], struct err *err)
{
	if (host->base[CG_FREEZER] < 0)
		return err_set(err, ERR_UNAVAILABLE, "this host gives us no freezer");
	if (host->kind == CGROUP_V2) {
		cgroup_part_name(ret_group, 128, name, "box");
		return cgroup_file_write(host->base[CG_FREEZER], ret_group, "cgroup.freeze",
					 frozen ? "1" : "0", err);
	}
	(void)snprintf(ret_group, 128, "%s", cgroup_name_in(host, CG_FREEZER, name));
	return cgroup_file_write(host->base[CG_FREEZER], ret_group, "freezer.state",
				 frozen ? "FROZEN" : "THAWED", err);
}

int cgroup_freeze_soon(const struct cgroup_host *host, const char *name, struct err *err)
{
	char group[128];

	return tell_freezer(host, name, true, group, err);
}

int cgroup_freeze(const struct cgroup_host *host, const char *name, bool frozen, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	char group[128];
	int code = tell_freezer(host, name, frozen, group, err);

	for (int tries = 0; code == 0 && frozen && !is_frozen(host, group); tries++) {
		if (tries == 20000)
			return err_set(err, ERR_TIMEOUT, "the box did not freeze");
		(void)nanosleep(&pause, NULL);
	}
	return code;
}

void cgroup_kill(const struct cgroup_host *host, const char *name)
{
	struct err ignored;
	char part[128];

	if (host->kind == CGROUP_V2) {
		/* Do not list the processes: a fork bomb makes them faster than we can read. */
		if (cgroup_file_write(host->base[CG_FREEZER], name, "cgroup.kill", "1", &ignored) ==
		    0)
			return;
		cgroup_part_name(part, sizeof(part), name, "box");
		(void)cgroup_file_kill_procs(host->base[CG_FREEZER], part, 0);
		return;
	}
	for (int tries = 0; tries < 8; tries++) {
		const int left =
			host->base[CG_PIDS] < 0
				? 0
				: cgroup_file_kill_procs(host->base[CG_PIDS],
							 cgroup_name_in(host, CG_PIDS, name), 0);

		/* A frozen process dies only once it is thawed; its SIGKILL then comes first. */
		if (host->base[CG_FREEZER] >= 0)
			(void)cgroup_file_write(host->base[CG_FREEZER],
						cgroup_name_in(host, CG_FREEZER, name),
						"freezer.state", "THAWED", &ignored);
		if (left == 0)
			return;
	}
}

int cgroup_remove(const struct cgroup_host *host, const char *name, struct err *err)
{
	const char *plain = cgroup_name_in(host, CG_FREEZER, name);
	char part[128];

	for (unsigned place = 1; place < CGROUP_PLACES_MAX; place++)
		cgroup_kernel_remove(host, name, place);
	cgroup_file_forget(name);
	cgroup_file_forget(plain);
	if (host->kind == CGROUP_V2) {
		const int base = host->base[CG_FREEZER];

		cgroup_part_name(part, sizeof(part), name, "box");
		if (unlinkat(base, part, AT_REMOVEDIR) < 0 && errno != ENOENT)
			return err_sys(err, "remove cgroup %s", part);
		cgroup_part_name(part, sizeof(part), name, "twin");
		if (unlinkat(base, part, AT_REMOVEDIR) < 0 && errno != ENOENT)
			return err_sys(err, "remove cgroup %s", part);
		if (unlinkat(base, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			return err_sys(err, "remove cgroup %s", name);
		return 0;
	}
	/* In a group (v1) a box has two cpu directories: one in the group, where its kernels are,
	 * and one in which they, pid 1 and the twins were born. */
	if (plain != name && host->base[CG_CPU] >= 0 &&
	    unlinkat(host->base[CG_CPU], name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(err, "remove cgroup %s", name);
	for (int i = 0; i < CG_COUNT; i++)
		if (host->base[i] >= 0 && unlinkat(host->base[i], plain, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			return err_sys(err, "remove %s cgroup %s", controller_names[i], plain);
	return 0;
}
