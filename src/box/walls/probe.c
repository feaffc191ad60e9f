/*
 * probe.c - finds out by trying which walls stand on this host.
 *
 * Runs in:  the warden, when a client asks (`reckon doctor`) or insists (strict mode).
 * Reads:    the host's kernel interfaces.
 * Never:    reports a wall as "on" that it has not seen working.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/walls/guard.h"
#include "box/walls/probe.h"

/* Runs `attempt` in a child; 0 if it returned 0, else its errno. */
static int try_in_child(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(attempt() == 0 ? 0 : errno != 0 ? errno : 255);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

static int try_namespaces(void)
{
	return unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP);
}

static int try_network(void)
{
	return unshare(CLONE_NEWNET);
}

static int try_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static int try_listener(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       &program) < 0
		       ? -1
		       : 0;
}

static int try_ptrace(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)PTRACE_O_EXITKILL) < 0) {
		const int why = errno;

		(void)kill(pid, SIGKILL);
		errno = why;
		return -1;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, __WALL);
	return 0;
}

static int try_proc(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	/* A pid namespace takes effect only for children, hence the fork; errno comes back as its
	 * status. */
	{
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
				    "subset=pid,hidepid=invisible") < 0
				      ? errno
				      : 0);
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return -1;
		errno = WEXITSTATUS(status);
		return errno == 0 ? 0 : -1;
	}
}

