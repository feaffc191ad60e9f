/*
 * procfile.c - reads numbers from /proc/PID/… files.
 *
 * Runs in:  the warden.
 * Reads:    files that Linux writes; a process chooses only its name, in stat.
 * Never:    fails: what it cannot read is 0, or the caller's default.
 */
#include "box/procfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* These files are a few KiB at most. */
ssize_t procfile_text(pid_t pid, const char *file, char *text, size_t size)
{
	char path[96];
	cleanup_fd int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, size - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n;
}

uint64_t procfile_number(pid_t pid, const char *file, const char *key, int base, uint64_t otherwise)
{
	MEM_UNINIT char text[4096];

	if (procfile_text(pid, file, text, sizeof(text)) <= 0)
		return otherwise;
	return procfile_find(text, key, base, otherwise);
}

uint64_t procfile_find(const char *text, const char *key, int base, uint64_t otherwise)
{
	const size_t len = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0)
			return strtoull(line + len, NULL, base);
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return otherwise;
}

void procfile_stat(pid_t pid, const int *fields, size_t count, int64_t *ret)
{
	char text[2048];
	char *at;

	memset(ret, 0, count * sizeof(*ret));
	if (procfile_text(pid, "stat", text, sizeof(text)) <= 0)
		return;
	at = strrchr(text, ')');
	/* Behind the name: " S ppid …"; the state is field 3. */
	if (at == NULL || strlen(at) < 4)
		return;
	at += 3;
	for (int field = 4; *at != '\0'; field++) {
		const int64_t value = strtoll(at, &at, 10);

		for (size_t i = 0; i < count; i++)
			if (fields[i] == field)
				ret[i] = value;
		if (*at == ' ')
			at++;
		else
			break;
	}
}
