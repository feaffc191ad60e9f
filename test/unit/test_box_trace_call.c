/*
 * test_box_trace_call.c - one system call in a stopped process whose code another can change.
 *
 * Runs in:  the unit suite, with a child that is traced. Its code lies in memory that this process
 *           shares with it, and changes between the checks of trace_call().
 * Reads:    the results of trace_call() and trace_own_instruction().
 * Never:    lets the child run anything but the calls named here.
 */
#include "unit.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/twin/trace.h"
#include "box/twin/trace_arch.h"

#define PAGE 4096u
#define FRAME 1024u /* where a frame of a signal is built */
#define ELSEWHERE 2048u

#define LISTENER 512u /* where a child stores the number of its seccomp listener */

#if defined(__x86_64__)
static const unsigned char call_code[] = { 0x0f, 0x05 };
static const unsigned char other_code[] = { 0xcd, 0x80 }; /* int 0x80 */
#else
static const unsigned char call_code[] = { 0x01, 0x00, 0x00, 0xd4 };
static const unsigned char other_code[] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk */
#endif

struct child {
	pid_t pid;
	unsigned char *code; /* shared with the child; starts with the system call */
	struct trace_regs base;
};

static volatile int *listener_of(const struct child *child)
{
	return (volatile int *)(void *)(child->code + LISTENER);
}

static struct trace_regs regs_after(const struct trace_regs *regs, const unsigned char *code)
{
	struct trace_regs ret = *regs;
	const uint64_t at = (uint64_t)(uintptr_t)code + sizeof(call_code);

#if defined(__x86_64__)
	ret.user.rip = at;
	ret.user.orig_rax = (uint64_t)-1;
#else
	ret.user.pc = at;
#endif
	return ret;
}

/* From here on, a seccomp listener answers the mmap() calls of the process. */
static int answer_mmap_elsewhere(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static int begin(void **state, bool has_listener)
{
	struct child *child = calloc(1, sizeof(*child));
	struct err err;
	int sig;

	assert_non_null(child);
	child->code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(child->code, MAP_FAILED);
	memcpy(child->code, call_code, sizeof(call_code));
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		if (has_listener)
			*listener_of(child) = answer_mmap_elsewhere();
		for (;;)
			(void)pause();
	}
	while (has_listener && *listener_of(child) == 0)
		(void)usleep(1000);
	assert_ok(&err, trace_seize(child->pid, &err));
	assert_ok(&err, trace_interrupt(child->pid, &sig, &err));
	assert_ok(&err, trace_regs_get(child->pid, &child->base, &err));
	child->base = regs_after(&child->base, child->code);
	*state = child;
	return 0;
}

static int setup(void **state)
{
	return begin(state, false);
}

static int setup_with_listener(void **state)
{
	return begin(state, true);
}

static int teardown(void **state)
{
	struct child *child = *state;

	(void)kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, __WALL) == child->pid)
		; /* stops that were not read, then the end */
	(void)munmap(child->code, PAGE);
	free(child);
	return 0;
}

UNIT_TEST_WITH(a_call_returns_its_result, setup, teardown)
{
	struct child *child = *state;
	const uint64_t args[6] = { 0 };
	struct err err;
	long result;

	assert_ok(&err, trace_call(child->pid, &child->base, SYS_getpid, args, NULL, &result, &err));
	assert_int_equal(result, child->pid);
}

UNIT_TEST_WITH(code_that_changed_before_is_not_run, setup, teardown)
{
	struct child *child = *state;
	const uint64_t args[6] = { 0 };
	struct trace_regs regs;
	struct err err;
	long result;

	memcpy(child->code, other_code, sizeof(other_code));
	assert_err(&err, ERR_DENIED,
		   trace_call(child->pid, &child->base, SYS_getpid, args, NULL, &result, &err));
	/* The instruction pointer is not in the changed code: nothing was run. */
	assert_ok(&err, trace_regs_get(child->pid, &regs, &err));
	assert_int_not_equal(trace_address(&regs), trace_address(&child->base));
}

struct changer {
	unsigned char *code;
	int fd;
};

/* Changes the code while the child waits in its call, then lets the call return. */
static void *change(void *arg)
{
	const struct changer *changer = arg;
	const struct timespec pause = { .tv_nsec = 100000000 };

	(void)nanosleep(&pause, NULL);
	memcpy(changer->code, other_code, sizeof(other_code));
	if (write(changer->fd, "x", 1) != 1)
		abort();
	return NULL;
}

