/*
 * trace.c - system calls in a stopped process, by ptrace.
 *
 * Runs in:  the warden.
 * Reads:    registers and one code word of stopped processes.
 * Never:    resumes a process that shares memory with user code, except for one checked instruction
 *           or from a page of our own.
 */
#include "box/twin/trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/sys.h"
#include "box/twin/trace_arch.h"
#include "box/twin/vma.h"

#if defined(__x86_64__)
#define FP_SET NT_X86_XSTATE
#else
#define FP_SET NT_PRFPREG
#endif

#define LIST_PAGE_BYTES (64u * 1024u)
#define PAGE_BYTES 4096u
#define INTERRUPT_NS 300000000ull /* on a busy host a task may wait for its processor */

static const unsigned long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE |
				     PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;

int trace_seize(pid_t pid, struct err *err)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0)
		return err_sys(err, "trace process %d", (int)pid);
	return 0;
}

/* Whether a task has ended or is about to: Linux does not let it be traced, and says EPERM. */
static bool has_ended(pid_t pid)
{
	char path[64], line[512];
	cleanup_fd int fd = -1;
	const char *name_end;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		/* Reaped meanwhile; if it cannot be read, it may still run. */
		return errno == ENOENT;
	len = read(fd, line, sizeof(line) - 1);
	if (len <= 0)
		return len < 0 && errno == ESRCH;
	line[len] = '\0';
	name_end = strrchr(line, ')');
	return name_end != NULL && name_end[1] == ' ' && strchr("ZX", name_end[2]) != NULL;
}

/* A task that did not stop in time stays traced until its late stop is seen: see trace_stray(). */
static bool is_held(pid_t pid)
{
	static const char field[] = "\nTracerPid:\t";
	char path[64], text[4096];
	cleanup_fd int fd = -1;
	const char *at;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (len <= 0)
		return false;
	text[len] = '\0';
	at = strstr(text, field);
	return at != NULL && strtol(at + strlen(field), NULL, 10) == getpid();
}

int trace_hold(pid_t pid, struct err *err)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
		return 0;
	(void)err_sys(err, "trace process %d", (int)pid);
	if (err->errnum == EPERM && is_held(pid))
		return 0;
	if (err->errnum == ESRCH || (err->errnum == EPERM && has_ended(pid)))
		return err_set(err, ERR_LOST, "process %d ended", (int)pid);
	return (int)err->code;
}

int trace_wait_stop(pid_t pid, int *ret_event, struct err *err)
{
	int status;
	pid_t got;

	do
		got = waitpid(pid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_sys(err, "wait for process %d", (int)pid);
	if (!WIFSTOPPED(status))
		return err_set(err, ERR_LOST, "process %d ended (status %x)", (int)pid,
			       (unsigned)status);
	*ret_event = status >> 8;
	return 0;
}

int trace_interrupt(pid_t pid, int *ret_sig, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	const uint64_t until = clock_mono_ns() + INTERRUPT_NS;
	int status = 0;
	pid_t got;

	*ret_sig = 0;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return err_sys(err, "interrupt process %d", (int)pid);
	while ((got = waitpid(pid, &status, __WALL | WNOHANG)) == 0) {
		if (clock_mono_ns() > until)
			return err_set(err, ERR_TIMEOUT, "process %d does not stand still",
				       (int)pid);
		(void)nanosleep(&pause, NULL);
	}
	if (got < 0)
		return err_sys(err, "wait for process %d", (int)pid);
	if (!WIFSTOPPED(status))
		return err_set(err, ERR_LOST, "process %d ended", (int)pid);
	if (status >> 16 == 0)
		*ret_sig = WSTOPSIG(status);
	return 0;
}

bool trace_stray(pid_t pid, int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0;
}

int trace_event_pid(pid_t pid, pid_t *ret_pid, struct err *err)
{
	unsigned long message;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &message) < 0)
		return err_sys(err, "read a trace event");
	*ret_pid = (pid_t)message;
	return 0;
}

int trace_continue(pid_t pid, struct err *err)
{
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) < 0)
		return err_sys(err, "continue process %d", (int)pid);
	return 0;
}

