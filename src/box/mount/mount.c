/*
 * mount.c - what a box sees of the file system.
 *
 * Runs in:  children of the warden, before they run anything else; mount_clone_dir() and
 *           mount_own_sysctl() in the warden.
 * Reads:    the host's system tree.
 * Never:    runs after user code has started in the namespace, except to resize.
 *
 * A template's root is built once, by the process that becomes its zygote: a small tmpfs with
 * read-only copies of the host's /usr and of the template, and an /etc of our own. Each box copies
 * that namespace and adds mounts of its own. All sources are opened before the new root covers
 * anything, so that they may lie below the place where it is assembled.
 */
#include "box/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "box/mount/procview.h"
#include "box/sys.h"

#define TERMINALS_MAX "96" /* in one box; 64 are for the client, see WARDEN_TERMINALS_MAX */
#define STAGE "/tmp" /* where the new root is assembled; exists everywhere */

static int clone_tree(int at, const char *path, int *ret_fd)
{
	int fd = (int)syscall(SYS_open_tree, at, path,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
				      (path[0] == '\0' ? AT_EMPTY_PATH : 0));

	if (fd < 0)
		return -1;
	*ret_fd = fd;
	return 0;
}

static int set_attr(int tree, uint64_t set)
{
	struct mount_attr attr = { .attr_set = set };

	return (int)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			    sizeof(attr));
}

static int attach_tree(int tree, const char *target)
{
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
}

/* What the new root shows of the host. Missing optional sources are left out. */
static const struct shown {
	const char *source;
	const char *target;
	int is_file;
	int is_device;
	int required;
} shown[] = {
	{ "/usr", "usr", 0, 0, 1 },
	{ "/etc/alternatives", "etc/alternatives", 0, 0, 0 },
	{ "/etc/fonts", "etc/fonts", 0, 0, 0 },
	/* Debian keeps files there without which a Java VM does not start. */
	{ "/etc/java-17-openjdk", "etc/java-17-openjdk", 0, 0, 0 },
	{ "/etc/java-21-openjdk", "etc/java-21-openjdk", 0, 0, 0 },
	{ "/etc/ssl/certs", "etc/ssl/certs", 0, 0, 0 },
	{ "/etc/ld.so.cache", "etc/ld.so.cache", 1, 0, 0 },
	{ "/etc/mime.types", "etc/mime.types", 1, 0, 0 },
	{ "/dev/null", "dev/null", 1, 1, 1 },
	{ "/dev/zero", "dev/zero", 1, 1, 1 },
	{ "/dev/full", "dev/full", 1, 1, 1 },
	{ "/dev/random", "dev/random", 1, 1, 1 },
	{ "/dev/urandom", "dev/urandom", 1, 1, 1 },
	/* A process that opens it gets the terminal that it already has, or none. */
	{ "/dev/tty", "dev/tty", 1, 1, 0 },
};

static const char *const root_dirs[] = { "usr",
					 "etc",
					 "etc/alternatives",
					 "etc/fonts",
					 "etc/ssl",
					 "etc/ssl/certs",
					 "etc/java-17-openjdk",
					 "etc/java-21-openjdk",
					 "proc",
					 "dev",
					 "dev/shm",
					 "dev/pts",
					 "tmp",
					 "mnt",
					 "mnt/data",
					 "home",
					 "run",
					 "var",
					 "opt",
					 "opt/template",
					 "opt/reckon" };

static const char *const root_links[][2] = {
	{ "usr/bin", "bin" }, { "usr/sbin", "sbin" }, { "usr/lib", "lib" }, { "usr/lib64", "lib64" },
	{ "/mnt/data", "home/user" }, { "/tmp", "var/tmp" }, { "/proc/self/fd", "dev/fd" },
	{ "/proc/self/fd/0", "dev/stdin" }, { "/proc/self/fd/1", "dev/stdout" },
	{ "/proc/self/fd/2", "dev/stderr" }, { "pts/ptmx", "dev/ptmx" }, { "/usr/share/zoneinfo/Etc/UTC", "etc/localtime" },
};

