/*
 * verify.c - read from outside that a kernel stands behind its walls.
 *
 * Runs in:  the warden, before it hands a kernel out.
 * Reads:    /proc/PID/status.
 * Never:    believes what the kernel says of itself.
 */
#include "box/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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
	if (!rootless && strncmp(line, "Groups:", 7) == 0 && strpbrk(line + 7, "0123456789") != NULL)
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
