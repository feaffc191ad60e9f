/*
 * zygote.c - a warmed language process that is forked for each session.
 *
 * Runs in:  reckon-zygote-<language>: trusted until it forks.
 * Reads:    fixed-size messages of the warden.
 * Never:    runs user code, has a second thread, or holds a secret: every kernel can read its
 *           memory.
 *
 * For each session the zygote Z forks a twin T, and T clones the kernel K with CLONE_VM:
 *
 *   Z ──fork──▶ T ──clone(CLONE_VM)──▶ K
 *               stopped by the warden   setns into the box, drops everything, runs user code
 *
 * T stays outside the box and shares K's memory. Whenever the warden needs a copy of the running
 * session it makes T fork: the copy is born outside, where it can be put into a box of its own. T
 * never executes an instruction of user mode again except the system calls the warden injects, so
 * T and K sharing a stack is harmless: K leaves this frame by exit only.
 */
#include "inside/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "inside/enter.h"
#include "inside/cow_heap.h"
#include "inside/prefault.h"
#include "inside/kernel.h"
#include "inside/language.h"
#include "inside/signals.h"
#include "wire/kernel.h"
#include "wire/zygote.h"

/* Since glibc 2.35: the thread's rseq area and its registered size. */
extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;

#if defined(__x86_64__)
#define RSEQ_SIGNATURE 0x53053053u
#else
#define RSEQ_SIGNATURE 0xd428bc00u
#endif
#define RSEQ_UNREGISTER 1
#define RSEQ_AREA_SIZE 32u /* glibc 2.36 registers this size, whatever __rseq_size says is in use */

#define FILTER_MAX 2048

static struct sock_filter filter_insns[FILTER_MAX];
static struct sock_fprog filter = { .filter = filter_insns };
static void *robust_head;
static size_t robust_len;
static pid_t *cached_tid; /* glibc's copy of this thread's id, or NULL */

static void *rseq_area(void)
{
	return (char *)__builtin_thread_pointer() + __rseq_offset;
}

/*
 * glibc keeps the thread id in its thread descriptor, two words before the robust list head
 * (nptl/descr.h, 2.36 and earlier). A raw clone does not update it; the kernel does if given the
 * address. We use the address only if it holds the right value.
 */
static void find_thread_state(void)
{
	pid_t *guess;

	if (syscall(SYS_get_robust_list, 0, &robust_head, &robust_len) < 0 || robust_head == NULL)
		return;
	guess = (pid_t *)(void *)((char *)robust_head - 16);
	if (*guess == (pid_t)syscall(SYS_gettid))
		cached_tid = guess;
}

void zygote_thread_reset(void)
{
	(void)syscall(SYS_rseq, rseq_area(), RSEQ_AREA_SIZE, 0, RSEQ_SIGNATURE);
	if (robust_head != NULL)
		(void)syscall(SYS_set_robust_list, robust_head, robust_len);
}

