/*
 * file.c - reads and writes control files below a directory descriptor.
 *
 * Runs in:  the warden.
 * Reads:    Linux's cgroup files.
 * Never:    keeps more than CACHE_MAX + CACHE_TRIES descriptors open: a thousand boxes have five
 *           groups each.
 *
 * Opening a control file takes several times as long as reading it, and the same few are read after
 * each cell: so the last ones stay open. The file of a removed group or an ended process returns an
 * error, even if a new one has the same name; it is then opened anew.
 */
#include "box/cgroup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

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

void cgroup_file_enable(int base, const char *group)
{
	static const char *const wanted[] = { "+memory", "+pids", "+cpu" };
	struct err ignored;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		(void)cgroup_file_write(base, group, "cgroup.subtree_control", wanted[i], &ignored);
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

/* ---- files that stay open --------------------------------------------------------------- */

#define CACHE_MAX 256u
#define CACHE_TRIES 8u /* places to try, from the one that a name's hash selects */

static struct cached_file {
	int base;
	int fd;
	bool is_writable;
	uint64_t used;
	char path[120]; /* "group/file"; "" in a free place */
} cache[CACHE_MAX + CACHE_TRIES];

static bool is_cached(const struct cached_file *place, int base, const char *path)
{
	return place->base == base && strcmp(place->path, path) == 0;
}

/* The file's own place, else one to reuse: a free one, or the one that was used longest ago. */
static struct cached_file *cache_place(int base, const char *path)
{
	static uint64_t clock;
	uint32_t hash = 2166136261u ^ (uint32_t)base;
	struct cached_file *first, *oldest;

	for (const char *at = path; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	first = oldest = &cache[hash % CACHE_MAX];
	for (struct cached_file *at = first; at < first + CACHE_TRIES; at++) {
		if (is_cached(at, base, path)) {
			oldest = at;
			break;
		}
		if (at->used < oldest->used)
			oldest = at;
	}
	oldest->used = ++clock;
	return oldest;
}

static void cache_drop(struct cached_file *place)
{
	if (place->path[0] != '\0')
		(void)close(place->fd);
	place->path[0] = '\0';
	place->used = 0;
}

void cgroup_file_forget(const char *group)
{
	const size_t len = strlen(group);

	for (size_t i = 0; i < ARRAY_LEN(cache); i++)
		if (strncmp(cache[i].path, group, len) == 0 && cache[i].path[len] == '/')
			cache_drop(&cache[i]);
}

static bool cache_open(struct cached_file *place, int base, const char *path, bool writable)
{
	const uint64_t used = place->used;

	cache_drop(place);
	place->fd = open_control(base, "", path, writable ? O_RDWR : O_RDONLY);
	if (place->fd < 0)
		return false;
	place->base = base;
	place->is_writable = writable;
	place->used = used;
	memcpy(place->path, path, strlen(path) + 1);
	return true;
}

ssize_t cgroup_file_text(int base, const char *group, const char *file, char *text, size_t size)
{
	char path[sizeof(cache->path)];
	struct cached_file *place;
	ssize_t n = -1;

	if (snprintf(path, sizeof(path), "%s/%s", group, file) >= (int)sizeof(path))
		return read_control(base, group, file, text, size);
	place = cache_place(base, path);
	if (is_cached(place, base, path))
		n = pread(place->fd, text, size - 1, 0);
	if (n <= 0 && cache_open(place, base, path, false))
		n = pread(place->fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

void cgroup_file_reset(int base, const char *group, const char *file)
{
	char path[sizeof(cache->path)];
	struct cached_file *place;
	struct err ignored;

	if (snprintf(path, sizeof(path), "%s/%s", group, file) >= (int)sizeof(path)) {
		(void)cgroup_file_write(base, group, file, "0", &ignored);
		return;
	}
	place = cache_place(base, path);
	if (is_cached(place, base, path) && place->is_writable && pwrite(place->fd, "0", 1, 0) == 1)
		return;
	if (cache_open(place, base, path, true) && pwrite(place->fd, "0", 1, 0) != 1)
		cache_drop(place);
}

uint64_t cgroup_file_number(int base, const char *group, const char *file)
{
	char text[64];

	if (cgroup_file_text(base, group, file, text, sizeof(text)) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

uint64_t cgroup_file_key(int base, const char *group, const char *file, const char *key)
{
	MEM_UNINIT char text[4096];
	size_t len = strlen(key);

	if (cgroup_file_text(base, group, file, text, sizeof(text)) <= 0)
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
	MEM_UNINIT char text[65536];
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

int cgroup_file_move_procs(int base, const char *from, const char *to, struct err *err)
{
	char text[4096];
	int count = 0;

	if (read_control(base, from, "cgroup.procs", text, sizeof(text)) <= 0)
		return 0;
	for (char *line = text, *end; *line != '\0'; line = end + strspn(end, "\n")) {
		const long pid = strtol(line, &end, 10);

		if (end == line)
			break;
		/* A process that has ended meanwhile is in no group. */
		if (cgroup_file_write_u64(base, to, "cgroup.procs", (uint64_t)pid, err) < 0 &&
		    err->errnum != ESRCH)
			return (int)err->code;
		count++;
	}
	return count;
}

void cgroup_part_name(char *ret, size_t size, const char *name, const char *part)
{
	(void)snprintf(ret, size, "%s/%s", name, part);
}