int trace_pass_signal(pid_t pid, int sig)
{
	return ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig) < 0 ? ERR_SYSTEM : 0;
}

int trace_detach(pid_t pid, int sig, struct err *err)
{
	if (ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)sig) < 0)
		return err_sys(err, "let process %d go", (int)pid);
	return 0;
}

static bool is_fork_event(int event)
{
	const int kind = event >> 8;

	return kind == PTRACE_EVENT_FORK || kind == PTRACE_EVENT_VFORK ||
	       kind == PTRACE_EVENT_CLONE;
}

int trace_until_fork(pid_t pid, pid_t *ret_child, struct err *err)
{
	for (int stops = 0; stops < 64; stops++) {
		int event, sig;

		if (trace_wait_stop(pid, &event, err) < 0)
			return (int)err->code;
		if (is_fork_event(event))
			return trace_event_pid(pid, ret_child, err);
		/* Pass a signal on; trace stops of another kind carry none. */
		sig = (event >> 8) == 0 ? event & 0xff : 0;
		if (trace_pass_signal(pid, sig) < 0)
			return err_sys(err, "continue process %d", (int)pid);
	}
	return err_set(err, ERR_PROTOCOL, "process %d does not fork", (int)pid);
}

int trace_finish_call(pid_t pid, struct err *err)
{
	int event;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
		return err_sys(err, "step process %d", (int)pid);
	return trace_wait_stop(pid, &event, err);
}

int trace_regs_get(pid_t pid, struct trace_regs *ret, struct err *err)
{
	struct iovec iov = { .iov_base = &ret->user, .iov_len = sizeof(ret->user) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) < 0)
		return err_sys(err, "read registers");
	return 0;
}

int trace_regs_set(pid_t pid, const struct trace_regs *regs, struct err *err)
{
	struct trace_regs copy = *regs;
	struct iovec iov = { .iov_base = &copy.user, .iov_len = sizeof(copy.user) };

	if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &iov) < 0)
		return err_sys(err, "set registers");
	return 0;
}

int trace_fpregs_get(pid_t pid, struct trace_fpregs *ret, struct err *err)
{
	struct iovec iov = { .iov_base = ret->bytes, .iov_len = sizeof(ret->bytes) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)(long)FP_SET, &iov) < 0)
		return err_sys(err, "read floating point registers");
	ret->len = iov.iov_len;
	return ret->len < sizeof(ret->bytes)
		       ? 0
		       : err_set(err, ERR_UNAVAILABLE, "floating point state is too large");
}

int trace_fpregs_set(pid_t pid, const struct trace_fpregs *regs, struct err *err)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)regs->bytes, .iov_len = regs->len };

	if (ptrace(PTRACE_SETREGSET, pid, (void *)(long)FP_SET, &iov) < 0)
		return err_sys(err, "set floating point registers");
	return 0;
}

bool trace_stands_behind_call(pid_t pid, const struct trace_regs *regs)
{
	const uint64_t address = trace_arch_call_address(regs);
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)address, NULL);
	return errno == 0 && trace_arch_is_call((uint64_t)word);
}

static int tampered(pid_t pid, const char *how, struct err *err)
{
	return err_set(err, ERR_DENIED, "process %d was tampered with (%s)", (int)pid, how);
}

/*
 * Writing a word back to its place, as a debugger does, gives the process a copy of that page of
 * its own: what another box or the host later writes to the file behind it does not appear there.
 */
static int take_page(pid_t pid, uint64_t address, const struct trace_code *code, struct err *err)
{
	void *word_at = (void *)(address & ~(uint64_t)7);
	struct vma vma;
	long word;

	if (vma_at(pid, address, &vma, err) < 0 || vma.is_shared ||
	    (!vma.is_anonymous && (vma.device != code->device || vma.inode != code->inode)))
		return err_set(err, ERR_DENIED, "the session changed program code that branching "
						"relies on: another file lies there");
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, word_at, NULL);
	if (errno != 0 || ptrace(PTRACE_POKETEXT, pid, word_at, (void *)word) < 0)
		return err_set(err, ERR_DENIED, "the session changed program code that branching "
						"relies on: it cannot be read");
	return 0;
}

