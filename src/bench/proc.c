/*
 * proc.c - runs and times programs; reads the processes and memory below the warden.
 *
 * Runs in:  reckon-bench.
 * Reads:    /proc; the error output of programs that it ran, to show it.
 * Never:    counts a run that failed.
 */
#include "bench/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define UNIFIED "/sys/fs/cgroup/unified"

static void hide_unified(void)
{
	if (access(UNIFIED, F_OK) < 0)
		return;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    umount2(UNIFIED, MNT_DETACH) < 0)
		perror(UNIFIED);
}

__attribute__((noreturn)) static void run_child(const struct proc_command *command, int errors)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char **argv = mem_new0(64, sizeof(*argv));

	for (size_t i = 0; i < 63 && command->argv[i] != NULL; i++)
		argv[i] = mem_strdup(command->argv[i]);
	for (size_t i = 0; command->add_env != NULL && command->add_env[i] != NULL; i++)
		(void)putenv(mem_strdup(command->add_env[i]));
	if (!command->shows_output &&
	    (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(errors, 2) < 0))
		_exit(126);
	if (command->hides_unified)
		hide_unified();
	(void)execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static int failed(const struct proc_command *command, int status, int errors, struct err *err)
{
	char text[200] = "";
	ssize_t n = pread(errors, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (char *at = text; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			*at = ' ';
	if (WIFSIGNALED(status))
		return err_set(err, ERR_UNAVAILABLE, "%s: signal %d", command->argv[0],
			       WTERMSIG(status));
	return err_set(err, ERR_UNAVAILABLE, "%s: exit status %d: %.120s", command->argv[0],
		       WEXITSTATUS(status), text);
}

int proc_run(const struct proc_command *command, uint64_t *ret_ns, struct err *err)
{
	cleanup_fd int errors = memfd_create("stderr", MFD_CLOEXEC);
	const uint64_t start = clock_mono_ns();
	pid_t pid;
	int status;

	if (errors < 0)
		return err_sys(err, "memfd");
	pid = fork();
	if (pid < 0)
		return err_sys(err, "fork");
	if (pid == 0)
		run_child(command, errors);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, "wait for %s", command->argv[0]);
	*ret_ns = clock_mono_ns() - start;
	return status == 0 ? 0 : failed(command, status, errors, err);
}

bool proc_find(const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH");

	for (const char *at = path != NULL ? path : "/usr/bin:/bin"; *at != '\0';) {
		const size_t len = strcspn(at, ":");

		if (len > 0 && snprintf(ret, size, "%.*s/%s", (int)len, at, name) < (int)size &&
		    access(ret, X_OK) == 0)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

/* ---- the tree below our warden -------------------------------------------------------------- */

struct process {
	pid_t pid;
	pid_t parent;
	char name[16];
	bool is_ours; /* descends from the warden */
};

struct processes {
	struct process *at;
	size_t count;
	size_t capacity;
};

static void processes_done(struct processes *all)
{
	free(all->at);
}

static bool read_process(const char *pid, struct process *ret)
{
	char path[64], text[512];
	cleanup_fd int fd = -1;
	char *open_at, *close_at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (open_at == NULL || close_at == NULL || close_at - open_at > 16)
		return false;
	*close_at = '\0';
	*ret = (struct process){ .pid = (pid_t)strtol(text, NULL, 10) };
	(void)snprintf(ret->name, sizeof(ret->name), "%s", open_at + 1);
	ret->parent = (pid_t)strtol(close_at + 4, NULL, 10);
	return close_at[2] != 'Z';
}

static int read_all(struct processes *all, struct err *err)
{
	cleanup_dir DIR *dir = opendir("/proc");
	const struct dirent *entry;

	if (dir == NULL)
		return err_sys(err, "read /proc");
	while ((entry = readdir(dir)) != NULL) {
		struct process found;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !read_process(entry->d_name, &found))
			continue;
		if (all->count == all->capacity) {
			all->capacity = all->capacity > 0 ? all->capacity * 2 : 1024;
			all->at = mem_grow(all->at, all->capacity, sizeof(*all->at));
		}
		all->at[all->count++] = found;
	}
	return 0;
}

static int by_pid(const void *left, const void *right)
{
	return ((const struct process *)left)->pid - ((const struct process *)right)->pid;
}

static struct process *find(const struct processes *all, pid_t pid)
{
	const struct process key = { .pid = pid };

	return all->count > 0 ? bsearch(&key, all->at, all->count, sizeof(*all->at), by_pid) : NULL;
}

/*
 * The number of generations between our own warden and a process; 0: the process is the warden or
 * does not descend from it.
 */
static int generation(const struct processes *all, const struct process *at)
{
	int above = 0;

	for (; at != NULL && above < 16; at = find(all, at->parent), above++)
		if (at->parent == getpid())
			return strncmp(at->name, "reckon-warden", 13) == 0 ? above : 0;
	return 0;
}

static uint64_t read_pss(pid_t pid)
{
	char path[64], line[128];
	cleanup_file FILE *file = NULL;
	unsigned long long kib = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "Pss:", 4) == 0) {
			kib = strtoull(line + 4, NULL, 10);
			break;
		}
	return (uint64_t)kib * 1024;
}

/*
 *   warden ─┬─ init        of a box, 1 generation below
 *           └─ zygote ── twin ── kernel
 *
 * All sessions share the zygotes, which are therefore not counted.
 */
int proc_tree_read(bool with_pss, struct proc_tree *ret, struct err *err)
{
	__attribute__((cleanup(processes_done))) struct processes all = { 0 };
	struct proc_tree tree = { 0 };

	if (read_all(&all, err) < 0)
		return (int)err->code;
	if (all.count > 0)
		qsort(all.at, all.count, sizeof(*all.at), by_pid);
	for (size_t i = 0; i < all.count; i++) {
		const struct process *at = &all.at[i];
		const int depth = generation(&all, at);
		const bool is_init = depth == 1 && strcmp(at->name, "reckon-init") == 0;

		if (depth == 0 || (depth == 1 && !is_init))
			continue;
		tree.processes++;
		tree.kernels += depth >= 3;
		if (with_pss && (is_init || depth >= 3))
			tree.pss_bytes += read_pss(at->pid);
	}
	*ret = tree;
	return 0;
}

uint64_t proc_memory_available(void)
{
	char line[128];
	cleanup_file FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "MemAvailable:", 13) == 0) {
			kib = strtoull(line + 13, NULL, 10);
			break;
		}
	return (uint64_t)kib * 1024;
}
