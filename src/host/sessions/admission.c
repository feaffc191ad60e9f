/*
 * admission.c - checks whether the host has enough memory for one more session.
 *
 * Runs in:  reckond's loop.
 * Reads:    /proc/meminfo, /proc/self/cgroup, the files of our memory cgroups; a few times a
 *           second at most.
 * Never:    counts a session twice: a session that is being opened counts with its expected need,
 *           an open one with the memory that it uses.
 */
#include "host/sessions/admission.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define FRESH_NS (200ull * 1000000u)
/*
 * Reading takes two dozen system calls, a good part of the cost of opening a session. While much
 * more memory is available than needed, a reading is used for longer.
 */
#define PLENTY_NS (2000ull * 1000000u)
#define PLENTY 8u /* times the needed memory counts as plenty */
#define TEXT_MAX 8192
#define DIR_SIZE 4096
#define PATH_SIZE (DIR_SIZE + 64)

/* Reads the beginning of a file as text; "" if it cannot be read. */
static void read_text(const char *path, char ret[TEXT_MAX])
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret, TEXT_MAX - 1) : -1;

	ret[n > 0 ? n : 0] = '\0';
}

/* Finds the line that begins with `key`, and returns its number times `unit`. */
static bool find_number(const char *text, const char *key, uint64_t unit, uint64_t *ret)
{
	const size_t len = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && strchr(" \t", line[len]) != NULL) {
			*ret = strtoull(line + len, NULL, 10) * unit;
			return true;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}

/* `dir` has at most DIR_SIZE bytes, so that each path fits. */
static bool read_number(const char *dir, const char *name, uint64_t *ret)
{
	char path[PATH_SIZE], text[TEXT_MAX];
	char *end;

	(void)snprintf(path, sizeof(path), "%.4095s/%s", dir, name);
	read_text(path, text);
	*ret = strtoull(text, &end, 10);
	return end != text; /* "max" is not a number: no limit */
}

/* Memory that one cgroup has left; its page cache counts as free. */
static uint64_t left_in(const char *dir, bool is_v2)
{
	char path[PATH_SIZE], text[TEXT_MAX];
	uint64_t limit, used, cache = 0;

	if (!read_number(dir, is_v2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
	    !read_number(dir, is_v2 ? "memory.current" : "memory.usage_in_bytes", &used))
		return UINT64_MAX;
	(void)snprintf(path, sizeof(path), "%.4095s/memory.stat", dir);
	read_text(path, text);
	(void)find_number(text, is_v2 ? "inactive_file" : "total_inactive_file", 1, &cache);
	used -= cache < used ? cache : used;
	return used < limit ? limit - used : 0;
}

/* The least of what our cgroup and its parents have left. */
static uint64_t left_above(const char *base, const char *group, bool is_v2)
{
	char dir[DIR_SIZE];
	uint64_t least = UINT64_MAX;
	size_t base_len = strlen(base);
	char *slash;

	if ((size_t)snprintf(dir, sizeof(dir), "%s%s", base, group) >= sizeof(dir))
		return least;
	for (;;) {
		const uint64_t left = left_in(dir, is_v2);

		if (left < least)
			least = left;
		slash = strrchr(dir, '/');
		if (slash == NULL || (size_t)(slash - dir) < base_len)
			return least;
		*slash = '\0';
	}
}

/* The cgroup path from the /proc/self/cgroup line of these controllers, or NULL. */
static char *group_of(char *text, const char *controllers)
{
	const size_t len = strlen(controllers);

	for (char *line = text; line != NULL && *line != '\0';) {
		char *colon = strchr(line, ':'), *next = strchr(line, '\n');

		if (colon != NULL && strncmp(colon + 1, controllers, len) == 0 &&
		    colon[1 + len] == ':') {
			if (next != NULL)
				*next = '\0';
			return colon + 2 + len;
		}
		line = next != NULL ? next + 1 : NULL;
	}
	return NULL;
}

uint64_t admission_available(const char *root)
{
	char path[PATH_SIZE], text[TEXT_MAX];
	uint64_t available = UINT64_MAX, left = UINT64_MAX;
	const char *group;

	(void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	read_text(path, text);
	(void)find_number(text, "MemAvailable:", 1024, &available);
	(void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	read_text(path, text);
	group = group_of(text, "memory");
	if (group != NULL) {
		(void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup/memory", root);
		left = left_above(path, group, false);
	} else {
		group = group_of(text, "");
		(void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup", root);
		if (group != NULL)
			left = left_above(path, group, true);
	}
	return left < available ? left : available;
}

uint64_t admission_need(const struct host *host, const struct front_limits *limits)
{
	const uint64_t share = quota_memory_of(limits) / host->config.overcommit;
	const unsigned open = host->sessions.count - host->admission.opening;
	const uint64_t mean = open > 0 ? host->admission.memory_used / open : 0;

	return share > mean ? share : mean;
}

static bool is_stale(const struct host *host, uint64_t now, uint64_t need)
{
	const uint64_t wanted = host->admission.admitted + need + host->config.memory_reserve;
	const bool has_plenty = wanted < host->admission.available / PLENTY;

	return host->admission.available_ns == 0 ||
	       now - host->admission.available_ns > (has_plenty ? PLENTY_NS : FRESH_NS);
}

/* Refuses a need beyond the memory of this host, where waiting cannot help. */
static bool is_beyond_host(struct host *host, const struct request *req, uint64_t need)
{
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t reserve =
		host->config.memory_reserve < all ? host->config.memory_reserve : all;
	char message[160];

	if (need <= all - reserve)
		return false;
	(void)snprintf(message, sizeof(message),
		       "limits.memory_bytes: %" PRIu64 " MiB would be needed, and this host has "
		       "%" PRIu64 " MiB in all, of which %" PRIu64 " are kept in reserve",
		       need >> 20, all >> 20, reserve >> 20);
	front_fail(host, req->id, API_ERR_INVALID, message, "", "ask for less memory", 0);
	return true;
}

bool admission_check(struct host *host, const struct request *req,
		     const struct front_limits *limits)
{
	const uint64_t now = clock_mono_ns();
	const uint64_t need = admission_need(host, limits);
	const struct front_queue queue = quota_session_queue(host, host->sessions.count);
	uint64_t wanted, left;
	char message[192];

	if (is_beyond_host(host, req, need))
		return false;
	if (is_stale(host, now, need)) {
		host->admission.available = admission_available("");
		host->admission.available_ns = now;
		/*
		 * Sessions that opened meanwhile use their memory already; the others count as
		 * opening.
		 */
		host->admission.admitted = (uint64_t)host->admission.opening * need;
	}
	wanted = host->admission.admitted + need + host->config.memory_reserve;
	if (host->admission.available == UINT64_MAX || wanted <= host->admission.available) {
		host->admission.admitted += need;
		return true;
	}
	left =
		host->admission.available - (host->admission.admitted < host->admission.available ? host->admission.admitted
								   : host->admission.available);
	(void)snprintf(message, sizeof(message),
		       "the host has no memory for another session: %" PRIu64 " MiB are left, "
		       "%" PRIu64 " are kept in reserve, %" PRIu64 " would be needed",
		       left >> 20, host->config.memory_reserve >> 20, need >> 20);
	refuse(host, req->id,
	       &(struct refusal){ .error = API_ERR_OVERLOADED,
				  .message = message,
				  .remedy = "wait until sessions end, or close some",
				  .retry_s =
					  quota_retry_s(&queue) < 60 ? quota_retry_s(&queue) : 60,
				  .has_queue = true,
				  .queue = queue });
	return false;
}
