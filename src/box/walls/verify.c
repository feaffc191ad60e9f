/*
 * verify.c - verifies from outside that a kernel stands behind its walls.
 *
 * Runs in:  the warden, before it hands a kernel out.
 * Reads:    /proc/PID/status, ns and cgroup.
 * Never:    trusts what the kernel says about itself.
 */
#include "box/walls/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "box/procfile.h"
#include "box/sys.h"

/* A line of the status file, and what its value has to be. */
static const struct expectation {
	const char *key;
	unsigned long long value;
	int base;
} expected[] = {
	{ "CapInh:", 0, 16 }, { "CapPrm:", 0, 16 }, { "CapEff:", 0, 16 }, { "CapBnd:", 0, 16 },
	{ "CapAmb:", 0, 16 }, { "NoNewPrivs:", 1, 10 }, { "Seccomp:", 2, 10 },
};

static int check_line(const char *line, bool rootless, size_t *found, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const size_t len = strlen(expected[i].key);

		if (strncmp(line, expected[i].key, len) != 0)
			continue;
		(*found)++;
		if (strtoull(line + len, NULL, expected[i].base) != expected[i].value)
			return err_set(err, ERR_DENIED, "a new kernel has %.40s", line);
	}
	if (!rootless && strncmp(line, "Uid:", 4) == 0 && strtoul(line + 4, NULL, 10) == 0)
		return err_set(err, ERR_DENIED, "a new kernel runs as root");
	if (!rootless && strncmp(line, "Groups:", 7) == 0 &&
	    strpbrk(line + 7, "0123456789") != NULL)
		return err_set(err, ERR_DENIED, "a new kernel has supplementary %.40s", line);
	return 0;
}

int verify_kernel(pid_t pid, bool rootless, struct err *err)
{
	char path[64], line[512];
	cleanup_file FILE *file = NULL;
	size_t found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return err_sys(err, "read %s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (check_line(line, rootless, &found, err) < 0)
			return (int)err->code;
	}
	if (found != ARRAY_LEN(expected))
		return err_set(err, ERR_UNAVAILABLE, "%s does not show every wall", path);
	return 0;
}

int verify_landlock(int ruleset_fd, struct err *err)
{
	if (ruleset_fd >= 0 ||
	    sys_landlock_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		return 0;
	return err_set(err, ERR_DENIED, "a new box has no Landlock rules");
}

static int check_namespaces(pid_t pid, pid_t init, struct err *err)
{
	static const char *const names[] = { "pid", "mnt", "net", "ipc", "uts", "cgroup", "user" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[64];
		struct stat own, box;

		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, names[i]);
		if (stat(path, &own) < 0)
			return err_sys(err, "%s", path);
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)init, names[i]);
		if (stat(path, &box) < 0)
			return err_sys(err, "%s", path);
		if (own.st_ino != box.st_ino || own.st_dev != box.st_dev)
			return err_set(err, ERR_DENIED,
				       "a new kernel is not in its box's %s namespace", names[i]);
	}
	return 0;
}

static bool list_has(const char *list, size_t len, const char *word)
{
	const size_t word_len = strlen(word);

	for (size_t at = 0; at + word_len <= len; at++)
		if (memcmp(list + at, word, word_len) == 0 && (at == 0 || list[at - 1] == ',') &&
		    (at + word_len == len || list[at + word_len] == ','))
			return true;
	return false;
}

/* Finds the line of a controller in the text of /proc/PID/cgroup; returns its path and the path's
 * length. */
static const char *group_of(const char *text, const char *controller, size_t *ret_len)
{
	for (const char *line = text; *line != '\0';) {
		const size_t len = strcspn(line, "\n");
		const char *list = memchr(line, ':', len);
		const char *path = list != NULL
					   ? memchr(list + 1, ':', (size_t)(line + len - list - 1))
					   : NULL;

		if (path != NULL &&
		    (controller[0] == '\0'
			     ? path == list + 1
			     : list_has(list + 1, (size_t)(path - list - 1), controller))) {
			*ret_len = (size_t)(line + len - path - 1);
			return path + 1;
		}
		line += len + (line[len] == '\n');
	}
	return NULL;
}

/* The kernel's group has to be its box's, or one below it: further kernels have their own there
 * (v2). */
static int check_groups(pid_t pid, pid_t init, struct err *err)
{
	static const char *const controllers[] = { "memory", "pids", "" };
	char own[4096], box[4096];

	if (procfile_text(pid, "cgroup", own, sizeof(own)) <= 0 ||
	    procfile_text(init, "cgroup", box, sizeof(box)) <= 0)
		return 0; /* no control groups on this host: probe.c reports that */
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		size_t own_len = 0, box_len = 0;
		const char *mine = group_of(own, controllers[i], &own_len);
		const char *its = group_of(box, controllers[i], &box_len);

		if (its == NULL)
			continue;
		if (mine == NULL || own_len < box_len || memcmp(mine, its, box_len) != 0 ||
		    (own_len > box_len && box_len > 1 && mine[box_len] != '/'))
			return err_set(err, ERR_DENIED, "a new kernel is not in its box's %s group",
				       controllers[i]);
	}
	return 0;
}

int verify_box(pid_t pid, pid_t init, struct err *err)
{
	if (check_namespaces(pid, init, err) < 0)
		return (int)err->code;
	return check_groups(pid, init, err);
}
