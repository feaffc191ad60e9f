/*
 * cow_heap.c - makes forks of this process cheap.
 *
 * Runs in:  a zygote, once, after it warmed up.
 * Reads:    its own /proc/self/maps and pagemap.
 * Never:    allocates from the heap while it moves it.
 *
 * fork() copies the page tables of areas that hold anonymous pages; for a warmed data stack that is
 * most of the cost of a session. It skips file mappings, whose pages fault in on access. So this
 * moves the anonymous pages into a file. It leaves alone the stack, the vdso, program text, guards,
 * and read-only file pages without relocations.
 */
#include "inside/cow_heap.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define AREAS_MAX 8192
#define MAPS_MAX (4u << 20)
#define PAGE_BYTES 4096ul
#define LARGEST 1032ul /* the largest size for which malloc() has a list of its own */
#define SMALLEST 24ul

struct area {
	unsigned long from, to;
	off_t offset;
	int prot;
};

/* Scratch space outside the moved areas: a shared mapping is not moved. */
struct scratch {
	struct area areas[AREAS_MAX];
	size_t count;
	off_t size;
	char maps[MAPS_MAX];
};

static int read_maps(struct scratch *scratch, struct err *err)
{
	cleanup_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return err_sys(err, "open /proc/self/maps");
	while ((n = read(fd, scratch->maps + len, MAPS_MAX - 1 - len)) > 0)
		len += (size_t)n;
	scratch->maps[len] = '\0';
	if (n < 0 || len == MAPS_MAX - 1)
		return err_set(err, ERR_LIMIT, "cannot read all of /proc/self/maps");
	return 0;
}

/* Whether any page of the area is private to us (pagemap bit 63 present, bit 61 file or shared). */
static bool holds_private_pages(unsigned long from, unsigned long to)
{
	cleanup_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry[512];

	for (unsigned long at = from; fd >= 0 && at < to; at += sizeof(entry) / 8 * PAGE_BYTES) {
		size_t pages = (to - at) / PAGE_BYTES;
		ssize_t n;

		if (pages > 512)
			pages = 512;
		n = pread(fd, entry, pages * 8, (off_t)(at / PAGE_BYTES * 8));
		for (ssize_t i = 0; i < n / 8; i++)
			if ((entry[i] >> 63 & 1) != 0 && (entry[i] >> 61 & 1) == 0)
				return true;
	}
	return false;
}

static bool is_wanted(unsigned long from, unsigned long to, const char *flags, const char *name)
{
	const bool file = name[0] == '/';
	const bool writable = flags[1] == 'w';

	if (flags[3] != 'p' || flags[0] != 'r')
		return false;
	if (strncmp(name, "[stack", 6) == 0 || strncmp(name, "[v", 2) == 0)
		return false;
	if (file && !writable && flags[2] == 'x')
		return false;
	if (file && !writable)
		return holds_private_pages(from, to);
	return true;
}

/* One line of /proc/self/maps: "from-to flags offset device inode   name". */
static void parse_line(struct scratch *scratch, char *line)
{
	char *flags, *name;
	unsigned long from = strtoul(line, &flags, 16);
	unsigned long to = strtoul(flags + 1, &flags, 16);
	struct area *area = &scratch->areas[scratch->count];

	flags++;
	name = flags;
	for (int i = 0; i < 4 && *name != '\0'; i++) {
		name += strcspn(name, " ");
		name += strspn(name, " ");
	}
	if (!is_wanted(from, to, flags, name) || scratch->count == AREAS_MAX)
		return;
	*area = (struct area){ .from = from, .to = to, .offset = scratch->size };
	area->prot = PROT_READ | (flags[1] == 'w' ? PROT_WRITE : 0) |
		     (flags[2] == 'x' ? PROT_EXEC : 0);
	scratch->size += (off_t)(to - from);
	scratch->count++;
}

/* Between the first copy and the last mmap nothing else may write to memory, so call no function
 * that could. */
static int move_areas(const struct scratch *scratch, int fd, struct err *err)
{
	for (size_t i = 0; i < scratch->count; i++) {
		const struct area *area = &scratch->areas[i];
		unsigned long at = area->from;
		off_t offset = area->offset;

		while (at < area->to) {
			ssize_t n = pwrite(fd, (const void *)at, area->to - at, offset);

			if (n <= 0)
				return err_sys(err, "copy memory into the template file");
			at += (unsigned long)n;
			offset += n;
		}
		if (mmap((void *)area->from, area->to - area->from, area->prot,
			 MAP_PRIVATE | MAP_FIXED, fd, area->offset) == MAP_FAILED)
			return err_sys(err, "map the template file");
	}
	return 0;
}