static void add(struct warden_walls *walls, const char *name, const char *state, const char *remedy,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void add(struct warden_walls *walls, const char *name, const char *state, const char *remedy,
		const char *fmt, ...)
{
	struct warden_wall *wall = &walls->wall[walls->count];
	va_list ap;

	if (walls->count == WARDEN_WALLS_MAX)
		return;
	walls->count++;
	(void)snprintf(wall->name, sizeof(wall->name), "%s", name);
	(void)snprintf(wall->state, sizeof(wall->state), "%s", state);
	(void)snprintf(wall->remedy, sizeof(wall->remedy), "%s", remedy);
	va_start(ap, fmt);
	(void)vsnprintf(wall->detail, sizeof(wall->detail), fmt, ap);
	va_end(ap);
}

static void add_tried(struct warden_walls *walls, const char *name, int (*attempt)(void),
		      const char *good, const char *cost, const char *remedy)
{
	const int why = try_in_child(attempt);

	if (why == 0)
		add(walls, name, "on", "", "%s", good);
	else
		add(walls, name, "off", remedy, "%s (%s)", cost, strerror(why));
}

static void add_identity(const struct warden *warden, struct warden_walls *walls)
{
	if (warden->rootless)
		add(walls, "own uid per session", "partial",
		    "run as root for a host uid of its own per session",
		    "rootless: all sessions are uid %u on the host, apart by namespaces",
		    warden->real_uid);
	else
		add(walls, "own uid per session", "on", "", "a host uid of its own per session");
}

static void add_cgroup(const struct warden *warden, struct warden_walls *walls, const char *name,
		       enum cgroup_controller controller, const char *cost)
{
	static const char *const kinds[] = { "none", "cgroup v1", "cgroup v2" };

	if (cgroup_has(&warden->cgroups, controller))
		add(walls, name, "on", "", "%s", kinds[warden->cgroups.kind]);
	else
		add(walls, name, "partial",
		    "run as root, or: systemd-run --user --scope -p Delegate=yes", "%s", cost);
}

/* A file that everybody may write to must be closed for writing now. */
static int try_landlock(void)
{
	const struct sys_landlock_attr attr = { .handled_access_fs =
							LANDLOCK_ACCESS_FS_WRITE_FILE };
	const int ruleset = sys_landlock_create(&attr, sizeof(attr), 0);

	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -1;
	if (open("/dev/null", O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES)
		return 0;
	errno = EBADE;
	return -1;
}

static void add_landlock(struct warden_walls *walls)
{
	const int abi = sys_landlock_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	const int why = abi > 0 ? try_in_child(try_landlock) : errno;

	if (why == 0)
		add(walls, "landlock", "on", "", "ABI %d%s", abi,
		    abi < 6 ? "" : ": files, signals, abstract sockets");
	else
		add(walls, "landlock", "off", "boot with lsm=landlock,… (Linux 5.13 or later)",
		    "file access rests on mounts and uids alone (%s)", strerror(why));
}

/* Options of a session: without them no wall is missing, unless a session requests them. */
static void add_guards(struct warden_walls *walls)
{
	const char *why;

	if (guard_core_is_there(&why))
		add(walls, "core scheduling", "on", "", "for sessions that ask: a core is never "
							"shared with another's task");
	else
		add(walls, "core scheduling", "absent",
		    "Linux with CONFIG_SCHED_CORE and a processor with threads per core",
		    "for sessions that ask: they may share a core (%s)", why);
	if (guard_speculation_is_there())
		add(walls, "speculation control", "on", "", "for sessions that ask: off for good");
	else
		add(walls, "speculation control", "absent",
		    "boot with spec_store_bypass_disable=prctl spectre_v2_user=prctl",
		    "for sessions that ask: this host cannot turn it off");
}

void probe_walls(struct warden *warden, struct warden_walls *walls)
{
	walls->count = 0;
	walls->rootless = warden->rootless;
	add_tried(walls, "user namespace", try_user, "kernels have no capability outside their own",
		  "no session can start",
		  "sysctl user.max_user_namespaces, or an AppArmor profile with userns");
	add_tried(walls, "namespaces", try_namespaces, "mount, pid, ipc, uts, cgroup",
		  "no session can start", "allow unshare for this user or container");
	add_tried(walls, "network namespace", try_network, "no network but an own loopback",
		  "no session can start", "allow unshare for this user or container");
	add_tried(walls, "private /proc", try_proc, "own processes only", "no session can start",
		  "do not mask /proc in the container that Reckon runs in");
	add_identity(warden, walls);
	add_tried(walls, "seccomp", try_listener, "allow-list, denied calls are reported",
		  "no session can start",
		  "a kernel with CONFIG_SECCOMP_FILTER (Linux 5.0 or later)");
	add_landlock(walls);
	add_cgroup(warden, walls, "memory limit", CG_MEMORY,
		   "per process only (RLIMIT_DATA), not for the whole box");
	add_cgroup(warden, walls, "process limit", CG_PIDS, "RLIMIT_NPROC only");
	add_cgroup(warden, walls, "cpu limit", CG_CPU,
		   "no CPU share; wall and CPU time limits work");
	add_cgroup(warden, walls, "freezer", CG_FREEZER,
		   "a session is stopped task by task before it is branched");
	add_cgroup(warden, walls, "cpu accounting", CG_CPUACCT,
		   "receipts come from /proc and miss processes nobody waited for");
	add_tried(walls, "twins", try_ptrace, "live sessions can be branched",
		  "no undo, fork or hibernation of live sessions",
		  "allow ptrace (--cap-add SYS_PTRACE, kernel.yama.ptrace_scope < 3)");
	if (cgroup_has_groups(&warden->cgroups))
		add(walls, "cpu groups", "on", "", "tenants share the processors by weight");
	else
		add(walls, "cpu groups", "absent",
		    "run as root, or: systemd-run --user --scope -p Delegate=yes",
		    "a tenant with many busy sessions gets more of the processors");
	add_guards(walls);
}

int probe_strict(struct warden *warden, struct err *err)
{
	struct warden_walls walls;

	probe_walls(warden, &walls);
	for (uint32_t i = 0; i < walls.count; i++)
		if (strcmp(walls.wall[i].state, "on") != 0 &&
		    strcmp(walls.wall[i].state, "absent") != 0) {
			(void)err_set(err, ERR_UNAVAILABLE, "strict mode: %s is %s: %s",
				      walls.wall[i].name, walls.wall[i].state,
				      walls.wall[i].detail);
			return err_remedy(err, "%s", walls.wall[i].remedy);
		}
	return 0;
}
