/*
 * spawn.c - starts a fresh kernel in a box.
 *
 * Runs in:  the warden.
 * Reads:    trace events; the new kernel's one boot message, sent before it runs user code.
 * Never:    lets a kernel run user code before it is in its cgroups.
 */
#include "box/twin/twin.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "box/procfile.h"
#include "box/sys.h"
#include "box/twin/trace.h"
#include "wire/zygote.h"

#define BOOT_TIMEOUT_MS 10000


/*
 * T still has descriptors of the zygote, and its next children would be born in the box's pid
 * namespace: closes everything and sets pid_ns_for_children back to T's own.
 */
static int settle_twin(const struct twin_spawn *how, pid_t twin, struct err *err)
{
	struct trace_regs base;
	uint64_t args[6] = { (uint64_t)twin };
	long fd, result = 0;

	if (trace_regs_get(twin, &base, err) < 0)
		return (int)err->code;
	/* Looked up once per zygote: reading maps takes a good part of the time of a start. */
	if (how->code->inode == 0 && trace_code_find(twin, &base, how->code, err) < 0)
		return (int)err->code;
	/* If the twin were frozen with the box, it could not fork for a branch. */
	if (cgroup_has_joins(how->cgroups) && cgroup_has(how->cgroups, CG_FREEZER) &&
	    twin_leave_freezer(twin, &base, trace_stack(&base) - 512, err) < 0)
		return (int)err->code;
	if (trace_call(twin, &base, SYS_pidfd_open, args, NULL, &fd, err) < 0)
		return (int)err->code;
	args[0] = (uint64_t)fd;
	args[1] = CLONE_NEWPID;
	if (trace_call(twin, &base, SYS_setns, args, NULL, &result, err) < 0)
		return (int)err->code;
	if (fd < 0 || result != 0)
		return err_set(err, ERR_SYSTEM,
			       "turn the twin back to its pid namespace (%ld, %ld)", fd, result);
	args[0] = 0;
	args[1] = ~0u;
	return trace_call(twin, &base, SYS_close_range, args, NULL, &result, err);
}

/* Makes the twin write "0" to ZYGOTE_LEAVE_FD; `digit` is where in its memory the digit may be
 * placed. */
int twin_leave_freezer(pid_t twin, const struct trace_regs *base, uint64_t digit, struct err *err)
{
	const uint64_t args[6] = { ZYGOTE_LEAVE_FD, digit, 1 };
	char zero = '0';
	struct iovec local = { .iov_base = &zero, .iov_len = 1 };
	struct iovec remote = { .iov_base = (void *)digit, .iov_len = 1 };
	long result = 0;

	if (process_vm_writev(twin, &local, 1, &remote, 1, 0) != 1)
		return err_sys(err, "write to the twin");
	if (trace_call(twin, base, SYS_write, args, NULL, &result, err) < 0)
		return (int)err->code;
	return result == 1 ? 0
			   : err_set(err, ERR_SYSTEM, "take the twin out of the freezer: %s",
				     strerror((int)-result));
}

/* Follows the zygote's fork to the twin, which stops at its birth. */
static int follow_twin(const struct twin_spawn *how, pid_t *ret_twin, struct err *err)
{
	int event;

	if (trace_until_fork(how->zygote, ret_twin, err) < 0 ||
	    trace_continue(how->zygote, err) < 0 || trace_wait_stop(*ret_twin, &event, err) < 0)
		return (int)err->code;
	/* Linux charges memory to the group of the task that owns the map: T, which has to be in it
	 * before K exists. With `tasks` files T joins by itself, before anything else. */
	return cgroup_has_joins(how->cgroups)
		       ? 0
		       : cgroup_attach_twin(how->cgroups, how->shell->name, *ret_twin, err);
}

/* Follows the twin's fork to the kernel. */
int twin_advance(const struct twin_spawn *how, struct twin_seed *seed, struct err *err)
{
	int event;

	if (!how->traced || seed->kernel > 0)
		return 0;
	if (trace_continue(seed->twin, err) < 0 ||
	    trace_until_fork(seed->twin, &seed->kernel, err) < 0 ||
	    trace_finish_call(seed->twin, err) < 0 || settle_twin(how, seed->twin, err) < 0 ||
	    trace_wait_stop(seed->kernel, &event, err) < 0)
		return (int)err->code;
	return 0;
}

static int let_kernel_go(const struct twin_spawn *how, pid_t kernel, struct err *err)
{
	if (cgroup_attach_child(how->cgroups, how->shell->name, &how->place, kernel, err) < 0)
		return (int)err->code;
	return trace_detach(kernel, 0, err);
}

/* Receives the kernel's one boot message; the socket layer vouches for the sender's pid. */
static int receive_boot(int sock, int *ret_notify, pid_t *ret_pid, struct err *err)
{
	struct pollfd wait = { .fd = sock, .events = POLLIN };
	struct zygote_boot boot = { 0 };
	union {
		char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = &boot, .iov_len = sizeof(boot) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	int ready;
	ssize_t n;

	*ret_notify = -1;
	do
		ready = poll(&wait, 1, BOOT_TIMEOUT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return err_set(err, ERR_TIMEOUT, "a new kernel does not answer");
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (n != (ssize_t)sizeof(boot))
		return err_set(err, ERR_LOST, "a new kernel ended before it was ready");
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&msg); head != NULL;
	     head = CMSG_NXTHDR(&msg, head)) {
		struct ucred sender;

		if (head->cmsg_level != SOL_SOCKET)
			continue;
		if (head->cmsg_type == SCM_RIGHTS)
			memcpy(ret_notify, CMSG_DATA(head), sizeof(int));
		if (head->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&sender, CMSG_DATA(head), sizeof(sender));
			*ret_pid = sender.pid;
		}
	}
	if (boot.err.code != ERR_OK) {
		*err = boot.err;
		return (int)err->code;
	}
	if (*ret_notify < 0)
		return err_set(err, ERR_PROTOCOL, "a new kernel sent no filter listener");
	return 0;
}