static const char *const root_files[][2] = {
	{ "etc/passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			"user:x:1000:1000:user:/home/user:/bin/bash\n"
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n" },
	{ "etc/hostname", "sandbox\n" },
	{ "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n" },
	{ "etc/resolv.conf", "" },
	{ "etc/os-release", "ID=reckon\nNAME=Reckon\nPRETTY_NAME=\"Reckon sandbox\"\n" },
};

static int write_file(const char *path, const char *text, struct err *err)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_sys(err, "make %s", path);
	return fd_write_full(fd, text, strlen(text), err);
}

static int make_skeleton(struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(root_dirs); i++)
		if (mkdir(root_dirs[i], 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make directory %s of the root", root_dirs[i]);
	for (size_t i = 0; i < ARRAY_LEN(root_links); i++)
		if (symlink(root_links[i][0], root_links[i][1]) < 0)
			return err_sys(err, "make link %s of the root", root_links[i][1]);
	for (size_t i = 0; i < ARRAY_LEN(root_files); i++)
		if (write_file(root_files[i][0], root_files[i][1], err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		if (shown[i].is_file && write_file(shown[i].target, "", err) < 0)
			return (int)err->code;
	return 0;
}

static int attach_shown(int *trees, struct err *err)
{
	const uint64_t ro = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		if (trees[i] < 0)
			continue;
		if (set_attr(trees[i], shown[i].is_device ? MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC
							  : ro | MOUNT_ATTR_NODEV) < 0)
			return err_sys(err, "protect %s", shown[i].source);
		if (attach_tree(trees[i], shown[i].target) < 0)
			return err_sys(err, "attach %s", shown[i].source);
	}
	return 0;
}

static int attach_dir_ro(int tree, const char *target, struct err *err)
{
	if (set_attr(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0 ||
	    attach_tree(tree, target) < 0)
		return err_sys(err, "attach %s", target);
	return 0;
}

/* Hides the distribution's own Python packages: a template sees only those that it brings. */
static int hide_dist_packages(struct err *err)
{
	static const char *const hidden[] = { "usr/lib/python3/dist-packages",
					      "usr/lib/python3.11/dist-packages",
					      "usr/local/lib/python3.11/dist-packages" };

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
		if (access(hidden[i], F_OK) < 0)
			continue;
		if (mount("tmpfs", hidden[i], "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV,
			  "size=4k,nr_inodes=2,mode=755") < 0)
			return err_sys(err, "hide %s", hidden[i]);
	}
	return 0;
}

static int enter_root(struct err *err)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(err, "leave the old root");
	if (chdir("/") < 0)
		return err_sys(err, "chdir to the new root");
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
	    0)
		return err_sys(err, "make the root read-only");
	return 0;
}

int mount_template_root(const struct mount_tree *tree, struct err *err)
{
	int trees[ARRAY_LEN(shown)];
	int template_tree = -1, libexec_tree = -1, proc_tree = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		(void)err_sys(err, "make mounts private");
		return err_remedy(err, "the kernel makes no boxes in a chroot; enter the tree by "
				       "pivot_root, as containers do");
	}
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		trees[i] = -1;
		if (clone_tree(AT_FDCWD, shown[i].source, &trees[i]) < 0 && shown[i].required)
			return err_sys(err, "copy the mount %s", shown[i].source);
	}
	if (tree->template_tree != NULL &&
	    clone_tree(AT_FDCWD, tree->template_tree, &template_tree) < 0)
		return err_sys(err, "copy the mount %s", tree->template_tree);
	if (clone_tree(AT_FDCWD, tree->libexec_dir, &libexec_tree) < 0)
		return err_sys(err, "copy the mount %s", tree->libexec_dir);
	/* A fresh procfs would show the outer pid namespace, which a rootless warden does not own.
	 * The zygote uses this copy; every box covers it with its own. */
	if (clone_tree(AT_FDCWD, "/proc", &proc_tree) < 0)
		return err_sys(err, "copy the mount /proc");
	if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=300,mode=755") <
	    0)
		return err_sys(err, "mount a tmpfs for the root");
	if (chdir(STAGE) < 0)
		return err_sys(err, "enter the new root");
	if (make_skeleton(err) < 0 || procview_skeleton(err) < 0 || attach_shown(trees, err) < 0)
		return (int)err->code;
	if (template_tree >= 0 && attach_dir_ro(template_tree, "opt/template", err) < 0)
		return (int)err->code;
	if (attach_dir_ro(libexec_tree, "opt/reckon", err) < 0 || hide_dist_packages(err) < 0)
		return (int)err->code;
	if (attach_tree(proc_tree, "proc") < 0)
		return err_sys(err, "attach /proc");
	if (mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=1777") < 0)
		return err_sys(err, "mount /tmp");
	return enter_root(err);
}

