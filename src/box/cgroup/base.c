/*
 * base.c - makes a warden's own directory in each hierarchy, and removes those of dead wardens.
 *
 * Runs in:  the warden.
 * Reads:    names of groups, locks on them, /proc/PID/stat.
 * Never:    removes a group, or ends what is in it, while its warden lives in whichever pid
 *           namespace.
 */
#include "box/cgroup/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/cgroup/file.h"

#define PREFIX "reckon-"
#define GROUP_DEPTH 4 /* group, box, its part, a kernel's */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu /* Linux: PROC_PID_INIT_INO */
#define SWEEP_TRIES 10
#define SWEEP_PAUSE_NS 2000000
#define TRIES 20 /* attempts: others may sweep a new one away before it is locked */

static unsigned long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long)st.st_ino : 0;
}

void cgroup_base_name(char *ret, size_t size)
{
	const unsigned long namespace = pid_namespace();

	if (namespace == FIRST_PID_NAMESPACE)
		(void)snprintf(ret, size, PREFIX "%d", (int)getpid());
	else
		(void)snprintf(ret, size, PREFIX "%d-%lu", (int)getpid(), namespace);
}

/* ---- one that lives ------------------------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_open_already(const struct cgroup_host *host, const struct stat *st)
{
	struct stat other;

	for (int i = 0; i < CG_COUNT; i++)
		if (host->base[i] >= 0 && fstat(host->base[i], &other) == 0 && is_same(&other, st))
			return true;
	return false;
}

static int lock(int fd)
{
	int code;

	/* A warden that sweeps holds it for a moment; no other warden has our name. */
	do
		code = flock(fd, LOCK_EX);
	while (code < 0 && errno == EINTR);
	return code;
}

int cgroup_base_make(const struct cgroup_host *host, int at)
{
	char path[400];

	(void)snprintf(path, sizeof(path), "%s/%s", host->parent[at], host->name);
	for (int tries = 0; tries < TRIES; tries++) {
		cleanup_fd int fd = -1;
		struct stat opened, there;

		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &opened) < 0)
			continue;
		if (is_open_already(host, &opened))
			return TAKE_FD(fd);
		/* Without such locks in this file system, go on: that must not cost the limits. */
		(void)lock(fd);
		if (stat(path, &there) == 0 && is_same(&opened, &there))
			return TAKE_FD(fd);
	}
	return -1;
}

/* ---- those of the dead ---------------------------------------------------------------------- */

/* Whether this is a live warden: its pid may be reused by now, or be that of a zombie. */
static bool is_warden(long pid)
{
	char path[64], text[128] = "";
	cleanup_fd int fd = -1;
	const char *name, *end;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		/* /proc may show only our own processes. */
		return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	return name != NULL && end != NULL && strncmp(name, "(reckon-warden)", 15) == 0 &&
	       end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* On v1, tasks that a dead warden froze cannot die before they are thawed, and no one else does
 * that. */
static void end_tasks(int group)
{
	struct err ignored;

	if (cgroup_file_kill_procs(group, "", 0) == 0)
		return;
	(void)cgroup_file_write(group, "", "freezer.state", "THAWED", &ignored);
	(void)cgroup_file_write(group, "", "cgroup.freeze", "0", &ignored);
}

/* Removes a group with those below it; -1: there is a task in one of them. */
static int remove_tree(int parent, const char *name, bool ends_tasks, int depth)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_dir DIR *groups = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *group;

	if (fd >= 0 && groups == NULL)
		(void)close(fd);
	if (groups != NULL && ends_tasks)
		end_tasks(fd);
	while (groups != NULL && depth > 0 && (group = readdir(groups)) != NULL)
		if (group->d_type == DT_DIR && group->d_name[0] != '.')
			(void)remove_tree(fd, group->d_name, ends_tasks, depth - 1);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno == EBUSY ? -1 : 0;
}

int cgroup_base_remove(const char *path)
{
	return remove_tree(AT_FDCWD, path, false, GROUP_DEPTH);
}

/*
 * A bare pid may be that of a warden of an old version, which has no lock. Whoever is in the first
 * pid namespace can look it up; what cannot be determined is left alone.
 */
static bool is_left_alone(const char *name)
{
	char *end;
	const long pid = strtol(name + strlen(PREFIX), &end, 10);

	if (pid <= 0 || (*end != '\0' && *end != '-'))
		return true;
	if (*end == '-')
		return false;
	return pid_namespace() != FIRST_PID_NAMESPACE || is_warden(pid);
}

static void sweep_one(const char *path, const char *name)
{
	const struct timespec pause = { .tv_nsec = SWEEP_PAUSE_NS };
	cleanup_fd int fd = -1;

	if (is_left_alone(name))
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK))
		return;
	for (int tries = 0; tries < SWEEP_TRIES; tries++) {
		if (remove_tree(AT_FDCWD, path, true, GROUP_DEPTH) == 0)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

void cgroup_base_sweep(const char *parent, const char *own)
{
	cleanup_dir DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char path[600];

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    strcmp(entry->d_name, own) == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%.200s", parent, entry->d_name);
		sweep_one(path, entry->d_name);
	}
}
