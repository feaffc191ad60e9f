/*
 * shell.c - builds a box without a kernel.
 *
 * Runs in:  the warden, and its short-lived children.
 * Reads:    a plan made by session.c.
 * Never:    allocates or logs in a child.
 */
#include "box/mount/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "box/sys.h"
#include "wire/zygote.h"

/* A message of the child: an error, or success. The first one has the Landlock ruleset, if any. */
struct shell_report {
	struct err err;
};

static int bring_lo_up(struct err *err)
{
	cleanup_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_flags = IFF_UP | IFF_RUNNING };

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "lo");
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &request) < 0)
		return err_sys(err, "bring the loopback interface up");
	return 0;
}

/*
 * Bounds what a TCP socket of this network namespace may hold. The host's values may be for fast
 * links: with 32 MiB per socket the descriptors of one process could hold gigabytes that no group
 * counts. (Other sockets get the host's rmem_default; the filter lets no program raise it.)
 */
static void bound_buffers(void)
{
	static const struct {
		const char *path, *value;
	} bounds[] = {
		{ "/proc/sys/net/ipv4/tcp_rmem", "4096 65536 262144" },
		{ "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 262144" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		cleanup_fd int fd = open(bounds[i].path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			(void)!write(fd, bounds[i].value, strlen(bounds[i].value));
	}
}

static int join_root(const struct shell_plan *plan, int *ret_sysctl, struct err *err)
{
	if (setns(plan->root_ns_fd, CLONE_NEWNS) < 0 || unshare(CLONE_NEWNS) < 0)
		return err_sys(err, "copy the template's mount namespace");
	/* Open it now: the box's own /proc will not show sysctls. */
	*ret_sysctl = plan->sysctl_dir >= 0
			      ? plan->sysctl_dir
			      : open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mount_session_dirs(&plan->quota, err) < 0)
		return (int)err->code;
	if (sethostname("sandbox", 7) < 0 || setdomainname("", 0) < 0)
		return err_sys(err, "set the host name");
	return 0;
}

/* Needs CAP_SYS_RESOURCE in the new user namespace, which the process that made it has. */
static int forbid_user_namespaces(int sysctl_dir, struct err *err)
{
	cleanup_fd int fd = openat(sysctl_dir, "max_user_namespaces", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		return err_sys(err, "forbid nested user namespaces");
	return 0;
}

static int child_prepare(const struct shell_plan *plan, const char *name, int sock,
			 struct err *err)
{
	struct shell_report report = { 0 };
	int sysctl_dir = -1, ruleset = -1;
	char go;

	if (plan->netns_fd >= 0) {
		if (setns(plan->netns_fd, CLONE_NEWNET) < 0)
			return err_sys(err, "join a recycled network namespace");
	} else {
		if (bring_lo_up(err) < 0)
			return (int)err->code;
		bound_buffers();
	}
	if (cgroup_has_joins(plan->cgroups) && cgroup_join(plan->cgroups, name, err) < 0)
		return (int)err->code;
	if (join_root(plan, &sysctl_dir, err) < 0 || mount_landlock_rules(&ruleset, err) < 0)
		return (int)err->code;
	/* First byte: we are in our cgroup, which becomes the root of the cgroup namespace. */
	if (read(sock, &go, 1) != 1)
		return err_set(err, ERR_SYSTEM, "the warden went away");
	if (unshare(CLONE_NEWCGROUP) < 0 || unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, "make the user namespace");
	if (fd_send_msg(sock, &report, sizeof(report), &ruleset, ruleset >= 0 ? 1 : 0, err) < 0)
		return (int)err->code;
	/* Second byte: our uid is mapped. */
	if (read(sock, &go, 1) != 1)
		return err_set(err, ERR_SYSTEM, "the warden went away");
	if (forbid_user_namespaces(sysctl_dir, err) < 0)
		return (int)err->code;
	if (setresgid(BOX_GID, BOX_GID, BOX_GID) < 0 || setresuid(BOX_UID, BOX_UID, BOX_UID) < 0)
		return err_sys(err, "become the box's user");
	return 0;
}

/*
 * Whether the warden still holds its end. Call after PR_SET_PDEATHSIG: the warden may have died
 * before that, and its pid is not visible in here.
 */
static bool warden_lives(int sock)
{
	char byte;

	return recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

__attribute__((noreturn)) static void child_main(const struct shell_plan *plan,
						 const char *group, int sock, int wardens_end)
{
	char name[] = "reckon-init";
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	const struct rlimit no_core = { 0, 0 };
	struct shell_report report = { 0 };
	struct err ignored;
	sigset_t none;

	/* Otherwise this process would keep the socket of a dead warden open, and wait on it for
	 * ever. */
	(void)close(wardens_end);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGCHLD, SIG_IGN); /* stays ignored over exec: orphans leave no zombies */
	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)setsid();
	if (child_prepare(plan, group, sock, &report.err) == 0) {
		/* After the change of uid, which clears this. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (warden_lives(sock) && chdir("/") == 0)
			(void)execve("/opt/reckon/reckon-init", argv, envp);
		(void)err_sys(&report.err, "execute reckon-init in the box");
		(void)err_remedy(&report.err, "make the libexec folder readable for everybody");
	}
	(void)fd_send_msg(sock, &report, sizeof(report), NULL, 0, &ignored);
	_exit(125);
}

static int write_map(pid_t pid, const char *file, unsigned inside, unsigned outside,
		     struct err *err)
{
	char path[64], line[64];
	cleanup_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	(void)snprintf(line, sizeof(line), "%u %u 1", inside, outside);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		return err_sys(err, "write %s", path);
	return 0;
}

/* 0 on end of file (the child executed), 1 with a ruleset or none, else the child's error. */
static int next_report(int sock, int *ret_ruleset, struct err *err)
{
	struct shell_report report;
	size_t nfds;
	int fd = -1;
	ssize_t n = fd_recv_msg(sock, &report, sizeof(report), &fd, 1, &nfds, err);

	if (n == 0)
		return 0;
	if (n != (ssize_t)sizeof(report))
		return err_set(err, ERR_PROTOCOL, "the box's child sent no report");
	if (report.err.code != ERR_OK) {
		*err = report.err;
		return (int)err->code;
	}
	*ret_ruleset = nfds == 1 ? fd : -1;
	return 1;
}

static int parent_side(const struct shell_plan *plan, struct shell *shell, int sock,
		       struct err *err)
{
	char path[64];
	int code;

	if (!cgroup_has_joins(plan->cgroups) &&
	    cgroup_attach_box(plan->cgroups, shell->name, shell->init, err) < 0)
		return (int)err->code;
	if (write(sock, "1", 1) != 1)
		return err_sys(err, "tell the box's child to go on");
	code = next_report(sock, &shell->landlock_fd, err);
	if (code <= 0)
		return code < 0 ? code : err_set(err, ERR_SYSTEM, "the box's child ended early");
	if (write_map(shell->init, "uid_map", BOX_UID, plan->uid, err) < 0 ||
	    write_map(shell->init, "gid_map", BOX_GID, plan->gid, err) < 0)
		return (int)err->code;
	if (write(sock, "2", 1) != 1)
		return err_sys(err, "tell the box's child to go on");
	code = next_report(sock, &shell->landlock_fd, err);
	if (code != 0)
		return code < 0 ? code : err_set(err, ERR_PROTOCOL, "unexpected report");
	if (plan->netns_fd >= 0) {
		shell->netns_fd = plan->netns_fd;
		return 0;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)shell->init);
	shell->netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	return shell->netns_fd < 0 ? err_sys(err, "open %s", path) : 0;
}

static void give_up(const struct shell_plan *plan, struct shell *shell)
{
	struct err ignored;

	if (shell->init > 0) {
		(void)kill(shell->init, SIGKILL);
		(void)waitpid(shell->init, NULL, __WALL);
	}
	(void)cgroup_remove(plan->cgroups, shell->name, &ignored);
	if (shell->landlock_fd >= 0)
		(void)close(shell->landlock_fd);
	if (shell->init_pidfd >= 0)
		(void)close(shell->init_pidfd);
}

int shell_build(const struct shell_plan *plan, struct shell *ret, struct err *err)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD |
			 (plan->netns_fd < 0 ? CLONE_NEWNET : 0u),
		.exit_signal = SIGCHLD,
	};
	struct shell shell = { .used = true,
			       .slot = plan->slot,
			       .init_pidfd = -1,
			       .netns_fd = -1,
			       .landlock_fd = -1,
			       .uid = plan->uid,
			       .host_uid = plan->host_uid,
			       .gid = plan->gid,
			       .host_gid = plan->host_gid,
			       .quota = plan->quota };
	cleanup_fd int ours = -1, theirs = -1;
	int pair[2];

	(void)snprintf(shell.name, sizeof(shell.name), "box-%u", plan->slot);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	if (cgroup_create(plan->cgroups, shell.name, err) < 0)
		return (int)err->code;
	args.pidfd = (uint64_t)(uintptr_t)&shell.init_pidfd;
	shell.init = sys_clone3(&args);
	if (shell.init == 0)
		child_main(plan, shell.name, theirs, ours);
	if (shell.init < 0) {
		(void)err_sys(err, "clone a box");
		shell.init_pidfd = -1;
		give_up(plan, &shell);
		return (int)err->code;
	}
	(void)close(theirs);
	theirs = -1;
	if (parent_side(plan, &shell, ours, err) < 0) {
		give_up(plan, &shell);
		return err_wrap(err, "build a box");
	}
	*ret = shell;
	return 0;
}

