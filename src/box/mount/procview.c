/*
 * procview.c - what a box sees of /proc.
 *
 * Runs in:  children of the warden, before they run anything else.
 * Reads:    the names in a fresh procfs.
 * Never:    leaves a file of the host uncovered: if it cannot cover all, it mounts processes alone.
 *
 * Programs read from /proc how much memory and how many processors there are, and fail without it,
 * but must not see the host's. So a whole procfs is mounted, and every name in it that is not a
 * process is covered with a bind mount: some with files in /run/box, a tmpfs of the session's own,
 * which its kernel keeps up to date (src/inside/procview.c); some with fixed files of the
 * template's root, in /run/proc; all others with an empty file or directory. The names are read,
 * not listed here, so that a later Linux shows no more.
 */
#include "box/mount/procview.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define FIXED "/run/proc"
#define OWN "/run/box"

static const char *const fixed_dirs[] = { "run/box", "run/proc", "run/proc/.empty", "run/proc/sys",
	"run/proc/sys/fs", "run/proc/sys/kernel", "run/proc/sys/kernel/random", "run/proc/sys/net",
	"run/proc/sys/net/core", "run/proc/sys/vm" };

static const char *const fixed_files[][2] = {
	{ ".none", "" },
	{ "filesystems", "nodev\tproc\nnodev\ttmpfs\n" },
	{ "swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" },
	{ "vmstat", "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n" },
	{ "sys/fs/file-max", "1048576\n" },
	{ "sys/fs/nr_open", "1048576\n" },
	{ "sys/fs/pipe-max-size", "1048576\n" },
	{ "sys/kernel/cap_last_cap", "40\n" },
	{ "sys/kernel/domainname", "(none)\n" },
	{ "sys/kernel/hostname", "sandbox\n" },
	{ "sys/kernel/ngroups_max", "65536\n" },
	{ "sys/kernel/osrelease", NULL }, /* NULL: from uname(), which any program may call */
	{ "sys/kernel/ostype", "Linux\n" },
	{ "sys/kernel/overflowgid", "65534\n" },
	{ "sys/kernel/overflowuid", "65534\n" },
	{ "sys/kernel/pid_max", "32768\n" },
	{ "sys/kernel/random/entropy_avail", "256\n" },
	{ "sys/kernel/random/poolsize", "256\n" },
	{ "sys/kernel/sem", "32000\t1024000000\t500\t32000\n" },
	{ "sys/kernel/shmmax", "18446744073692774399\n" },
	{ "sys/kernel/threads-max", "32768\n" },
	{ "sys/net/core/somaxconn", "4096\n" },
	{ "sys/vm/max_map_count", "65530\n" },
	{ "sys/vm/overcommit_memory", "0\n" },
	{ "sys/vm/swappiness", "60\n" },
	{ "version", NULL },
};

/* The session's own: its kernel updates them before each cell. */
static const char *const own_files[] = { "cpuinfo", "loadavg", "meminfo", "stat", "uptime" };

static int write_at(int dir_fd, const char *name, const char *text, mode_t mode, struct err *err)
{
	cleanup_fd int fd =
		openat(dir_fd, name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);

	if (fd < 0)
		return err_sys(err, "make %s of a box's /proc", name);
	return fd_write_full(fd, text, strlen(text), err);
}