static int start(const struct twin_spawn *how, int boot_theirs, struct err *err)
{
	struct zygote_spawn spawn = { .type = ZYGOTE_SPAWN,
				      .has_landlock = how->shell->landlock_fd >= 0,
				      .with_twin = how->traced,
				      .no_speculation = how->no_speculation };
	int fds[ZYGOTE_FDS_MAX] = { how->shell->init_pidfd, how->control_fd, boot_theirs };
	struct cgroup_joins joins;
	size_t count = 3;
	int code;

	_Static_assert(CG_COUNT <= ZYGOTE_JOINS_MAX,
		       "room for the `tasks` file of each controller");
	if (cgroup_joins_open(how->cgroups, how->shell->name, &how->place, &joins, err) < 0)
		return (int)err->code;
	spawn.join_count = (uint32_t)joins.count;
	spawn.has_leave = joins.leave >= 0;
	if (spawn.has_landlock != 0)
		fds[count++] = how->shell->landlock_fd;
	memcpy(fds + count, joins.fd, joins.count * sizeof(*fds));
	count += joins.count;
	if (spawn.has_leave != 0)
		fds[count++] = joins.leave;
	code = fd_send_msg(how->zygote_sock, &spawn, sizeof(spawn), fds, count, err);
	cgroup_joins_close(&joins);
	return code;
}

int twin_prepare(const struct twin_spawn *how, struct twin_seed *ret, struct err *err)
{
	struct twin_seed seed = { .zygote = how->zygote };
	const int on = 1;
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	seed.boot = pair[0];
	code = 0;
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		code = err_sys(err, "SO_PASSCRED");
	if (code == 0 && start(how, pair[1], err) < 0)
		code = err_wrap(err, "ask the zygote for a kernel");
	(void)close(pair[1]);
	if (code == 0 && how->traced) {
		code = follow_twin(how, &seed.twin, err);
		/* The zygote may never move again, and every later request would wait for it. */
		if (code < 0)
			(void)kill(how->zygote, SIGKILL);
	}
	if (code < 0) {
		twin_drop(&seed);
		return code;
	}
	*ret = seed;
	return 0;
}

/* A kernel without a twin runs already; so far it has only read our descriptors. */
static int adopt_untraced(const struct twin_spawn *how, pid_t sender, struct twin_kernel *kernel,
			  struct err *err)
{
	kernel->kernel = sender;
	kernel->twin = (pid_t)procfile_number(sender, "status", "PPid:", 10, 0);
	if (cgroup_has_joins(how->cgroups)) /* it was born in them */
		return cgroup_attach_child(how->cgroups, how->shell->name, &how->place, sender,
					   err);
	if (cgroup_attach_twin(how->cgroups, how->shell->name, kernel->twin, err) < 0)
		return (int)err->code;
	return cgroup_attach_child(how->cgroups, how->shell->name, &how->place, sender, err);
}

int twin_complete(const struct twin_spawn *how, struct twin_seed *seed, struct twin_kernel *ret,
		  struct err *err)
{
	struct twin_kernel kernel = { .kernel_pidfd = -1, .notify_fd = -1, .traced = how->traced };
	int code = twin_advance(how, seed, err);
	cleanup_fd int boot = seed->boot;
	pid_t sender = 0;

	kernel.code = *how->code;
	kernel.twin = seed->twin;
	kernel.kernel = seed->kernel;
	*seed = (struct twin_seed){ .boot = -1 };
	if (code == 0 && how->traced)
		code = let_kernel_go(how, kernel.kernel, err);
	if (code == 0)
		code = receive_boot(boot, &kernel.notify_fd, &sender, err);
	if (code == 0 && !how->traced)
		code = adopt_untraced(how, sender, &kernel, err);
	if (code == 0) {
		kernel.kernel_pidfd = sys_pidfd_open(kernel.kernel);
		if (kernel.kernel_pidfd < 0)
			code = err_sys(err, "open the new kernel's pidfd");
	}
	if (code < 0) {
		twin_kill(&kernel);
		twin_done(&kernel);
		return code;
	}
	*ret = kernel;
	return 0;
}

int twin_spawn(const struct twin_spawn *how, struct twin_kernel *ret, struct err *err)
{
	struct twin_seed seed;

	if (twin_prepare(how, &seed, err) < 0)
		return (int)err->code;
	return twin_complete(how, &seed, ret, err);
}

void twin_drop(struct twin_seed *seed)
{
	if (seed->kernel > 0)
		(void)kill(seed->kernel, SIGKILL);
	if (seed->twin > 0)
		(void)kill(seed->twin, SIGKILL);
	if (seed->boot >= 0)
		(void)close(seed->boot);
	*seed = (struct twin_seed){ .boot = -1 };
}

void twin_kill(const struct twin_kernel *kernel)
{
	if (kernel->kernel_pidfd >= 0)
		(void)sys_pidfd_signal(kernel->kernel_pidfd, SIGKILL);
	else if (kernel->kernel > 0)
		(void)kill(kernel->kernel, SIGKILL);
	if (kernel->twin > 0)
		(void)kill(kernel->twin, SIGKILL);
}

void twin_done(struct twin_kernel *kernel)
{
	if (kernel->kernel_pidfd >= 0)
		(void)close(kernel->kernel_pidfd);
	if (kernel->notify_fd >= 0)
		(void)close(kernel->notify_fd);
	*kernel = (struct twin_kernel){ .kernel_pidfd = -1, .notify_fd = -1 };
}
