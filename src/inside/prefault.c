/*
 * prefault.c - copies the pages that every session writes to into the zygote ahead of time.
 *
 * Runs in:  a zygote, once, after cow_heap.c; and a child of it that rehearses a session.
 * Reads:    /proc/self/maps and pagemap; packets of the child, which runs a cell of Reckon's own.
 * Never:    changes a byte of memory; fails.
 *
 * After cow_heap.c fork() copies no page tables, since a session touches little of the memory. But
 * for the pages that it does touch this is slower: each costs a fault, Linux maps fifteen
 * neighbours along with it, all of these are unmapped again at the end, and a page that is first
 * read and later written costs a second fault. These pages are nearly the same in every session. So
 * the zygote rehearses a session, and makes these pages private anonymous memory by writing to each
 * a byte that it already holds. fork() copies the table entries of such pages: pages that a session
 * only reads are mapped, and a write costs one fault.
 *
 * userfaultfd is used here only because Linux maps no neighbours in an area that it watches.
 *
 * A kernel always writes to the same pages before it is ready, and every first cell writes to
 * nearly the same pages. Shorter rehearsals find these: prefault_write_ahead() copies them before a
 * client waits, up to a limit, because a session that never runs a cell pays for them, too. A
 * parked kernel, of which there is one, copies the rest as well.
 */
#include "inside/prefault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "inside/language.h"
#include "wire/kernel.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_WP_ASYNC (1ull << 15) /* Linux 6.7: any area can be watched, and no fault waits */

#define PAGE_BYTES 4096ul
#define AREAS_MAX 8192
#define PAGES_MAX 16384
#define MAPS_MAX (4u << 20)
#define REHEARSAL_MS 10000
#define PRESENT (1ull << 63)
#define CLEAN (1ull << 61) /* the file's own page, or a shared one; not our copy */
#define ENTRIES 512
/* Limit for the pages that only a cell writes to: a session without cells pays for them, too. */
#define AHEAD_MAX 160
#define RUNS_MAX 512

struct area {
	unsigned long from, to;
};

enum rehearsal { START, FIRST_CELL, WHOLE, REHEARSALS };

/* What prefault_write_ahead() and prefault_write_rest() write to. */
static struct runs {
	struct area run[RUNS_MAX];
	size_t count;
} ahead, rest;

/* Shared with the child, so cow_heap.c, fork() and this file skip it. */
struct scratch {
	struct area areas[AREAS_MAX];
	size_t area_count;
	size_t before_count, prefault_count;
	unsigned long before[PAGES_MAX]; /* present when the child started */
	unsigned long hot[PAGES_MAX];	 /* pages that were added, sorted; in shorter rehearsals
					  * only if written */
	unsigned long start[PAGES_MAX];	 /* pages that a kernel writes to until it is ready */
	size_t start_count;
	bool is_complete;
	char maps[MAPS_MAX];
};

/* Finds private file mappings, including the frozen heap. */
static bool find_areas(struct scratch *scratch)
{
	cleanup_fd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, scratch->maps + len, MAPS_MAX - 1 - len)) > 0)
		len += (size_t)n;
	scratch->maps[len] = '\0';
	for (char *line = scratch->maps, *next; *line != '\0'; line = next) {
		unsigned long from, to;
		char *at = line;

		next = strchr(line, '\n');
		if (next == NULL)
			break;
		*next++ = '\0';
		from = strtoul(at, &at, 16);
		to = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
		/* " rwxp offset dev inode path": inode 0 means no file. */
		if (*at != ' ' || at[1] != 'r' || at[4] != 'p' || strchr(at, '/') == NULL)
			continue;
		if (scratch->area_count == AREAS_MAX)
			return false;
		scratch->areas[scratch->area_count++] = (struct area){ from, to };
	}
	return scratch->area_count > 0;
}

/* From now on a fault in these areas maps only one page. Negative if the host does not support
 * it. */
static int map_single_pages(const struct scratch *scratch)
{
	struct uffdio_api api = { .api = UFFD_API, .features = FEATURE_WP_ASYNC };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) < 0) {
		(void)close(fd);
		return -1;
	}
	for (size_t i = 0; i < scratch->area_count; i++) {
		const struct area *area = &scratch->areas[i];
		struct uffdio_register watch = {
			.range = { .start = area->from, .len = area->to - area->from },
			.mode = UFFDIO_REGISTER_MODE_WP,
		};

		if (ioctl(fd, UFFDIO_REGISTER, &watch) < 0) {
			(void)close(fd);
			return -1;
		}
	}
	return fd;
}