int procview_skeleton(struct err *err)
{
	char line[256];
	cleanup_fd int root = -1;
	struct utsname host;

	for (size_t i = 0; i < ARRAY_LEN(fixed_dirs); i++)
		if (mkdir(fixed_dirs[i], 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make directory %s of the root", fixed_dirs[i]);
	root = open("run/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || uname(&host) < 0)
		return err_sys(err, "open run/proc of the root");
	for (size_t i = 0; i < ARRAY_LEN(fixed_files); i++) {
		const char *name = fixed_files[i][0], *text = fixed_files[i][1];

		(void)snprintf(line, sizeof(line), "%s%.64s\n",
			       strcmp(name, "version") == 0 ? "Linux version " : "", host.release);
		if (write_at(root, name, text != NULL ? text : line, 0444, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- the session's own numbers ---------------------------------------------------------- */

static int write_memory(int own, const struct mount_quota *quota, struct err *err)
{
	const unsigned long long kib = quota->memory_bytes / 1024;
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "MemTotal:       %llu kB\nMemFree:        %llu kB\nMemAvailable:   %llu kB\n"
		       "Buffers:        0 kB\nCached:         0 kB\nSwapCached:     0 kB\n"
		       "Active:         0 kB\nInactive:       0 kB\nSwapTotal:      0 kB\n"
		       "SwapFree:       0 kB\nShmem:          0 kB\nSlab:           0 kB\n"
		       "SReclaimable:   0 kB\n",
		       kib, kib, kib);
	return write_at(own, "meminfo", text, 0644, err);
}

static int write_processors(int own, struct err *err)
{
	char info[16384], stat[8192];
	size_t used = 0, counted;
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	count = count < 64 ? count : 64;
	counted = (size_t)snprintf(stat, sizeof(stat), "cpu  0 0 0 0 0 0 0 0 0 0\n");
	for (int i = 0; i < count; i++) {
		used += (size_t)snprintf(
			info + used, sizeof(info) - used,
			"processor\t: %d\nvendor_id\t: virtual\nmodel name\t: virtual\n"
			"physical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\n"
			"cpu cores\t: %d\n\n",
			i, count, i, count);
		counted += (size_t)snprintf(stat + counted, sizeof(stat) - counted,
					    "cpu%d 0 0 0 0 0 0 0 0 0 0\n", i);
	}
	(void)snprintf(stat + counted, sizeof(stat) - counted,
		       "intr 0\nctxt 0\nbtime %lld\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
		       "softirq 0\n", (long long)time(NULL));
	if (write_at(own, "cpuinfo", info, 0644, err) < 0)
		return (int)err->code;
	return write_at(own, "stat", stat, 0644, err);
}

static int make_own(const struct mount_quota *quota, struct err *err)
{
	char options[96];
	cleanup_fd int own = -1;

	(void)snprintf(options, sizeof(options), "size=256k,nr_inodes=16,mode=755,uid=%u,gid=%u",
		       quota->uid, quota->gid);
	if (mount("tmpfs", OWN, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return err_sys(err, "mount " OWN);
	own = open(OWN, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		return err_sys(err, "open " OWN);
	if (write_memory(own, quota, err) < 0 || write_processors(own, err) < 0 ||
	    write_at(own, "uptime", "0.00 0.00\n", 0644, err) < 0 ||
	    write_at(own, "loadavg", "0.00 0.00 0.00 1/1 1\n", 0644, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(own_files); i++)
		if (fchownat(own, own_files[i], quota->uid, quota->gid, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(err, "give " OWN " to the box");
	return 0;
}

int procview_resize(const struct mount_quota *quota, struct err *err)
{
	cleanup_fd int own = open(OWN, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return own < 0 ? err_sys(err, "open " OWN) : write_memory(own, quota, err);
}

/* ---- covering --------------------------------------------------------------------------- */

static bool is_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(own_files); i++)
		if (strcmp(name, own_files[i]) == 0)
			return true;
	return false;
}

/* Whether a name stays visible: processes, and links, which all lead to the reading process. */
static bool is_shown(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]) || entry->d_name[0] == '.' ||
	       entry->d_type == DT_LNK;
}

/* The directory of the file or directory to cover `name` with, or NULL: an empty one is used. */
static const char *replacement_dir(const char *name)
{
	if (is_own(name))
		return OWN;
	if (strcmp(name, "sys") == 0)
		return FIXED;
	for (size_t i = 0; i < ARRAY_LEN(fixed_files); i++)
		if (strcmp(name, fixed_files[i][0]) == 0)
			return FIXED;
	return NULL;
}

/*
 * No stat() before or after: a box has some fifty of these mounts, and looking at each twice took
 * as long as mounting it. If the replacement is of another type, mount() fails with ENOTDIR.
 */
static int cover(const struct dirent *entry, struct err *err)
{
	const char *dir = replacement_dir(entry->d_name);
	char source[300];

	if (dir != NULL)
		(void)snprintf(source, sizeof(source), "%s/%s", dir, entry->d_name);
	else
		(void)snprintf(source, sizeof(source), FIXED "/%s",
			       entry->d_type == DT_DIR ? ".empty" : ".none");
	if (mount(source, entry->d_name, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, "cover /proc/%s", entry->d_name);
	return 0;
}

/* Covers what is in the working directory, /proc. */
static int cover_names(DIR *dir, struct err *err)
{
	struct dirent *entry;

	while (errno = 0, (entry = readdir(dir)) != NULL)
		if (!is_shown(entry) && cover(entry, err) < 0)
			return (int)err->code;
	return errno != 0 ? err_sys(err, "read the names in the box's /proc") : 0;
}

/* Leaves the working directory at "/". */
static int cover_all(struct err *err)
{
	cleanup_dir DIR *dir = opendir("/proc");
	int code;

	if (dir == NULL || chdir("/proc") < 0)
		return err_sys(err, "open the box's /proc");
	code = cover_names(dir, err);
	if (chdir("/") < 0)
		return err_sys(err, "leave the box's /proc");
	return code;
}

int procview_mount(const struct mount_quota *quota, struct err *err)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	struct err why;

	if (make_own(quota, err) < 0)
		return (int)err->code;
	if (mount("proc", "/proc", "proc", flags, "hidepid=invisible") == 0) {
		if (cover_all(&why) == 0)
			return 0;
		(void)umount2("/proc", MNT_DETACH);
	}
	if (mount("proc", "/proc", "proc", flags, "subset=pid,hidepid=invisible") < 0)
		return err_sys(err, "mount the box's /proc");
	return 0;
}