int trace_code_find(pid_t pid, const struct trace_regs *regs, struct trace_code *ret,
		    struct err *err)
{
	struct vma vma;

	if (vma_at(pid, trace_arch_call_address(regs), &vma, err) < 0)
		return (int)err->code;
	*ret = (struct trace_code){ .device = vma.device, .inode = vma.inode };
	return 0;
}

int trace_own_instruction(pid_t pid, const struct trace_regs *regs, const struct trace_code *code,
			  struct err *err)
{
	const uint64_t first = trace_arch_call_address(regs), last = trace_address(regs) - 1;

	if (take_page(pid, first, code, err) < 0 ||
	    (first / PAGE_BYTES != last / PAGE_BYTES && take_page(pid, last, code, err) < 0))
		return (int)err->code;
	if (!trace_stands_behind_call(pid, regs))
		return err_set(err, ERR_DENIED,
			       "the session changed program code that branching relies on");
	return 0;
}

/* Handles one stop during a call. 1: the call is done, 0: it goes on. */
static int take_stop(pid_t pid, const struct trace_regs *base, pid_t *ret_child, long *ret,
		     struct err *err)
{
	struct trace_regs regs;
	int event;

	if (trace_wait_stop(pid, &event, err) < 0)
		return (int)err->code;
	if (is_fork_event(event))
		return ret_child != NULL ? trace_event_pid(pid, ret_child, err)
					 : tampered(pid, "a child nobody asked for", err);
	if (trace_regs_get(pid, &regs, err) < 0)
		return (int)err->code;
	/* SIGCHLD of an ended child, before the step: signals of user code do not reach this
	 * process. */
	if (event == SIGCHLD && trace_address(&regs) == trace_arch_call_address(base))
		return 0;
	if (event != SIGTRAP)
		return err_set(err, ERR_DENIED, "process %d was tampered with (stop %x)", (int)pid,
			       (unsigned)event);
	if (trace_address(&regs) != trace_address(base))
		return tampered(pid, "it stands elsewhere", err);
	if (!trace_stands_behind_call(pid, base))
		return tampered(pid, "its code changed", err);
	*ret = trace_arch_result(&regs);
	return 1;
}

int trace_call(pid_t pid, const struct trace_regs *base, long nr, const uint64_t args[6],
	       pid_t *ret_child, long *ret, struct err *err)
{
	struct trace_regs regs = *base;

	if (!trace_stands_behind_call(pid, base))
		return tampered(pid, "its code changed", err);
	trace_arch_call(&regs, nr, args);
	if (trace_regs_set(pid, &regs, err) < 0)
		return (int)err->code;
	for (int stops = 0; stops < 16; stops++) {
		int done;

		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
			return err_sys(err, "step process %d", (int)pid);
		done = take_stop(pid, base, ret_child, ret, err);
		if (done != 0)
			return done < 0 ? done : 0;
	}
	return err_set(err, ERR_PROTOCOL, "a system call in process %d does not end", (int)pid);
}

static int write_memory(pid_t pid, uint64_t address, const void *bytes, size_t len, struct err *err)
{
	struct iovec local = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = len };

	if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != (ssize_t)len)
		return err_sys(err, "write to process %d", (int)pid);
	return 0;
}

static int read_memory(pid_t pid, uint64_t address, void *bytes, size_t len, struct err *err)
{
	struct iovec local = { .iov_base = bytes, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = len };

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)len)
		return err_sys(err, "read from process %d", (int)pid);
	return 0;
}

/* Page layout: code at 0, table at 256, data behind the table. */
#define TABLE_OFFSET 256u