int shell_run_in(const struct shell *shell, shell_fn *fn, void *arg, struct err *err)
{
	struct err report = { 0 };
	int pair[2];
	cleanup_fd int ours = -1;
	pid_t pid;
	ssize_t n;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = pair[0];
	pid = fork();
	if (pid < 0) {
		(void)close(pair[1]);
		return err_sys(err, "fork");
	}
	if (pid == 0) {
		if (setns(shell->init_pidfd, CLONE_NEWNS) < 0)
			(void)err_sys(&report, "join the box's mount namespace");
		else
			(void)fn(arg, &report);
		_exit(write(pair[1], &report, sizeof(report)) < 0);
	}
	(void)close(pair[1]);
	n = fd_read_full(ours, &report, sizeof(report), err);
	(void)waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof(report))
		return err_set(err, ERR_SYSTEM, "a helper in the box ended early");
	if (report.code != ERR_OK)
		*err = report;
	return (int)report.code;
}

void shell_kill(const struct shell *shell)
{
	if (shell->init_pidfd >= 0)
		(void)sys_pidfd_signal(shell->init_pidfd, SIGKILL);
}

void shell_done(struct shell *shell, int *ret_netns)
{
	*ret_netns = shell->has_guests ? -1 : shell->netns_fd;
	if (shell->has_guests && shell->netns_fd >= 0)
		(void)close(shell->netns_fd);
	if (shell->landlock_fd >= 0)
		(void)close(shell->landlock_fd);
	if (shell->init_pidfd >= 0)
		(void)close(shell->init_pidfd);
	memset(shell, 0, sizeof(*shell));
}
