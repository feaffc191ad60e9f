/*
 * cgroup_file.c - reading and writing one control file below a directory descriptor.
 *
 * Runs in:  the warden.
 * Reads:    the kernel's cgroup files.
 * Never:    keeps a descriptor open: a thousand boxes have five groups each.
 */
#include "box/cgroup_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static int open_control(int base, const char *group, const char *file, int flags)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s%s%s", group, group[0] != '\0' ? "/" : "", file);
	return openat(base, path, flags | O_CLOEXEC);
}

int cgroup_file_write(int base, const char *group, const char *file, const char *text,
		      struct err *err)
{
	cleanup_fd int fd = open_control(base, group, file, O_WRONLY);

	if (fd < 0)
		return err_sys(err, "open cgroup file %s/%s", group, file);
	if (write(fd, text, strlen(text)) < 0)
		return err_sys(err, "write %s to cgroup file %s/%s", text, group, file);
	return 0;
}

int cgroup_file_write_u64(int base, const char *group, const char *file, uint64_t value,
			  struct err *err)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cgroup_file_write(base, group, file, text, err);
}

static ssize_t read_control(int base, const char *group, const char *file, char *text, size_t size)
{
	cleanup_fd int fd = open_control(base, group, file, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

uint64_t cgroup_file_number(int base, const char *group, const char *file)
{
	char text[64];

	if (read_control(base, group, file, text, sizeof(text)) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

uint64_t cgroup_file_key(int base, const char *group, const char *file, const char *key)
{
	char text[4096];
	size_t len = strlen(key);

	if (read_control(base, group, file, text, sizeof(text)) <= 0)
		return 0;
	for (char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return 0;
}

int cgroup_file_kill_procs(int base, const char *group, pid_t spare)
{
	char text[65536];
	int count = 0;

	if (read_control(base, group, "cgroup.procs", text, sizeof(text)) <= 0)
		return 0;
	for (char *line = text; *line != '\0';) {
		char *end;
		long pid = strtol(line, &end, 10);

		if (pid > 1 && pid != spare) {
			(void)kill((pid_t)pid, SIGKILL);
			count++;
		}
		while (*end != '\0' && (*end < '0' || *end > '9'))
			end++;
		line = end;
	}
	return count;
}

void cgroup_part_name(char *ret, size_t size, const char *name, const char *part)
{
	(void)snprintf(ret, size, "%s/%s", name, part);
}
