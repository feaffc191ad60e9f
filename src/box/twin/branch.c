/*
 * branch.c - copies a live kernel into another box.
 *
 * Runs in:  the warden.
 * Reads:    registers and one code word of stopped processes.
 * Never:    runs an instruction of the session's memory outside its box, except one `syscall` whose
 *           bytes it checked while nothing else could change them.
 *
 *   1. K waits for its next packet (recvmsg): stop it, save its registers.
 *   2. Freeze the box: no process that shares the memory may change it during the copy.
 *   3. T stands right behind an untouched `syscall`: make it fork. T2 is a copy-on-write image of
 *      the session, born outside the box. Give it a page of our own to make calls from, and copies
 *      of the memory that it would share. Copy the files. The parent continues.
 *   4. T2 enters the new box's pid namespace and makes K2 with clone(CLONE_VM).
 *   5. K2 joins the other namespaces, gets its descriptors, drops all privileges, loads the filter:
 *      one list of system calls that it runs from a page of our own.
 *   6. K2 gets K's registers and repeats the recvmsg.
 */
#include "box/twin/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/filter/filter.h"
#include "box/twin/task_freeze.h"
#include "box/sys.h"
#include "box/twin/trace.h"
#include "box/twin/unshare.h"
#include "wire/kernel.h"
#include "wire/zygote.h"

#define BUSY_NS 150000000ull /* by then a kernel that has sent DONE waits in recvmsg */
#define CAP_COUNT 41 /* CAP_CHECKPOINT_RESTORE + 1; higher ones are refused harmlessly */

struct branching {
	const struct twin_branch *how;
	struct trace_regs kernel_regs;
	struct trace_fpregs kernel_fp;
	int kernel_sig; /* the signal that the stop held back */
	bool is_stopped;
	struct trace_regs own; /* of T2, right behind the `syscall` on our page */
	struct trace_regs twin_regs; /* where T stands, and T2 at the end */
	uint64_t page;
	pid_t twin;   /* T2 */
	pid_t kernel; /* K2 */
	long init_fd, control_fd, landlock_fd; /* numbers in T2 and K2 */
};

static int call(pid_t pid, const struct trace_regs *base, long *ret, struct err *err, long nr,
		uint64_t a, uint64_t b, uint64_t c, const char *what)
{
	const uint64_t args[6] = { a, b, c };

	if (trace_call(pid, base, nr, args, NULL, ret, err) < 0)
		return err_wrap(err, "%s", what);
	if (*ret < 0)
		return err_set(err, ERR_SYSTEM, "%s in the branch: %s", what, strerror((int)-*ret));
	return 0;
}

/*
 * Step 1. A kernel that has just sent DONE may not have reached its recvmsg yet, so it gets a
 * moment to do so.
 */
static int stop_parent(struct branching *b, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	const uint64_t until = clock_mono_ns() + BUSY_NS;
	const pid_t kernel = b->how->parent->kernel;

	do {
		uint64_t fd;

		if (trace_hold(kernel, err) < 0 || trace_interrupt(kernel, &b->kernel_sig, err) < 0)
			return err->code == ERR_TIMEOUT
				       ? err_set(err, ERR_INVALID, "the session is busy")
				       : (int)err->code;
		b->is_stopped = true;
		if (trace_regs_get(kernel, &b->kernel_regs, err) < 0)
			return (int)err->code;
		if (trace_blocked_in(&b->kernel_regs, &fd) == SYS_recvmsg && fd == KERNEL_FD)
			return trace_fpregs_get(kernel, &b->kernel_fp, err);
		b->is_stopped = false;
		if (trace_detach(kernel, b->kernel_sig, err) < 0)
			return (int)err->code;
		(void)nanosleep(&pause, NULL);
	} while (clock_mono_ns() < until);
	return err_set(err, ERR_INVALID, "the session is busy; branch it between cells");
}

/*
 * T2 joins the new box's cgroups through open files of the warden. It was born without descriptors,
 * so the numbers of those that it fetches are known beforehand.
 */