static int mount_tmpfs(const char *target, unsigned long flags, uint64_t bytes, uint64_t inodes,
		       const char *more, struct err *err)
{
	char options[160];

	(void)snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu%s",
		       (unsigned long long)bytes, (unsigned long long)inodes, more);
	if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) < 0)
		return err_sys(err, "mount %s", target);
	return 0;
}

static uint64_t scratch_bytes(const struct mount_quota *quota)
{
	return quota->memory_bytes / 2 > (16u << 20) ? quota->memory_bytes / 2 : 16u << 20;
}

static int protect_mnt(unsigned long read_only, struct err *err)
{
	if (mount(NULL, "/mnt", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | read_only,
		  NULL) < 0)
		return err_sys(err, "change the protection of /mnt");
	return 0;
}

/*
 * Gives the box terminals of its own: no name and no ioctl in it reaches those of another box or of
 * the host. The host's limit (kernel.pty.max) is for all boxes together, so each has a small one.
 */
static int mount_terminals(struct err *err)
{
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0600,max=" TERMINALS_MAX) < 0)
		return err_sys(err, "mount the box's /dev/pts");
	return 0;
}

int mount_session_dirs(const struct mount_quota *quota, struct err *err)
{
	char owner[64];

	if (procview_mount(quota, err) < 0 || mount_terminals(err) < 0)
		return (int)err->code;
	/*
	 * Each box has its own /mnt: the template's boxes share the root, which therefore has no
	 * mount points for host directories; and Landlock's rule for /mnt must refer to what is
	 * mounted there, because it ignores covered directories.
	 */
	if (mount_tmpfs("/mnt", 0, 65536, 64, ",mode=755", err) < 0)
		return (int)err->code;
	if (mkdir("/mnt/data", 0755) < 0)
		return err_sys(err, "make the workspace");
	if (protect_mnt(MS_RDONLY, err) < 0)
		return (int)err->code;
	(void)snprintf(owner, sizeof(owner), ",mode=755,uid=%u,gid=%u", quota->uid, quota->gid);
	if (mount_tmpfs("/mnt/data", 0, quota->disk_bytes, quota->inodes, owner, err) < 0)
		return (int)err->code;
	if (mount_tmpfs("/tmp", 0, scratch_bytes(quota), quota->inodes, ",mode=1777", err) < 0)
		return (int)err->code;
	return mount_tmpfs("/dev/shm", 0, scratch_bytes(quota), quota->inodes, ",mode=1777", err);
}

int mount_session_resize(const struct mount_quota *quota, struct err *err)
{
	if (procview_resize(quota, err) < 0)
		return (int)err->code;
	if (mount_tmpfs("/mnt/data", MS_REMOUNT, quota->disk_bytes, quota->inodes, "", err) < 0)
		return (int)err->code;
	if (mount_tmpfs("/tmp", MS_REMOUNT, scratch_bytes(quota), quota->inodes, "", err) < 0)
		return (int)err->code;
	return mount_tmpfs("/dev/shm", MS_REMOUNT, scratch_bytes(quota), quota->inodes, "", err);
}

int mount_clone_dir(int dir_fd, int writable, int userns_fd, int *ret_tree, struct err *err)
{
	struct mount_attr map = { .attr_set = MOUNT_ATTR_IDMAP };
	cleanup_fd int tree = -1;

	if (clone_tree(dir_fd, "", &tree) < 0)
		return err_sys(err, "copy a host directory's mount");
	if (set_attr(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			     (writable ? 0 : MOUNT_ATTR_RDONLY)) < 0)
		return err_sys(err, "protect a host directory's mount");
	if (userns_fd >= 0) {
		map.userns_fd = (unsigned)userns_fd;
		if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &map, sizeof(map)) < 0) {
			(void)err_sys(err,
				      "the file system of a mounted directory cannot map owners");
			return err_remedy(
				err, "take a directory on ext4, xfs or btrfs (tmpfs: from Linux "
				     "6.3 on), or run Reckon as an ordinary user");
		}
	}
	*ret_tree = TAKE_FD(tree);
	return 0;
}