UNIT_TEST_WITH(code_that_changes_during_the_call_is_detected, setup, teardown)
{
	struct child *child = *state;
	struct changer changer = { .code = child->code };
	struct err err;
	pthread_t thread;
	long result;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	changer.fd = ends[1];
	/* The pipe is newer than the child, which opens it through /proc of this process. */
	{
		const uint64_t open_args[6] = { (uint64_t)AT_FDCWD,
						(uint64_t)(uintptr_t)child->code + FRAME, O_RDONLY };
		uint64_t args[6] = { 0, (uint64_t)(uintptr_t)child->code + FRAME, 1 };

		(void)snprintf((char *)child->code + FRAME, 64, "/proc/%d/fd/%d", (int)getpid(), ends[0]);
		assert_ok(&err, trace_call(child->pid, &child->base, SYS_openat, open_args, NULL,
					   &result, &err));
		assert_true(result >= 0);
		args[0] = (uint64_t)result;
		assert_int_equal(pthread_create(&thread, NULL, change, &changer), 0);
		assert_err(&err, ERR_DENIED, trace_call(child->pid, &child->base, SYS_read, args,
							NULL, &result, &err));
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

struct false_answer {
	int listener;
	uint64_t address;
};

static void *answer_mmap(void *arg)
{
	const struct false_answer *false_answer = arg;
	struct seccomp_notif request = { 0 };
	struct seccomp_notif_resp response = { .val = (int64_t)false_answer->address };

	if (ioctl(false_answer->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		abort();
	response.id = request.id;
	if (ioctl(false_answer->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0)
		abort();
	return NULL;
}

/* The warden writes its list of calls to the result of mmap(), so it must check the address. */
UNIT_TEST_WITH(a_false_result_of_mmap_is_not_written_to, setup_with_listener, teardown)
{
	struct child *child = *state;
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	cleanup_fd int listener =
		(int)syscall(SYS_pidfd_getfd, pidfd, *listener_of(child), 0);
	struct false_answer false_answer = { listener, (uint64_t)(uintptr_t)child->code };
	struct trace_regs own;
	pthread_t thread;
	struct err err;
	uint64_t page;

	assert_true(listener >= 0);
	assert_int_equal(pthread_create(&thread, NULL, answer_mmap, &false_answer), 0);
	assert_err(&err, ERR_DENIED, trace_own_page(child->pid, &child->base, &own, &page, &err));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_memory_equal(child->code, call_code, sizeof(call_code));
}

#if defined(__x86_64__)
/* Linux restores the registers from this frame when a signal handler returns. */
struct frame {
	uint64_t flags, link, stack[3], r[8], rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8], mask;
};

UNIT_TEST_WITH(a_call_that_returns_elsewhere_is_detected, setup, teardown)
{
	struct child *child = *state;
	struct frame *frame = (struct frame *)(void *)(child->code + FRAME);
	const uint64_t args[6] = { 0 };
	struct trace_regs base = child->base;
	struct err err;
	long result;

	*frame = (struct frame){ .rsp = base.user.rsp, .eflags = 0x202,
				 .rip = (uint64_t)(uintptr_t)child->code + ELSEWHERE,
				 .cs = (uint16_t)base.user.cs, .ss = (uint16_t)base.user.ss };
	base.user.rsp = (uint64_t)(uintptr_t)frame;
	assert_err(&err, ERR_DENIED,
		   trace_call(child->pid, &base, SYS_rt_sigreturn, args, NULL, &result, &err));
	assert_non_null(strstr(err.text, "elsewhere"));
}
#endif

UNIT_TEST_WITH(an_unexpected_child_is_detected, setup, teardown)
{
	struct child *child = *state;
	const uint64_t args[6] = { SIGCHLD };
	struct err err;
	pid_t made;
	long result;

	assert_err(&err, ERR_DENIED,
		   trace_call(child->pid, &child->base, SYS_clone, args, NULL, &result, &err));
	assert_ok(&err, trace_event_pid(child->pid, &made, &err));
	assert_int_equal(kill(made, SIGKILL), 0);
	while (waitpid(made, NULL, __WALL) == made)
		;
}

/* The page belongs to the expected file; it is refused because its mapping is shared. */
UNIT_TEST_WITH(a_shared_page_is_refused, setup, teardown)
{
	struct child *child = *state;
	struct trace_code code;
	struct err err;

	assert_ok(&err, trace_code_find(child->pid, &child->base, &code, &err));
	assert_err(&err, ERR_DENIED,
		   trace_own_instruction(child->pid, &child->base, &code, &err));
	assert_non_null(strstr(err.text, "changed program code"));
}

/* After that, a change of the file does not change the code of the process. */
UNIT_TEST_WITH(a_private_page_of_the_expected_file_is_accepted, setup, teardown)
{
	struct child *child = *state;
	cleanup_fd int file = memfd_create("code", MFD_CLOEXEC);
	struct trace_code code, none = { 0 };
	uint64_t args[6] = { 0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0, 0 };
	struct trace_regs base = child->base;
	struct err err;
	long result;

	assert_int_equal(ftruncate(file, PAGE), 0);
	assert_int_equal(pwrite(file, call_code, sizeof(call_code), 0), (ssize_t)sizeof(call_code));
	(void)snprintf((char *)child->code + FRAME, 64, "/proc/%d/fd/%d", (int)getpid(), file);
	{
		const uint64_t open_args[6] = { (uint64_t)AT_FDCWD,
						(uint64_t)(uintptr_t)child->code + FRAME, O_RDWR };

		assert_ok(&err, trace_call(child->pid, &base, SYS_openat, open_args, NULL, &result,
					   &err));
		args[4] = (uint64_t)result;
	}
	assert_ok(&err, trace_call(child->pid, &base, SYS_mmap, args, NULL, &result, &err));
	assert_true(result > 0);
	base = regs_after(&base, (const unsigned char *)(uintptr_t)result);
	assert_ok(&err, trace_code_find(child->pid, &base, &code, &err));
	/* A page of another file is refused, whatever it contains. */
	assert_err(&err, ERR_DENIED, trace_own_instruction(child->pid, &base, &none, &err));
	assert_ok(&err, trace_own_instruction(child->pid, &base, &code, &err));
	assert_int_equal(pwrite(file, other_code, sizeof(other_code), 0),
			 (ssize_t)sizeof(other_code));
	assert_true(trace_stands_behind_call(child->pid, &base));
	/* A place without the system call instruction is refused. */
	base = regs_after(&base, (const unsigned char *)(uintptr_t)result + 16);
	assert_err(&err, ERR_DENIED, trace_own_instruction(child->pid, &base, &code, &err));
}