static int join_cgroups(const struct branching *b, const struct cgroup_joins *joins,
			struct err *err)
{
	struct trace_list_call calls[2 * CG_COUNT + 4] = { 0 };
	const size_t own = joins->count + 1; /* 0: the warden's pidfd, 1…: joins, then `leave` */
	size_t count = 0;

	calls[count++] = (struct trace_list_call){ .nr = SYS_pidfd_open,
						   .args = { (uint64_t)getpid() } };
	for (size_t i = 0; i < joins->count; i++)
		calls[count++] = (struct trace_list_call){ .nr = SYS_pidfd_getfd,
							   .args = { 0, (uint64_t)joins->fd[i] } };
	for (size_t i = 0; i < joins->count; i++)
		calls[count++] = (struct trace_list_call){ .nr = SYS_write,
							   .args = { i + 1, TRACE_DATA(0), 1 } };
	if (joins->leave >= 0) {
		calls[count++] = (struct trace_list_call){ .nr = SYS_pidfd_getfd,
							   .args = { 0, (uint64_t)joins->leave } };
		calls[count++] = (struct trace_list_call){ .nr = SYS_dup3,
							   .args = { own, ZYGOTE_LEAVE_FD } };
	}
	calls[count++] = (struct trace_list_call){ .nr = SYS_close_range, .args = { 0, own } };
	if (trace_run_list(b->twin, &b->own, calls, count, "0", 1, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count; i++)
		if (calls[i].result < 0)
			return err_set(err, ERR_SYSTEM, "join the new box's groups (step %zu): %s",
				       i, strerror((int)-calls[i].result));
	for (size_t i = 0; i <= joins->count; i++)
		if (calls[i].result != (int64_t)i)
			return err_set(err, ERR_DENIED, "the twin has descriptors of its own");
	return 0;
}

static int join_groups(const struct branching *b, struct err *err)
{
	const struct twin_branch *how = b->how;
	const struct cgroup_place first = { .number = 0 };
	struct cgroup_joins joins;
	int code;

	if (!cgroup_has_joins(how->cgroups))
		return cgroup_attach_twin(how->cgroups, how->shell->name, b->twin, err);
	if (cgroup_joins_open(how->cgroups, how->shell->name, &first, &joins, err) < 0)
		return (int)err->code;
	code = join_cgroups(b, &joins, err);
	cgroup_joins_close(&joins);
	return code;
}

/*
 * Step 3, with the box already frozen. T2 gets its page of our own and its copies of shared memory
 * before anything runs again: the page that holds the `syscall` may be one that T and T2 share
 * (MAP_SHARED, or a private map of a file that user code can write to), and user code could change
 * it once the parent continues.
 */
static int copy_memory(struct branching *b, struct err *err)
{
	const pid_t twin = b->how->parent->twin;
	/*
	 * Make T2 a child of T's parent, not of T: otherwise the end of a branch would reach T as
	 * SIGCHLD in the middle of a later branch, and leave a zombie that T never waits for. The
	 * zygote reaps it, or the warden after the zygote.
	 */
	const uint64_t args[6] = { CLONE_PARENT | SIGCHLD };
	struct err ignored;
	long result;
	int event, code;

	if (trace_regs_get(twin, &b->twin_regs, err) < 0)
		return (int)err->code;
	/* Another box, which is not frozen, may write to the file behind T's page. */
	if (trace_own_instruction(twin, &b->twin_regs, &b->how->parent->code, err) < 0)
		return (int)err->code;
	code = trace_call(twin, &b->twin_regs, SYS_clone, args, &b->twin, &result, err);
	/* Whatever the step did, put T back where it stood. */
	(void)trace_regs_set(twin, &b->twin_regs, &ignored);
	if (code < 0)
		return code;
	if (result <= 0 || b->twin <= 0 || result != b->twin)
		return err_set(err, ERR_SYSTEM, "the twin cannot fork: %s", strerror((int)-result));
	if (trace_wait_stop(b->twin, &event, err) < 0 ||
	    trace_own_page(b->twin, &b->twin_regs, &b->own, &b->page, err) < 0)
		return (int)err->code;
	/* The copy must not be charged to the parent's box. */
	if (join_groups(b, err) < 0 ||
	    (unshare_is_needed(b->twin) && unshare_memory(b->twin, &b->own, err) < 0))
		return (int)err->code;
	return b->how->while_still != NULL ? b->how->while_still(b->how->arg, err) : 0;
}

/* Step 4. K2 inherits the descriptors that are made here. */
static int make_kernel(struct branching *b, struct err *err)
{
	const struct twin_branch *how = b->how;
	const uint64_t clone_args[6] = { CLONE_VM | SIGCHLD };
	const struct trace_regs base = b->own;
	long warden, result;
	int event;

	if (call(b->twin, &base, &b->init_fd, err, SYS_pidfd_open, (uint64_t)how->shell->init, 0, 0,
		 "open the box's pid 1") < 0 ||
	    call(b->twin, &base, &warden, err, SYS_pidfd_open, (uint64_t)getpid(), 0, 0,
		 "open the warden") < 0 ||
	    call(b->twin, &base, &b->control_fd, err, SYS_pidfd_getfd, (uint64_t)warden,
		 (uint64_t)how->control_fd, 0, "fetch the control socket") < 0)
		return (int)err->code;
	b->landlock_fd = -1;
	if (how->shell->landlock_fd >= 0 &&
	    call(b->twin, &base, &b->landlock_fd, err, SYS_pidfd_getfd, (uint64_t)warden,
		 (uint64_t)how->shell->landlock_fd, 0, "fetch the Landlock ruleset") < 0)
		return (int)err->code;
	if (call(b->twin, &base, &result, err, SYS_setns, (uint64_t)b->init_fd, CLONE_NEWPID, 0,
		 "join the box's pid namespace") < 0)
		return (int)err->code;
	if (trace_call(b->twin, &base, SYS_clone, clone_args, &b->kernel, &result, err) < 0)
		return (int)err->code;
	if (result <= 0 || b->kernel <= 0)
		return err_set(err, ERR_SYSTEM, "cannot clone the branch's kernel");
	/* K2 was born in the freezer's group; T2 itself has to stay out of it. */
	if (cgroup_has_joins(how->cgroups) && cgroup_has(how->cgroups, CG_FREEZER) &&
	    twin_leave_freezer(b->twin, &base, b->page + 2048, err) < 0)
		return (int)err->code;
	if (call(b->twin, &base, &warden, err, SYS_pidfd_open, (uint64_t)b->twin, 0, 0,
		 "open the twin") < 0 ||
	    call(b->twin, &base, &result, err, SYS_setns, (uint64_t)warden, CLONE_NEWPID, 0,
		 "turn the twin back to its pid namespace") < 0 ||
	    call(b->twin, &base, &result, err, SYS_close_range, 0, ~0u, 0, "close descriptors") <
		    0 ||
	    trace_regs_set(b->twin, &b->twin_regs, err) < 0)
		return (int)err->code;
	return trace_wait_stop(b->kernel, &event, err);
}

/* What the list's system calls refer to: the warden lays it out in K2's memory. */
struct list_data {
	char null_path[16];
	char workspace[16];
	struct __user_cap_header_struct cap_head;
	struct __user_cap_data_struct no_caps[2];
	struct rlimit no_core;
	struct {
		unsigned short len;
		unsigned short pad[3];
		uint64_t filter;
	} program;
};

struct list {
	struct trace_list_call calls[96];
	size_t count;
	uint64_t may_fail; /* bit per call, first 64 */
};

static size_t add(struct list *list, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	list->calls[list->count] = (struct trace_list_call){ .nr = (uint64_t)nr,
							     .args = { a, b, c, d } };
	return list->count++;
}

static size_t add_optional(struct list *list, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	size_t at = add(list, nr, a, b, c, 0);

	list->may_fail |= at < 64 ? 1ull << at : 0;
	return at;
}

/* Raises the same walls in the same order as inside/enter.c. */
static void write_list(const struct branching *b, struct list *list)
{
	const int all = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			CLONE_NEWUSER;
	enum { CONTROL = 200, LANDLOCK, NOTHING };

	(void)add(list, SYS_setns, (uint64_t)b->init_fd, (uint64_t)all, 0, 0);
	(void)add(list, SYS_dup3, (uint64_t)b->control_fd, CONTROL, O_CLOEXEC, 0);
	if (b->landlock_fd >= 0)
		(void)add(list, SYS_dup3, (uint64_t)b->landlock_fd, LANDLOCK, O_CLOEXEC, 0);
	(void)add(list, SYS_close_range, 0, CONTROL - 1, 0, 0);
	(void)add(list, SYS_close_range, NOTHING, ~0u, 0, 0);
	/* Each open() takes the lowest free number: 0, 1, 2. */
	for (int i = 0; i < 3; i++)
		(void)add(list, SYS_openat, (uint64_t)AT_FDCWD,
			  TRACE_DATA(offsetof(struct list_data, null_path)), O_RDWR, 0);
	(void)add(list, SYS_dup3, CONTROL, KERNEL_FD, O_CLOEXEC, 0);
	(void)add(list, SYS_close, CONTROL, 0, 0, 0);
	(void)add_optional(list, SYS_setsid, 0, 0, 0);
	(void)add(list, SYS_umask, 022, 0, 0, 0);
	(void)add(list, SYS_chdir, TRACE_DATA(offsetof(struct list_data, workspace)), 0, 0, 0);
	(void)add_optional(list, SYS_setgroups, 0, 0, 0);
	(void)add(list, SYS_setresgid, BOX_GID, BOX_GID, BOX_GID, 0);
	(void)add(list, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0);
	if (b->how->no_speculation) {
		/* Fails where the host cannot switch it; walls/guard.c verifies the result from
		 * outside. */
		(void)add_optional(list, SYS_prctl, PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS,
				   PR_SPEC_FORCE_DISABLE);
		(void)add_optional(list, SYS_prctl, PR_SET_SPECULATION_CTRL,
				   PR_SPEC_INDIRECT_BRANCH, PR_SPEC_FORCE_DISABLE);
		(void)add_optional(list, SYS_prctl, PR_SET_SPECULATION_CTRL, PR_SPEC_L1D_FLUSH,
				   PR_SPEC_ENABLE);
	}
	for (uint64_t cap = 0; cap < CAP_COUNT; cap++)
		(void)add_optional(list, SYS_prctl, PR_CAPBSET_DROP, cap, 0);
	(void)add(list, SYS_setresuid, BOX_UID, BOX_UID, BOX_UID, 0);
	(void)add(list, SYS_capset, TRACE_DATA(offsetof(struct list_data, cap_head)),
		  TRACE_DATA(offsetof(struct list_data, no_caps)), 0, 0);
	(void)add(list, SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
	(void)add(list, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	(void)add(list, SYS_prlimit64, 0, RLIMIT_CORE,
		  TRACE_DATA(offsetof(struct list_data, no_core)), 0);
	if (b->landlock_fd >= 0) {
		(void)add(list, SYS_landlock_restrict_self, LANDLOCK, 0, 0, 0);
		(void)add(list, SYS_close, LANDLOCK, 0, 0, 0);
	}
	(void)add(list, SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		  TRACE_DATA(offsetof(struct list_data, program)), 0);
}

static int check_list(const struct list *list, struct err *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->calls[i].result < 0 && (i >= 64 || (list->may_fail >> i & 1) == 0))
			return err_set(err, ERR_SYSTEM,
				       "system call %lu (step %zu) in the branch: %s",
				       (unsigned long)list->calls[i].nr, i,
				       strerror((int)-list->calls[i].result));
	return 0;
}

/* Step 5. Returns the listener's number in K2. */
static int enter_box(const struct branching *b, long *ret_notify, struct err *err)
{
	const size_t filter_bytes = b->how->filter_len * sizeof(struct sock_filter);
	const size_t data_len = sizeof(struct list_data);
	/*
	 * On our page, not on K2's stack: user code chose where that is, for instance in a private
	 * map of a file, whose pages another process can have dropped and filled anew.
	 */
	const uint64_t place = b->page + 4096;
	cleanup_free struct list_data *data = calloc(1, data_len);
	struct iovec local = { .iov_base = (void *)(uintptr_t)b->how->filter,
			       .iov_len = filter_bytes };
	struct iovec remote = { .iov_base = (void *)place, .iov_len = filter_bytes };
	struct list list = { 0 };
	struct trace_regs base;

	_Static_assert(4096 + FILTER_INSNS_MAX * sizeof(struct sock_filter) <= TRACE_OWN_BYTES,
		       "room for the filter on our page");
	if (data == NULL)
		return err_set(err, ERR_LIMIT, "no memory");
	(void)snprintf(data->null_path, sizeof(data->null_path), "/dev/null");
	(void)snprintf(data->workspace, sizeof(data->workspace), "/mnt/data");
	data->cap_head.version = _LINUX_CAPABILITY_VERSION_3;
	data->program.len = b->how->filter_len;
	data->program.filter = place;
	if (process_vm_writev(b->kernel, &local, 1, &remote, 1, 0) != (ssize_t)filter_bytes)
		return err_sys(err, "place the filter in the branch");
	write_list(b, &list);
	if (trace_regs_get(b->kernel, &base, err) < 0 ||
	    trace_run_list(b->kernel, &base, list.calls, list.count, data, data_len, err) < 0 ||
	    check_list(&list, err) < 0)
		return (int)err->code;
	*ret_notify = (long)list.calls[list.count - 1].result;
	return 0;
}

/* Fetches the listener and closes it in K2. */
static int fetch_listener(const struct branching *b, long number, struct twin_kernel *ret,
			  struct err *err)
{
	struct trace_regs base;
	long ignored;

	ret->kernel_pidfd = sys_pidfd_open(b->kernel);
	if (ret->kernel_pidfd < 0)
		return err_sys(err, "open the branch's pidfd");
	ret->notify_fd = sys_pidfd_getfd(ret->kernel_pidfd, (int)number);
	if (ret->notify_fd < 0)
		return err_sys(err, "fetch the branch's filter listener");
	if (trace_regs_get(b->kernel, &base, err) < 0)
		return (int)err->code;
	return call(b->kernel, &base, &ignored, err, SYS_close, (uint64_t)number, 0, 0,
		    "close the listener");
}

static int start_kernel(struct branching *b, struct err *err)
{
	struct trace_regs regs = b->kernel_regs;

	/* All walls stand: from here on K2 may run what the session's memory says. */
	if (trace_drop_page(b->kernel, &b->twin_regs, b->page, err) < 0)
		return (int)err->code;
	trace_restart_call(&regs);
	if (trace_fpregs_set(b->kernel, &b->kernel_fp, err) < 0 ||
	    trace_regs_set(b->kernel, &regs, err) < 0)
		return (int)err->code;
	return trace_detach(b->kernel, 0, err);
}

int twin_branch(const struct twin_branch *how, struct twin_kernel *ret, struct err *err)
{
	struct branching b = { .how = how };
	struct twin_kernel made = { .kernel_pidfd = -1, .notify_fd = -1, .traced = true,
				    .code = how->parent->code };
	const struct cgroup_place first = { .number = 0 };
	struct task_freeze still;
	struct err ignored;
	long notify = -1;
	int code;

	if (!how->parent->traced)
		return err_set(err, ERR_UNAVAILABLE, "sessions have no twins on this host");
	code = stop_parent(&b, err);
	if (code == 0) {
		code = task_freeze_begin(&still, how->cgroups, how->parent_shell,
					how->parent->kernel, err);
		if (code == 0)
			code = copy_memory(&b, err);
		task_freeze_end(&still);
	}
	if (b.is_stopped)
		(void)trace_detach(how->parent->kernel, b.kernel_sig, &ignored);

	if (code == 0)
		code = make_kernel(&b, err);
	if (code == 0)
		code = cgroup_attach_child(how->cgroups, how->shell->name, &first, b.kernel, err);
	if (code == 0)
		code = enter_box(&b, &notify, err);
	if (code == 0)
		code = fetch_listener(&b, notify, &made, err);
	made.twin = b.twin;
	made.kernel = b.kernel;
	if (code == 0 && how->before_start != NULL)
		code = how->before_start(how->arg, &made, err);
	if (code == 0)
		code = start_kernel(&b, err);
	if (code < 0) {
		twin_kill(&made);
		twin_done(&made);
		return code;
	}
	*ret = made;
	return 0;
}
