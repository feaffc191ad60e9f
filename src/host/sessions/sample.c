/*
 * sample.c - memory and CPU time of a box, from its control groups or from /proc.
 *
 * Runs in:  reckond's loop, a few sessions at a time.
 * Reads:    /proc/PID/cgroup, the files of that group, /proc/PID/smaps_rollup and stat.
 * Never:    relies on data from inside the box: all values are the kernel's.
 */
#include "host/sessions/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TEXT_SIZE 4096

/* Reads the beginning of a small file; -1 if it cannot be read. */
static int slurp(const char *path, char text[TEXT_SIZE])
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	do
		n = read(fd, text, TEXT_SIZE - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return 0;
}

/* The number after `key` in `text`; an empty key means the number at the start. */
static bool number_in(const char *text, const char *key, uint64_t *ret)
{
	const char *at = key[0] == '\0' ? text : strstr(text, key);
	char *end;

	if (at == NULL)
		return false;
	at += strlen(key);
	*ret = strtoull(at, &end, 10);
	return end != at;
}

/* Reads a number from a file of the group, in the hierarchy that is mounted at `mount`. */
static bool group_number(const char *mount, const char *group, size_t group_len, const char *file,
			 const char *key, uint64_t *ret)
{
	char path[700], text[TEXT_SIZE];

	/* The root group has the values of the whole machine. */
	if (group_len <= 1 ||
	    snprintf(path, sizeof(path), "/sys/fs/cgroup%s%.*s/%s", mount, (int)group_len, group,
		     file) >= (int)sizeof(path))
		return false;
	return slurp(path, text) == 0 && number_in(text, key, ret);
}

static bool has_word(const char *list, size_t len, const char *word)
{
	const size_t word_len = strlen(word);

	for (size_t at = 0; at < len;) {
		const char *comma = memchr(list + at, ',', len - at);
		const size_t n = comma != NULL ? (size_t)(comma - list) - at : len - at;

		if (n == word_len && memcmp(list + at, word, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* Lines are "7:memory:/group" (a v1 hierarchy) or "0::/group" (v2). */
static void from_groups(const char *text, struct sample *ret, bool *has_memory, bool *has_cpu)
{
	uint64_t usec;

	for (const char *line = text; *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n') {
		const size_t len = strcspn(line, "\n");
		const char *list = memchr(line, ':', len);
		const char *group = list != NULL
					    ? memchr(list + 1, ':', len - (size_t)(list + 1 - line))
					    : NULL;
		size_t group_len;

		if (group == NULL)
			continue;
		list++;
		group++;
		group_len = len - (size_t)(group - line);
		if (group - 1 == list) {
			if (!*has_memory)
				*has_memory = group_number("", group, group_len, "memory.current",
							   "", &ret->memory_bytes);
			if (!*has_cpu && group_number("", group, group_len, "cpu.stat",
						      "usage_usec ", &usec)) {
				ret->cpu_ns = usec * 1000;
				*has_cpu = true;
			}
			continue;
		}
		if (has_word(list, (size_t)(group - 1 - list), "memory"))
			*has_memory |= group_number("/memory", group, group_len,
						    "memory.usage_in_bytes", "",
						    &ret->memory_bytes);
		if (has_word(list, (size_t)(group - 1 - list), "cpuacct"))
			*has_cpu |= group_number("/cpuacct", group, group_len, "cpuacct.usage", "",
						 &ret->cpu_ns);
	}
}

static int from_process(pid_t pid, struct sample *ret, bool has_memory, bool has_cpu,
			struct err *err)
{
	char path[64], text[TEXT_SIZE];
	const char *at;
	char *end;
	uint64_t ticks = 0, kib;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (!has_memory) {
		if (slurp(path, text) < 0 || !number_in(text, "\nPss:", &kib))
			return err_set(err, ERR_NOT_FOUND, "%s cannot be read", path);
		ret->memory_bytes = kib * 1024;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (has_cpu)
		return 0;
	/*
	 * The name in field 2 may contain anything. After it, field 3 begins; fields 14 and 15 are
	 * the times.
	 */
	if (slurp(path, text) < 0 || (at = strrchr(text, ')')) == NULL)
		return err_set(err, ERR_NOT_FOUND, "%s cannot be read", path);
	for (int field = 2; field < 14 && *at != '\0'; field++)
		at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
	for (int i = 0; i < 2; i++, at = end)
		ticks += strtoull(at, &end, 10);
	ret->cpu_ns = ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int sample_take(pid_t pid, struct sample *ret, struct err *err)
{
	struct sample found = { 0 };
	bool has_memory = false, has_cpu = false;
	char path[64], text[TEXT_SIZE];
	struct timespec now;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (pid <= 0 || slurp(path, text) < 0)
		return err_set(err, ERR_NOT_FOUND, "process %d is gone", (int)pid);
	from_groups(text, &found, &has_memory, &has_cpu);
	if ((!has_memory || !has_cpu) && from_process(pid, &found, has_memory, has_cpu, err) < 0)
		return (int)err->code;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	found.at_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	*ret = found;
	return 0;
}
