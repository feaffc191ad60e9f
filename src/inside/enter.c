/*
 * enter.c - takes a trusted fork of a zygote into a box.
 *
 * Runs in:  a new kernel, before any user code.
 * Reads:    descriptors from the warden.
 * Never:    allocates; continues if an isolation layer could not be set up.
 */
#include "inside/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/kernel.h"
#include "wire/zygote.h"

/* Numbers where descriptors are kept until the low numbers are free. */
enum { PARK_CONTROL = 200, PARK_BOOT, PARK_LANDLOCK, PARK_ORDER, PARK_STDIO,
       PARK_END = PARK_STDIO + 3 };
_Static_assert((int)PARK_ORDER == ENTER_ORDER_FD, "the order is found there");

static int park(int fd, int place, struct err *err)
{
	if (fd >= 0 && dup3(fd, place, O_CLOEXEC) < 0)
		return err_sys(err, "move descriptors");
	return 0;
}

/* Afterwards the process holds only 0-2, 3 and PARK_…; its other descriptors belonged to the host
 * side. */
static int arrange_fds(const struct enter_plan *plan, int boot_fd, struct err *err)
{
	const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return err_sys(err, "open /dev/null in the box");
	if (park(plan->control_fd, PARK_CONTROL, err) < 0 || park(boot_fd, PARK_BOOT, err) < 0 ||
	    park(plan->landlock_fd, PARK_LANDLOCK, err) < 0 ||
	    park(plan->order_fd, PARK_ORDER, err) < 0)
		return (int)err->code;
	for (int fd = 0; fd < 3; fd++)
		if (park(plan->stdio[fd] >= 0 ? plan->stdio[fd] : null_fd, PARK_STDIO + fd, err) <
		    0)
			return (int)err->code;
	if (syscall(SYS_close_range, 0, PARK_CONTROL - 1, 0) < 0 ||
	    syscall(SYS_close_range, PARK_END, ~0u, 0) < 0)
		return err_sys(err, "close inherited descriptors");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(PARK_STDIO + fd, fd) < 0)
			return err_sys(err, "set standard descriptors");
	if (plan->control_fd >= 0 && dup3(PARK_CONTROL, KERNEL_FD, O_CLOEXEC) < 0)
		return err_sys(err, "set the control descriptor");
	(void)close(PARK_CONTROL);
	(void)syscall(SYS_close_range, PARK_STDIO, PARK_END - 1, 0);
	return 0;
}

/*
 * After joining the user namespace the process holds every capability in it. Changing the uid does
 * not clear them: its current uid has no meaning in the namespace, so the kernel's rule for leaving
 * uid 0 does not apply. Drop them one by one and by capset.
 */
static int drop_privileges(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
			break;
	/* Without privilege over the outer groups the kernel refuses this; probe.c reports it. */
	(void)setgroups(0, NULL);
	if (setresgid(BOX_GID, BOX_GID, BOX_GID) < 0 || setresuid(BOX_UID, BOX_UID, BOX_UID) < 0)
		return err_sys(err, "become the box's user");
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, "drop capabilities");
	return 0;
}

static int set_base_rlimits(struct err *err)
{
	static const struct {
		int resource;
		rlim_t value;
	} fixed[] = {
		{ RLIMIT_CORE, 0 },	  { RLIMIT_MEMLOCK, 8u << 20 },
		{ RLIMIT_MSGQUEUE, 0 },	  { RLIMIT_RTPRIO, 0 },
		{ RLIMIT_STACK, 64u << 20 }, { RLIMIT_SIGPENDING, 1024 },
	};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		struct rlimit now, want = { fixed[i].value, fixed[i].value };

		if (getrlimit((__rlimit_resource_t)fixed[i].resource, &now) < 0)
			return err_sys(err, "read a resource limit");
		if (now.rlim_max < want.rlim_max)
			want.rlim_max = now.rlim_max;
		if (want.rlim_cur > want.rlim_max)
			want.rlim_cur = want.rlim_max;
		/* The stack's soft limit also determines where memory is mapped: keep the inherited
		 * value. */
		if (fixed[i].resource == RLIMIT_STACK)
			want.rlim_cur = now.rlim_cur < want.rlim_max ? now.rlim_cur : want.rlim_max;
		if (setrlimit((__rlimit_resource_t)fixed[i].resource, &want) < 0)
			return err_sys(err, "set a resource limit");
	}
	return 0;
}

/*
 * Permanent, also for all descendants. If the setting cannot be changed, the host's setting
 * applies; the warden checks from outside whether that suffices.
 */
static int forbid_one(unsigned long what, const char *name, struct err *err)
{
	int now = prctl(PR_GET_SPECULATION_CTRL, what, 0, 0, 0);

	if (now < 0 || ((unsigned long)now & PR_SPEC_PRCTL) == 0)
		return 0;
	if (prctl(PR_SET_SPECULATION_CTRL, what, PR_SPEC_FORCE_DISABLE, 0, 0) < 0)
		return err_sys(err, "turn %s off", name);
	now = prctl(PR_GET_SPECULATION_CTRL, what, 0, 0, 0);
	if (now < 0 || ((unsigned long)now & PR_SPEC_FORCE_DISABLE) == 0)
		return err_set(err, ERR_DENIED, "%s stays on", name);
	return 0;
}

static int forbid_speculation(struct err *err)
{
	if (forbid_one(PR_SPEC_STORE_BYPASS, "speculative store bypass", err) < 0 ||
	    forbid_one(PR_SPEC_INDIRECT_BRANCH, "indirect branch speculation", err) < 0)
		return (int)err->code;
	/* Works only if the administrator booted with l1d_flush=on, and is only an extra. */
	(void)prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_L1D_FLUSH, PR_SPEC_ENABLE, 0, 0);
	return 0;
}

int enter_box(const struct enter_plan *plan, int boot_fd, int *ret_boot_fd, int *ret_notify_fd,
	      struct err *err)
{
	const int all = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			CLONE_NEWUSER;
	long notify;

	*ret_boot_fd = boot_fd;
	if (setns(plan->init_pidfd, all) < 0)
		return err_sys(err, "join the box");
	if (arrange_fds(plan, boot_fd, err) < 0)
		return (int)err->code;
	*ret_boot_fd = PARK_BOOT;
	(void)setsid();
	(void)umask(022);
	if (chdir("/mnt/data") < 0)
		return err_sys(err, "enter the workspace");
	if (set_base_rlimits(err) < 0 || drop_privileges(err) < 0)
		return (int)err->code;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "forbid new privileges");
	if (plan->no_speculation && forbid_speculation(err) < 0)
		return (int)err->code;
	/* As the box's user, so that it owns what it creates; and before the filter refuses system
	 * calls. */
	if (plan->before_filter != NULL && plan->before_filter(plan->arg, err) < 0)
		return (int)err->code;
	if (plan->landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, PARK_LANDLOCK, 0) < 0)
		return err_sys(err, "apply Landlock");
	(void)close(PARK_LANDLOCK);
	/* This is last: the steps before need system calls that the filter refuses. */
	notify = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			 plan->filter);
	if (notify < 0)
		return err_sys(err, "load the system call filter");
	*ret_notify_fd = (int)notify;
	return 0;
}