int mount_host_dirs(const int *trees, const char *const *targets, size_t count, struct err *err)
{
	if (protect_mnt(0, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count; i++) {
		char path[512];

		(void)snprintf(path, sizeof(path), "%s", targets[i]);
		for (char *slash = path + 5; (slash = strchr(slash, '/')) != NULL; slash++) {
			*slash = '\0';
			if (mkdir(path, 0755) < 0 && errno != EEXIST)
				return err_sys(err, "make the mount point %s", path);
			*slash = '/';
		}
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make the mount point %s", path);
		if (attach_tree(trees[i], path) < 0)
			return err_sys(err, "attach the host directory at %s", path);
	}
	return protect_mnt(MS_RDONLY, err);
}

int mount_own_sysctl(int *ret_dir, struct err *err)
{
	cleanup_fd int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	cleanup_fd int mounted = -1;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, "make a procfs");
	mounted = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
			       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mounted < 0)
		return err_sys(err, "mount a procfs");
	*ret_dir = openat(mounted, "sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_dir < 0 ? err_sys(err, "open sys/user of a procfs") : 0;
}

#define LL_READ \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static int landlock_allow(int ruleset, const char *path, uint64_t access, struct err *err)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };

	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (sys_landlock_allow(ruleset, &rule) < 0)
		return err_sys(err, "Landlock rule for %s", path);
	return 0;
}

int mount_landlock_rules(int *ret_fd, struct err *err)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
					       "/dev/urandom" };
	const int abi = sys_landlock_create(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	/* Bits 0..12 are ABI 1, 13 (refer) is ABI 2, 14 (truncate) is ABI 3; device ioctls of
	 * ABI 5 stay unhandled: seccomp judges ioctl. */
	const uint64_t all = abi >= 3 ? (1u << 15) - 1 : abi == 2 ? (1u << 14) - 1 : (1u << 13) - 1;
	/* Linux lets every user make a device 0/0, which overlayfs takes for a deleted file. */
	const uint64_t own = all & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR |
					       LANDLOCK_ACCESS_FS_MAKE_BLOCK);
	const uint64_t device = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				(all & (1u << 14));
	/*
	 * ABI 6: no signal and no abstract socket leaves the kernel's domain. Ports (ABI 4) stay
	 * unhandled: rules name ports, not addresses, and a box has nothing but its own loopback.
	 */
	const struct sys_landlock_attr attr = {
		.handled_access_fs = all,
		.scoped =
			abi >= 6 ? SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX | SYS_LANDLOCK_SCOPE_SIGNAL : 0,
	};
	cleanup_fd int ruleset = -1;

	*ret_fd = -1;
	if (abi < 1)
		return 0;
	ruleset = sys_landlock_create(&attr, sizeof(attr), 0);
	if (ruleset < 0)
		return err_sys(err, "make a Landlock ruleset");
	if (landlock_allow(ruleset, "/", LL_READ, err) < 0 ||
	    landlock_allow(ruleset, "/mnt", own, err) < 0 ||
	    landlock_allow(ruleset, "/tmp", own, err) < 0 ||
	    landlock_allow(ruleset, "/dev/shm", own, err) < 0 ||
	    landlock_allow(ruleset, "/run/box", own, err) < 0 ||
	    landlock_allow(ruleset, "/dev/pts", device | LANDLOCK_ACCESS_FS_READ_DIR, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (landlock_allow(ruleset, devices[i], device, err) < 0)
			return (int)err->code;
	if (access("/dev/tty", F_OK) == 0 && landlock_allow(ruleset, "/dev/tty", device, err) < 0)
		return (int)err->code;
	*ret_fd = TAKE_FD(ruleset);
	return 0;
}
