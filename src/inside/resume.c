/*
 * resume.c - saves and restores what a live branch does not inherit.
 *
 * Runs in:  a language kernel, at each return to idle and once at the start of a branch.
 * Reads:    RESUME packets of the host.
 * Never:    allocates; in a branch the heap's locks may belong to threads that do not exist.
 */
#include "inside/resume.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inside/prefault.h"
#include "inside/zygote.h"

/* reckon-kernel-direct has no zygote.c, and no prefault.c. */
#pragma weak zygote_thread_reset
#pragma weak prefault_write_rest

#define SIGNAL_MAX 64

/* Linux's own struct: the C library's one hides the restorer. */
struct raw_action {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};

static struct {
	bool valid;
	bool has_cwd;
	mode_t umask;
	struct raw_action actions[SIGNAL_MAX + 1];
	char cwd[PATH_MAX];
} saved;

void resume_save(void)
{
	saved.has_cwd = getcwd(saved.cwd, sizeof(saved.cwd)) != NULL && saved.cwd[0] == '/';
	saved.umask = umask(077);
	(void)umask(saved.umask);
	for (long sig = 1; sig <= SIGNAL_MAX; sig++)
		(void)syscall(SYS_rt_sigaction, sig, NULL, &saved.actions[sig], sizeof(uint64_t));
	saved.valid = true;
}

void resume_apply(int sock)
{
	if (zygote_thread_reset != NULL)
		zygote_thread_reset();
	(void)fcntl(sock, F_SETFD, FD_CLOEXEC);
	if (!saved.valid)
		return;
	for (long sig = 1; sig <= SIGNAL_MAX; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, sig, &saved.actions[sig], NULL,
				      sizeof(uint64_t));
	(void)umask(saved.umask);
	/* The branch's workspace may lack the directory; the root always exists. */
	if (saved.has_cwd && chdir(saved.cwd) < 0)
		saved.has_cwd = chdir("/") == 0;
}

bool resume_number(const struct kernel_item *item, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (item == NULL || item->len == 0 || item->len > 20)
		return false;
	for (uint32_t i = 0; i < item->len; i++) {
		unsigned digit = (unsigned)(unsigned char)item->data[i] - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return true;
}

static bool reopen_one(uint64_t number, const struct kernel_item *path, uint64_t flags,
		       uint64_t offset)
{
	/* Reopening a file must not create, empty or exclusively create it again. */
	const uint64_t once = O_CREAT | O_EXCL | O_TRUNC;
	char name[PATH_MAX];
	int fd;

	if (number > INT_MAX || number <= KERNEL_FD || path->len == 0 || path->len >= sizeof(name))
		return false;
	memcpy(name, path->data, path->len);
	name[path->len] = '\0';
	fd = open(name, (int)((flags & ~once) | O_CLOEXEC));
	if (fd < 0)
		return false;
	if (offset > 0)
		(void)lseek(fd, (off_t)offset, SEEK_SET);
	if (fd == (int)number) {
		(void)fcntl(fd, F_SETFD, (flags & O_CLOEXEC) != 0 ? FD_CLOEXEC : 0);
		return true;
	}
	if (dup3(fd, (int)number, (int)(flags & O_CLOEXEC)) < 0) {
		(void)close(fd);
		return false;
	}
	(void)close(fd);
	return true;
}

unsigned resume_reopen(const struct kernel_item *items, size_t count)
{
	unsigned failed = 0;

	for (size_t i = 0; i + 3 < count; i++) {
		uint64_t number, flags, offset;

		if (items[i].tag != KERNEL_TAG_OPEN_FD)
			continue;
		if (items[i + 1].tag != KERNEL_TAG_OPEN_PATH ||
		    items[i + 2].tag != KERNEL_TAG_OPEN_FLAGS ||
		    items[i + 3].tag != KERNEL_TAG_OPEN_OFFSET ||
		    !resume_number(&items[i], &number) || !resume_number(&items[i + 2], &flags) ||
		    !resume_number(&items[i + 3], &offset) ||
		    !reopen_one(number, &items[i + 1], flags, offset))
			failed++;
	}
	return failed;
}

void resume_join_cgroups(const int *fds, size_t nfds)
{
	/* If this fails the session stays outside its group and competes for CPU time by
	 * itself; there is no way to report it yet. */
	if (nfds == 1 && write(fds[0], "0", 1) < 0)
		return;
}

void resume_park(void)
{
	if (prefault_write_rest != NULL)
		prefault_write_rest();
}