/* Lists pages that are now mapped, or copied for a write, and are not in `known`, which is
 * sorted. */
static bool list_present(const struct scratch *scratch, bool if_written,
			 const unsigned long *known, size_t known_count, unsigned long *ret,
			 size_t *ret_count)
{
	cleanup_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry[ENTRIES];
	size_t count = 0, k = 0;

	for (size_t i = 0; fd >= 0 && i < scratch->area_count; i++) {
		const struct area *area = &scratch->areas[i];

		for (unsigned long at = area->from; at < area->to; at += ENTRIES * PAGE_BYTES) {
			size_t want = (area->to - at) / PAGE_BYTES;

			want = want < ENTRIES ? want : ENTRIES;
			if (pread(fd, entry, want * 8, (off_t)(at / PAGE_BYTES * 8)) !=
			    (ssize_t)(want * 8))
				return false;
			for (size_t e = 0; e < want; e++) {
				const unsigned long page = at + e * PAGE_BYTES;

				while (k < known_count && known[k] < page)
					k++;
				if ((entry[e] & PRESENT) == 0 ||
				    (if_written && (entry[e] & CLEAN) != 0) ||
				    (k < known_count && known[k] == page))
					continue;
				if (count == PAGES_MAX)
					return false;
				ret[count++] = page;
			}
		}
	}
	*ret_count = count;
	return fd >= 0;
}

/*
 * Removes pages that are still the file's own from the page table. The zygote touched them while it
 * warmed up, and fork() would copy their entries, now that these areas have anonymous pages. A
 * fault maps them again.
 */
static void forget_clean_pages(const struct scratch *scratch)
{
	cleanup_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry[ENTRIES];

	for (size_t i = 0; fd >= 0 && i < scratch->area_count; i++) {
		const struct area *area = &scratch->areas[i];

		for (unsigned long at = area->from; at < area->to; at += ENTRIES * PAGE_BYTES) {
			size_t want = (area->to - at) / PAGE_BYTES, from = 0;

			want = want < ENTRIES ? want : ENTRIES;
			if (pread(fd, entry, want * 8, (off_t)(at / PAGE_BYTES * 8)) !=
			    (ssize_t)(want * 8))
				return;
			for (size_t e = 0; e <= want; e++) {
				if (e < want && (entry[e] & PRESENT) != 0 &&
				    (entry[e] & CLEAN) != 0)
					continue;
				if (e > from)
					(void)madvise((char *)at + from * PAGE_BYTES,
						      (e - from) * PAGE_BYTES, MADV_DONTNEED);
				from = e + 1;
			}
		}
	}
}

/* The child: plays a session until the host closes the socket. */
__attribute__((noreturn)) static void rehearse(struct scratch *scratch, enum rehearsal what,
					       int sock)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGCHLD, SIG_DFL);
	if (dup2(sock, KERNEL_FD) < 0 || map_single_pages(scratch) < 0 ||
	    !list_present(scratch, false, NULL, 0, scratch->before, &scratch->before_count))
		_exit(1);
	language_ops->after_fork();
	(void)language_ops->serve(KERNEL_FD);
	scratch->is_complete = list_present(scratch, what != WHOLE, scratch->before,
					    scratch->before_count, scratch->hot,
					    &scratch->prefault_count);
	_exit(0);
}

static bool send_cell(int sock, uint64_t id, const char *code, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = { null, null, null };

	return null >= 0 &&
	       kernel_pack(&payload, KERNEL_TAG_CODE, code, strlen(code), err) == 0 &&
	       kernel_pack(&payload, KERNEL_TAG_FILENAME, "<cell 1>", 8, err) == 0 &&
	       kernel_send(sock, KERNEL_EXECUTE, id, &payload, fds, 3, err) == 0;
}

/* Plays the host, until the last packet that matters. */
static bool answer(int sock, enum kernel_type last)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	const struct buf nothing = BUF_INIT(0);
	struct err err;

	for (;;) {
		struct pollfd wait = { .fd = sock, .events = POLLIN };
		struct kernel_head head;
		size_t nfds;

		if (poll(&wait, 1, REHEARSAL_MS) <= 0 ||
		    kernel_recv(sock, &head, &payload, NULL, 0, &nfds, &err) <= 0)
			return false;
		if (head.type == last)
			return true;
		if (head.type == KERNEL_SYNC &&
		    kernel_send(sock, KERNEL_SYNC_ACK, head.id, &nothing, NULL, 0, &err) < 0)
			return false;
	}
}