static int place_list(pid_t pid, uint64_t page, const struct trace_list_call *calls, size_t count,
		      const void *data, size_t data_len, struct err *err)
{
	const struct trace_list_code code = trace_arch_list_code();
	const size_t table_len = count * sizeof(*calls);
	const uint64_t data_at = page + TABLE_OFFSET + table_len;
	cleanup_free char *image = calloc(1, LIST_PAGE_BYTES);
	struct trace_list_call *table;

	if (image == NULL || TABLE_OFFSET + table_len + data_len > LIST_PAGE_BYTES)
		return err_set(err, ERR_LIMIT, "list of system calls is too long");
	memcpy(image, code.bytes, code.len);
	memcpy(image + TABLE_OFFSET, calls, table_len);
	if (data_len > 0)
		memcpy(image + TABLE_OFFSET + table_len, data, data_len);
	table = (struct trace_list_call *)(void *)(image + TABLE_OFFSET);
	for (size_t i = 0; i < count; i++)
		for (int a = 0; a < 6; a++)
			if (table[i].args[a] >> 32 == TRACE_DATA_BASE >> 32)
				table[i].args[a] = data_at + (table[i].args[a] & 0xffffffffu);
	return write_memory(pid, page, image, TABLE_OFFSET + table_len + data_len, err);
}

/* Maps private memory in the process, and verifies in its maps that the returned address is such
 * memory. */
static int map_pages(pid_t pid, const struct trace_regs *base, uint64_t len, uint64_t *ret,
		     struct err *err)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	const uint64_t args[6] = { 0, len, (uint64_t)all, MAP_PRIVATE | MAP_ANONYMOUS,
				   (uint64_t)-1, 0 };
	struct vma vma;
	uint64_t page;
	long result;

	if (trace_call(pid, base, SYS_mmap, args, NULL, &result, err) < 0)
		return (int)err->code;
	if (result < 0 && result > -4096)
		return err_set(err, ERR_SYSTEM, "map a page in process %d: %s", (int)pid,
			       strerror((int)-result));
	page = (uint64_t)result;
	if (page % PAGE_BYTES != 0 || vma_at(pid, page, &vma, err) < 0 || !vma.is_anonymous ||
	    vma.prot != all || vma.to - page < len)
		return tampered(pid, "it was given no memory", err);
	*ret = page;
	return 0;
}

int trace_own_page(pid_t pid, const struct trace_regs *base, struct trace_regs *ret_base,
		   uint64_t *ret_page, struct err *err)
{
	const struct trace_list_code code = trace_arch_list_code();

	if (map_pages(pid, base, TRACE_OWN_BYTES, ret_page, err) < 0)
		return (int)err->code;
	*ret_base = *base;
	trace_arch_stand_in_list(ret_base, *ret_page);
	return write_memory(pid, *ret_page, code.bytes, code.len, err);
}

int trace_drop_page(pid_t pid, const struct trace_regs *base, uint64_t page, struct err *err)
{
	const uint64_t args[6] = { page, TRACE_OWN_BYTES };
	long ignored;

	return trace_call(pid, base, SYS_munmap, args, NULL, &ignored, err);
}

int trace_run_list(pid_t pid, const struct trace_regs *base, struct trace_list_call *calls,
		   size_t count, const void *data, size_t data_len, struct err *err)
{
	uint64_t unmap_args[6] = { 0, LIST_PAGE_BYTES };
	struct trace_regs regs = *base;
	uint64_t page;
	long ignored;
	int event;

	if (map_pages(pid, base, LIST_PAGE_BYTES, &page, err) < 0 ||
	    place_list(pid, page, calls, count, data, data_len, err) < 0)
		return (int)err->code;
	trace_arch_list(&regs, page, page + TABLE_OFFSET, count);
	if (trace_regs_set(pid, &regs, err) < 0 || trace_continue(pid, err) < 0 ||
	    trace_wait_stop(pid, &event, err) < 0 || trace_regs_get(pid, &regs, err) < 0)
		return (int)err->code;
	if (event != SIGTRAP)
		return err_set(err, ERR_PROTOCOL, "list of system calls stopped with %x",
			       (unsigned)event);
	if (trace_address(&regs) != trace_arch_list_end(page))
		return tampered(pid, "the list of calls did not end", err);
	if (read_memory(pid, page + TABLE_OFFSET, calls, count * sizeof(*calls), err) < 0)
		return (int)err->code;
	unmap_args[0] = page;
	return trace_call(pid, base, SYS_munmap, unmap_args, NULL, &ignored, err);
}
