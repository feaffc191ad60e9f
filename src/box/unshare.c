/*
 * unshare.c - gives a copied process memory of its own where the copy would share it.
 *
 * Runs in:  the warden.
 * Reads:    /proc/PID/maps of a stopped process, and its shared memory, which it only copies.
 * Never:    lets a branch write to what its parent maps, or the other way round.
 */
#include "box/unshare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define AREAS_MAX 256
#define BYTES_MAX (256ull << 20)
#define CHUNK 65536u

#ifndef PROCMAP_QUERY /* linux/fs.h of Linux 6.11 */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define PROCMAP_QUERY_VMA_READABLE 0x01
#define PROCMAP_QUERY_VMA_WRITABLE 0x02
#define PROCMAP_QUERY_VMA_EXECUTABLE 0x04
#define PROCMAP_QUERY_VMA_SHARED 0x08
#define PROCMAP_QUERY_COVERING_OR_NEXT_VMA 0x10
#endif

struct area {
	uint64_t from, to;
	int prot;
};

/* "from-to rwxs offset device inode name"; private areas are passed over. */
static bool parse_line(const char *line, struct area *ret)
{
	char *flags;

	ret->from = strtoull(line, &flags, 16);
	if (*flags != '-')
		return false;
	ret->to = strtoull(flags + 1, &flags, 16);
	if (flags[0] != ' ' || strnlen(flags, 6) < 6 || flags[4] != 's')
		return false;
	flags++;
	ret->prot = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
		    (flags[2] == 'x' ? PROT_EXEC : 0);
	return true;
}

struct areas {
	struct area area[AREAS_MAX];
	size_t count;
	uint64_t bytes;
};

static int add(struct areas *areas, const struct area *area, struct err *err)
{
	areas->bytes += area->to - area->from;
	if (areas->count == AREAS_MAX || areas->bytes > BYTES_MAX) {
		(void)err_set(err, ERR_LIMIT, "the session has too much shared memory");
		return err_remedy(err, "close what it maps with MAP_SHARED (mmap, memmap, "
				       "multiprocessing) before it is branched");
	}
	areas->area[areas->count++] = *area;
	return 0;
}

/*
 * Linux 6.11 and later search for us: reading a data stack's 600 lines takes longer than the fork.
 * 1 when it is done, 0 when this kernel cannot.
 */
static int ask_kernel(int maps, struct areas *areas, struct err *err)
{
	struct procmap_query query = { .size = sizeof(query) };

	for (;;) {
		struct area area;

		query.query_flags = PROCMAP_QUERY_VMA_SHARED | PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
		if (ioctl(maps, PROCMAP_QUERY, &query) < 0)
			return errno == ENOENT ? 1 : areas->count == 0 ? 0 : err_sys(err, "read maps");
		area = (struct area){ .from = query.vma_start, .to = query.vma_end };
		area.prot = (query.vma_flags & PROCMAP_QUERY_VMA_READABLE ? PROT_READ : 0) |
			    (query.vma_flags & PROCMAP_QUERY_VMA_WRITABLE ? PROT_WRITE : 0) |
			    (query.vma_flags & PROCMAP_QUERY_VMA_EXECUTABLE ? PROT_EXEC : 0);
		if (add(areas, &area, err) < 0)
			return (int)err->code;
		query.query_addr = query.vma_end;
	}
}

static int find_shared(pid_t pid, struct areas *areas, struct err *err)
{
	char path[64], line[512];
	cleanup_file FILE *file = NULL;
	bool starts = true;
	int done;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return err_sys(err, "open %s", path);
	done = ask_kernel(fileno(file), areas, err);
	if (done != 0)
		return done < 0 ? done : 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		struct area area;
		/* A long name comes in pieces, of which only the first is a line. */
		const bool is_first = starts;

		starts = strchr(line, '\n') != NULL;
		if (is_first && parse_line(line, &area) && add(areas, &area, err) < 0)
			return (int)err->code;
	}
	return ferror(file) ? err_sys(err, "read %s", path) : 0;
}

static int call(pid_t pid, const struct trace_regs *base, long nr, const uint64_t args[6],
		uint64_t *ret, struct err *err)
{
	long result;

	if (trace_call(pid, base, nr, args, NULL, &result, err) < 0)
		return (int)err->code;
	if (result < 0 && result > -4096)
		return err_set(err, ERR_SYSTEM, "copy shared memory: %s", strerror((int)-result));
	*ret = (uint64_t)result;
	return 0;
}

/* What cannot be read (past the end of a file) is left as zeros, and zeros are not written. */
static int copy_bytes(int memory, const struct area *area, uint64_t target, struct err *err)
{
	static const char zeros[CHUNK];
	char chunk[CHUNK];

	for (uint64_t at = area->from; at < area->to; at += CHUNK) {
		const size_t want = area->to - at < CHUNK ? (size_t)(area->to - at) : CHUNK;
		const ssize_t n = pread(memory, chunk, want, (off_t)at);

		if (n <= 0 || memcmp(chunk, zeros, (size_t)n) == 0)
			continue;
		if (pwrite(memory, chunk, (size_t)n, (off_t)(target + (at - area->from))) != n)
			return err_sys(err, "copy shared memory");
	}
	return 0;
}

static int replace(pid_t pid, const struct trace_regs *base, int memory, const struct area *area,
		   struct err *err)
{
	const uint64_t len = area->to - area->from;
	const uint64_t map[6] = { 0, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				  (uint64_t)-1, 0 };
	uint64_t made, ignored;

	if (call(pid, base, SYS_mmap, map, &made, err) < 0 ||
	    copy_bytes(memory, area, made, err) < 0)
		return (int)err->code;
	{
		const uint64_t move[6] = { made, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, area->from };
		const uint64_t protect[6] = { area->from, len, (uint64_t)area->prot };

		if (call(pid, base, SYS_mremap, move, &ignored, err) < 0)
			return (int)err->code;
		return call(pid, base, SYS_mprotect, protect, &ignored, err);
	}
}

bool unshare_is_needed(pid_t pid)
{
	struct areas areas = { .count = 0 };
	struct err ignored;

	/* What cannot be read is for unshare_memory() to complain about. */
	return find_shared(pid, &areas, &ignored) < 0 || areas.count > 0;
}

int unshare_memory(pid_t pid, const struct trace_regs *base, struct err *err)
{
	struct areas areas = { .count = 0 };
	cleanup_fd int memory = -1;
	char path[64];

	if (find_shared(pid, &areas, err) < 0)
		return (int)err->code;
	if (areas.count == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return err_sys(err, "open %s", path);
	for (size_t i = 0; i < areas.count; i++)
		if (replace(pid, base, memory, &areas.area[i], err) < 0)
			return (int)err->code;
	return 0;
}
