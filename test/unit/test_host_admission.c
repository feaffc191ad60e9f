/*
 * test_host_admission.c - available memory, from /proc/meminfo and cgroups of both versions.
 *
 * Runs in:  the unit suite.
 * Reads:    a tree of its own, in place of /proc and /sys.
 * Never:    looks at the real host.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/sessions/admission.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(full, 0700);
		*at = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/reckon-unit-XXXXXX");
	return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

UNIT_TEST_WITH(without_files_there_is_no_limit, set_up, tear_down)
{
	assert_true(admission_available(root) == UINT64_MAX);
}

UNIT_TEST_WITH(memory_of_the_host_is_the_limit, set_up, tear_down)
{
	put("/proc/meminfo", "MemTotal:  9000 kB\nMemFree: 1 kB\nMemAvailable:    5120 kB\n");
	assert_true(admission_available(root) == 5 * MIB);
}

UNIT_TEST_WITH(a_parent_cgroup_of_version_1_is_the_limit, set_up, tear_down)
{
	put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
	put("/proc/self/cgroup", "12:pids:/x\n5:memory:/a/b\n0::/u\n");
	put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n");
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "94371840\n");
	put("/sys/fs/cgroup/memory/a/memory.stat",
	    "inactive_file 5\ntotal_inactive_file 20971520\n");
	/* The limit is 100 MiB, of which 90 are in use, 20 of them as reclaimable cache. */
	assert_true(admission_available(root) == 30 * MIB);
	put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "209715200\n");
	assert_true(admission_available(root) == 0);
}

UNIT_TEST_WITH(a_cgroup_of_version_2_is_the_limit, set_up, tear_down)
{
	put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.current", "1048576\n");
	assert_true(admission_available(root) == 1024 * MIB);
	put("/sys/fs/cgroup/a/memory.max", "52428800\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1048576\n");
	assert_true(admission_available(root) == 50 * MIB);
}
