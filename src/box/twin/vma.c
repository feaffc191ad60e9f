/*
 * vma.c - looks up the memory areas of another process by address.
 *
 * Runs in:  the warden.
 * Reads:    /proc/PID/maps of a stopped process.
 * Never:    trusts a name in it, which user code can choose.
 */
#include "box/twin/vma.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

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

/* Parses a number, and skips the character `end` behind it ('\0': accepts any, skips none). */
static bool take_number(const char **text, int base, char end, uint64_t *ret)
{
	char *at;

	*ret = strtoull(*text, &at, base);
	if (at == *text || (end != '\0' && *at != end))
		return false;
	*text = at + (end != '\0' ? 1 : 0);
	return true;
}

/* "from-to rwxs offset device inode name" */
static bool parse_line(const char *line, struct vma *ret)
{
	uint64_t from, to, offset, major, minor, inode;
	const char *flags;

	if (!take_number(&line, 16, '-', &from) || !take_number(&line, 16, ' ', &to) ||
	    strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	flags = line;
	line += 5;
	if (!take_number(&line, 16, ' ', &offset) || !take_number(&line, 16, ':', &major) ||
	    !take_number(&line, 16, ' ', &minor) || !take_number(&line, 10, '\0', &inode))
		return false;
	ret->device = major << 32 | minor;
	ret->inode = inode;
	ret->from = from;
	ret->to = to;
	ret->prot = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
		    (flags[2] == 'x' ? PROT_EXEC : 0);
	ret->is_shared = flags[3] == 's';
	ret->is_anonymous = !ret->is_shared && inode == 0;
	return true;
}

int vma_open(pid_t pid, int *ret_fd, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(err, "open %s", path) : 0;
}

static int read_next(int maps, uint64_t address, bool shared, struct vma *ret, struct err *err)
{
	cleanup_file FILE *file = NULL;
	const int copy = fcntl(maps, F_DUPFD_CLOEXEC, 3);
	bool starts = true;
	char line[512];

	file = copy >= 0 ? fdopen(copy, "re") : NULL;
	if (file == NULL || fseek(file, 0, SEEK_SET) < 0)
		return err_sys(err, "read maps");
	while (fgets(line, sizeof(line), file) != NULL) {
		/* A line with a long name comes in pieces, of which only the first can be
		 * parsed. */
		const bool is_first = starts;
		struct vma vma;

		starts = strchr(line, '\n') != NULL;
		if (!is_first || !parse_line(line, &vma) || vma.to <= address ||
		    (shared && !vma.is_shared))
			continue;
		*ret = vma;
		return 1;
	}
	return ferror(file) ? err_sys(err, "read maps") : 0;
}

int vma_next(int maps, uint64_t address, bool shared, struct vma *ret, struct err *err)
{
	struct procmap_query query = {
		.size = sizeof(query),
		.query_addr = address,
		.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA |
			       (shared ? PROCMAP_QUERY_VMA_SHARED : 0),
	};
	uint64_t flags;

	/* Linux 6.11 and later search by themselves: reading 600 lines takes longer than the
	 * fork. */
	if (ioctl(maps, PROCMAP_QUERY, &query) < 0) {
		if (errno == ENOENT)
			return 0;
		return read_next(maps, address, shared, ret, err);
	}
	flags = query.vma_flags;
	*ret = (struct vma){
		.device = (uint64_t)query.dev_major << 32 | query.dev_minor,
		.inode = query.inode,
		.from = query.vma_start,
		.to = query.vma_end,
		.prot = (flags & PROCMAP_QUERY_VMA_READABLE ? PROT_READ : 0) |
			(flags & PROCMAP_QUERY_VMA_WRITABLE ? PROT_WRITE : 0) |
			(flags & PROCMAP_QUERY_VMA_EXECUTABLE ? PROT_EXEC : 0),
		.is_shared = (flags & PROCMAP_QUERY_VMA_SHARED) != 0,
		.is_anonymous = (flags & PROCMAP_QUERY_VMA_SHARED) == 0 && query.inode == 0,
	};
	return 1;
}

int vma_at(pid_t pid, uint64_t address, struct vma *ret, struct err *err)
{
	cleanup_fd int maps = -1;
	struct vma vma;
	int found;

	if (vma_open(pid, &maps, err) < 0)
		return (int)err->code;
	found = vma_next(maps, address, false, &vma, err);
	if (found < 0)
		return found;
	if (found == 0 || address < vma.from)
		return err_set(err, ERR_NOT_FOUND, "nothing is mapped there");
	*ret = vma;
	return 0;
}