static bool run_rehearsal(struct scratch *scratch, enum rehearsal what)
{
	const char *const cells[REHEARSALS] = { NULL, language_ops->first_cell,
						language_ops->rehearsal };
	struct err err;
	int pair[2];
	pid_t child;
	bool done;

	scratch->is_complete = false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (child == 0) {
		(void)close(pair[0]);
		rehearse(scratch, what, pair[1]);
	}
	(void)close(pair[1]);
	done = child > 0 &&
	       (cells[what] == NULL || send_cell(pair[0], 1, cells[what], &err)) &&
	       answer(pair[0], cells[what] == NULL ? KERNEL_READY : KERNEL_DONE);
	(void)close(pair[0]);
	if (child > 0 && !done)
		(void)kill(child, SIGKILL);
	/* SIGCHLD is ignored here, so there is no status: this waits until the child has ended. */
	if (child > 0)
		(void)waitpid(child, NULL, __WALL);
	return done && scratch->is_complete;
}

/* Writes through /proc, since most of these pages are not writable. */
static size_t make_private(const struct scratch *scratch)
{
	cleanup_fd int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	size_t count = 0;

	for (size_t i = 0; memory >= 0 && i < scratch->prefault_count; i++) {
		const unsigned long page = scratch->hot[i];

		if (pwrite(memory, (const void *)page, 1, (off_t)page) == 1)
			count++;
	}
	return count;
}

static bool add_run(struct runs *runs, unsigned long page)
{
	struct area *last = runs->count > 0 ? &runs->run[runs->count - 1] : NULL;

	if (last != NULL && last->to == page) {
		last->to += PAGE_BYTES;
		return true;
	}
	if (runs->count == RUNS_MAX)
		return false;
	runs->run[runs->count++] = (struct area){ page, page + PAGE_BYTES };
	return true;
}

/* Merges two sorted lists into `ahead`, but of the second one only AHEAD_MAX pages. */
static void choose_runs(const struct scratch *scratch)
{
	size_t s = 0, taken = 0;
	bool room = true;

	for (size_t h = 0; room && h < scratch->prefault_count; h++) {
		for (; room && s < scratch->start_count && scratch->start[s] < scratch->hot[h]; s++)
			room = add_run(&ahead, scratch->start[s]);
		if (s < scratch->start_count && scratch->start[s] == scratch->hot[h])
			room = add_run(&ahead, scratch->start[s++]);
		else if (taken++ < AHEAD_MAX)
			room = room && add_run(&ahead, scratch->hot[h]);
		else
			(void)add_run(&rest, scratch->hot[h]);
	}
	for (; room && s < scratch->start_count; s++)
		room = add_run(&ahead, scratch->start[s]);
}

static void rehearse_writes(struct scratch *scratch)
{
	if (!run_rehearsal(scratch, START))
		return;
	memcpy(scratch->start, scratch->hot, scratch->prefault_count * sizeof(*scratch->hot));
	scratch->start_count = scratch->prefault_count;
	if (run_rehearsal(scratch, FIRST_CELL))
		choose_runs(scratch);
}

static void write_runs(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		(void)madvise((void *)runs->run[i].from, runs->run[i].to - runs->run[i].from,
			      MADV_POPULATE_WRITE);
}

void prefault_write_ahead(void)
{
	write_runs(&ahead);
}

void prefault_write_rest(void)
{
	write_runs(&rest);
}

size_t prefault_keep(void)
{
	struct scratch *scratch;
	size_t count = 0;
	int single = -1;

	if (language_ops->rehearsal == NULL)
		return 0;
	scratch = mmap(NULL, sizeof(*scratch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (scratch == MAP_FAILED)
		return 0;
	if (find_areas(scratch) && (single = map_single_pages(scratch)) >= 0) {
		rehearse_writes(scratch);
		if (run_rehearsal(scratch, WHOLE)) {
			forget_clean_pages(scratch);
			count = make_private(scratch);
		}
	}
	if (single >= 0)
		(void)close(single);
	(void)munmap(scratch, sizeof(*scratch));
	return count;
}
