/*
 * unshare.c - gives a copied process memory of its own where the copy would share it.
 *
 * Runs in:  the warden.
 * Reads:    /proc/PID/maps of a stopped process, and its shared memory, which it only copies.
 * Never:    lets a branch write to what its parent maps, or the other way round.
 */
#include "box/twin/unshare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/twin/vma.h"

#define AREAS_MAX 256
#define BYTES_MAX (256ull << 20)
#define CHUNK 65536u

struct areas {
	struct vma area[AREAS_MAX];
	size_t count;
	uint64_t bytes;
};

static int find_shared(pid_t pid, struct areas *areas, struct err *err)
{
	cleanup_fd int maps = -1;
	uint64_t address = 0;

	if (vma_open(pid, &maps, err) < 0)
		return (int)err->code;
	for (;;) {
		struct vma vma;
		const int found = vma_next(maps, address, true, &vma, err);

		if (found <= 0)
			return found;
		areas->bytes += vma.to - vma.from;
		if (areas->count == AREAS_MAX || areas->bytes > BYTES_MAX) {
			(void)err_set(err, ERR_LIMIT, "the session has too much shared memory");
			return err_remedy(err, "close what it maps with MAP_SHARED (mmap, memmap, "
					       "multiprocessing) before it is branched");
		}
		areas->area[areas->count++] = vma;
		address = vma.to;
	}
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
static int copy_bytes(int memory, const struct vma *area, uint64_t target, struct err *err)
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

static int replace(pid_t pid, const struct trace_regs *base, int memory, const struct vma *area,
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
		const uint64_t move[6] = { made, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
					   area->from };
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

	/* If the maps cannot be read, unshare_memory() reports it. */
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