static int read_filter(struct err *err)
{
	size_t got = 0;
	ssize_t n;

	/* pread(): other zygotes that start now share this open file and its offset. */
	do {
		n = pread(ZYGOTE_FILTER_FD, (char *)filter_insns + got, sizeof(filter_insns) - got,
			  (off_t)got);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return err_sys(err, "read the system call filter");
	filter.len = (unsigned short)(got / sizeof(filter_insns[0]));
	(void)close(ZYGOTE_FILTER_FD);
	if (filter.len == 0)
		return err_set(err, ERR_PROTOCOL, "the warden sent no system call filter");
	return 0;
}

static void report_boot(int boot_fd, const struct err *err, int notify_fd)
{
	struct zygote_boot boot = { .err = *err };
	struct err ignored;

	(void)fd_send_msg(boot_fd, &boot, sizeof(boot), &notify_fd, notify_fd >= 0 ? 1 : 0,
			  &ignored);
}

/* The zygote ignores SIGCHLD so that twins leave no zombies; a kernel must wait for its
 * children. */
static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void kernel_main(const struct enter_plan *plan, int boot_fd)
{
	struct err err = { 0 };
	int at = boot_fd, notify = -1;

	if (enter_box(plan, boot_fd, &at, &notify, &err) < 0) {
		report_boot(at, &err, -1);
		_exit(125);
	}
	report_boot(at, &err, notify);
	(void)close(at);
	(void)close(notify);
	zygote_thread_reset();
	language_ops->after_fork();
	/* Skip exit handlers: libraries would free their whole memory and copy each page of it. */
	_exit(language_ops->serve(KERNEL_FD));
}

/* Joins the box's cgroups: processes that T creates from now on are in them. */
static int join_cgroups(const struct zygote_spawn *spawn, const int *joins, struct err *err)
{
	for (uint32_t i = 0; i < spawn->join_count; i++)
		if (write(joins[i], "0", 1) != 1)
			return err_sys(err, "join the box's control groups");
	if (spawn->has_leave != 0 && dup2(joins[spawn->join_count], ZYGOTE_LEAVE_FD) < 0)
		return err_sys(err, "keep a descriptor");
	return 0;
}

/* T: gives up everything that user code could use to control it, creates K, and is stopped by the
 * warden. */
__attribute__((noreturn)) static void twin_main(const struct enter_plan *plan, int boot_fd,
						const struct zygote_spawn *spawn, const int *joins)
{
	struct err err = { 0 };
	unsigned long flags = SIGCHLD | (cached_tid != NULL ? CLONE_CHILD_SETTID : 0);
	long kernel;

	if (join_cgroups(spawn, joins, &err) < 0) {
		report_boot(boot_fd, &err, -1);
		_exit(125);
	}
	/* T is in the cgroups now, which pay for the pages. Usually this runs ahead of need (the
	 * warden's pool.c). */
	prefault_write_ahead();
	(void)syscall(SYS_rseq, rseq_area(), RSEQ_AREA_SIZE, RSEQ_UNREGISTER, RSEQ_SIGNATURE);
	(void)syscall(SYS_set_robust_list, NULL, sizeof(struct { void *p[3]; }));
	if (setns(plan->init_pidfd, CLONE_NEWPID) < 0) {
		(void)err_sys(&err, "join the box's pid namespace");
		report_boot(boot_fd, &err, -1);
		_exit(125);
	}
	if (spawn->with_twin != 0)
		flags |= CLONE_VM;
	/* An ended kernel stays our zombie, so that its status can be read. */
	(void)signal(SIGCHLD, SIG_DFL);
#if defined(__x86_64__)
	kernel = syscall(SYS_clone, flags, NULL, NULL, cached_tid, 0);
#else
	kernel = syscall(SYS_clone, flags, NULL, NULL, 0, cached_tid);
#endif
	if (kernel == 0) {
		reset_signals();
		kernel_main(plan, boot_fd);
	}
	if (kernel > 0 && spawn->with_twin == 0) {
		/* No twin wanted: stay as the kernel's parent until the warden ends us; then the
		 * ended kernel and its status belong to the warden. */
		(void)syscall(SYS_close_range, 0, ~0u, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			(void)pause();
	}
	_exit(125);
}

static void spawn_kernel(const struct zygote_spawn *spawn, const int *fds, size_t nfds)
{
	const size_t joins_at = spawn->has_landlock != 0 ? 4 : 3;
	const size_t want = joins_at + spawn->join_count + (spawn->has_leave != 0);
	struct enter_plan plan = ENTER_PLAN_NONE;

	if (spawn->type == ZYGOTE_SPAWN && spawn->join_count <= ZYGOTE_JOINS_MAX && nfds == want) {
		plan.filter = &filter;
		plan.init_pidfd = fds[0];
		plan.control_fd = fds[1];
		plan.landlock_fd = spawn->has_landlock != 0 ? fds[3] : -1;
		plan.no_speculation = spawn->no_speculation != 0;
		if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) == 0)
			twin_main(&plan, fds[2], spawn, fds + joins_at);
	}
	fd_close_all(fds, nfds);
}

static size_t split_list(char *list, const char **ret, size_t max)
{
	size_t count = 0;
	char *save = NULL;

	for (char *word = strtok_r(list, ",", &save); word != NULL && count + 1 < max;
	     word = strtok_r(NULL, ",", &save))
		ret[count++] = word;
	ret[count] = NULL;
	return count;
}

/* reckon-zygote-<language> TEMPLATE_DIR|- MODULE,MODULE…|- ("-": none, and skip the preparation) */
int main(int argc, char **argv)
{
	struct zygote_ready ready = { .type = ZYGOTE_READY };
	const char *modules[128] = { NULL };
	struct kernel_warmth warmth = { .modules = modules };
	int code;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	signals_forget_inherited();
	(void)signal(SIGCHLD, SIG_IGN);
	if (argc != 3) {
		(void)fprintf(stderr, "reckon-zygote is started by reckon-warden\n");
		return 2;
	}
	if (strcmp(argv[1], "-") != 0)
		warmth.template_dir = argv[1];
	if (strcmp(argv[2], "-") != 0)
		(void)split_list(argv[2], modules, ARRAY_LEN(modules));
	/* The loader has resolved all symbols once for all forks; programs that cells start may
	 * resolve lazily. */
	(void)unsetenv("LD_BIND_NOW");
	find_thread_state();
	code = read_filter(&ready.err);
	if (code == 0)
		code = language_ops->warm(&warmth, &ready.err);
	/* Consolidates free memory now. Otherwise a kernel's first large free() would do it, and
	 * copy every page with a small free block. */
	(void)malloc_trim(0);
	if (code == 0)
		code = freeze_heap(&ready.frozen_areas, &ready.frozen_bytes, &ready.err);
	if (code == 0 && strcmp(argv[2], "-") != 0)
		ready.hot_pages = (uint32_t)prefault_keep();
	if (fd_send_msg(ZYGOTE_FD, &ready, sizeof(ready), NULL, 0, &ready.err) < 0 || code < 0)
		return 1;
	for (;;) {
		struct zygote_spawn spawn;
		int fds[ZYGOTE_FDS_MAX];
		size_t nfds;
		struct err err;
		ssize_t n = fd_recv_msg(ZYGOTE_FD, &spawn, sizeof(spawn), fds, ARRAY_LEN(fds),
					&nfds, &err);

		if (n != (ssize_t)sizeof(spawn))
			_exit(n == 0 ? 0 : 1);
		spawn_kernel(&spawn, fds, nfds);
	}
}