/* malloc()'s free memory between used blocks, without the end of the heap. */
static size_t free_inside(void)
{
	const struct mallinfo2 now = mallinfo2();

	return now.fordblks - now.keepcost;
}

/*
 * malloc() sorts its unsorted free memory at the first large allocation, and then writes to every
 * free chunk. In a fork that copies some hundred pages, so do it here.
 */
static void settle_malloc(void)
{
	const size_t large = 64u * 1024u; /* below the size for which malloc() uses mmap */
	void *volatile block;

	(void)malloc_trim(0);
	block = malloc(large);
	free(block);
	/*
	 * Also use up the free memory between blocks for good, larger chunks first. Otherwise each
	 * fork would place its first small blocks there and copy a page for nearly each.
	 */
	for (size_t size = LARGEST; size >= SMALLEST; size -= 16)
		for (size_t before = free_inside(), after = 0; after < before;) {
			before = free_inside();
			for (int i = 0; i < 16; i++)
				block = malloc(size);
			after = free_inside();
		}
}

/* A private file mapping, as a line of /proc/self/maps shows it. */
struct text {
	unsigned long from, to, offset;
	bool is_readable, is_code;
	const char *file; /* device, inode and name; "" if there is no file */
};

static struct text read_text(char *line)
{
	struct text text = { .file = "" };
	const char *flags;
	char *at;

	text.from = strtoul(line, &at, 16);
	text.to = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
	flags = at + 1; /* "r-xp offset device inode name" */
	if (*at != ' ' || flags[1] != '-' || flags[3] != 'p' || strchr(flags, '/') == NULL)
		return text;
	text.is_readable = flags[0] == 'r';
	text.is_code = flags[2] == 'x';
	text.offset = strtoul(flags + 4, &at, 16);
	text.file = at;
	return text;
}

/*
 * A library is mapped in pieces: constants, code, constants. If all are executable, Linux merges
 * them into one area, and fork() and exit handle a third fewer areas. Executable constants give
 * user code nothing new: a kernel may map code anyway.
 */
static void join_text(struct scratch *scratch)
{
	struct text last = { .file = "" };
	struct err ignored;

	if (read_maps(scratch, &ignored) < 0)
		return;
	for (char *line = scratch->maps, *next; (next = strchr(line, '\n')) != NULL; line = next) {
		struct text now;

		*next++ = '\0';
		now = read_text(line);
		if (now.file[0] != '\0' && strcmp(now.file, last.file) == 0 &&
		    now.from == last.to && now.offset == last.offset + (last.to - last.from) &&
		    now.is_code != last.is_code) {
			const struct text *plain = now.is_code ? &last : &now;

			if (plain->is_readable &&
			    mprotect((void *)plain->from, plain->to - plain->from,
				     PROT_READ | PROT_EXEC) == 0)
				now.is_code = true;
		}
		last = now;
	}
}

int freeze_heap(uint32_t *ret_areas, uint64_t *ret_bytes, struct err *err)
{
	cleanup_fd int fd = memfd_create("reckon-template", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct scratch *scratch = mmap(NULL, sizeof(*scratch), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int code;

	if (fd < 0)
		return err_sys(err, "memfd_create");
	if (scratch == MAP_FAILED)
		return err_sys(err, "map scratch memory");
	settle_malloc();
	code = read_maps(scratch, err);
	for (char *line = scratch->maps, *next; code == 0 && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next == NULL)
			break;
		*next++ = '\0';
		parse_line(scratch, line);
	}
	if (code == 0 && ftruncate(fd, scratch->size) < 0)
		code = err_sys(err, "size the template file");
	if (code == 0)
		code = move_areas(scratch, fd, err);
	if (code == 0)
		join_text(scratch);
	*ret_areas = (uint32_t)scratch->count;
	*ret_bytes = (uint64_t)scratch->size;
	(void)munmap(scratch, sizeof(*scratch));
	if (code == 0)
		code = fd_seal(fd, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW, err);
	return code;
}
