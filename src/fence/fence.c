/*
 * fence.c - what a process gives up before it reads its first hostile byte.
 *
 * Runs in:  reckon-front, reckon-unarchiver and reckon-agent, once, single-threaded.
 * Reads:    nothing.
 * Never:    goes on if it cannot put up a part of the fence that this Linux supports.
 */
#include "fence/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "Reckon knows x86-64 and arm64"
#endif

#define X32_BIT 0x40000000u
#define INSNS_MAX 320
#define AT_EMPTY 0x1000u /* AT_EMPTY_PATH */

/* <linux/landlock.h> of the build host may be older than the running Linux. */
#define RULE_PATH 1
#define RULE_PORT 2
#define READ_FILE (UINT64_C(1) << 2)
#define CONNECT_TCP (UINT64_C(1) << 1)
#define ABI_PORTS 4

struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

struct path_rule {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

struct port_rule {
	uint64_t access;
	uint64_t port;
};

static int drop_user(const struct fence *fence, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (geteuid() == 0) {
		for (int cap = 0; cap < 64; cap++)
			if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
				break;
		(void)setgroups(0, NULL);
		if ((setresgid(fence->uid, fence->uid, fence->uid) < 0 ||
		     setresuid(fence->uid, fence->uid, fence->uid) < 0) &&
		    (setresgid(FENCE_UID_NOBODY, FENCE_UID_NOBODY, FENCE_UID_NOBODY) < 0 ||
		     setresuid(FENCE_UID_NOBODY, FENCE_UID_NOBODY, FENCE_UID_NOBODY) < 0)) {
			if (errno != EINVAL)
				return err_sys(err, "become the user of %s", fence->who);
			/* This user namespace maps only one uid, so there is no other uid to change
			 * to. */
			log_line(LOG_WARN, "a fenced process keeps its uid", "who=%s",
				 fence->who);
		}
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, "drop capabilities");
	return 0;
}

static int set_limits(const struct fence *fence, struct err *err)
{
	const struct {
		int resource;
		rlim_t value;
	} limits[] = {
		/* RLIMIT_NPROC counts all tasks of a uid, so it cannot bound the threads of one
		 * process. */
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NPROC, fence->reach == NULL ? 0 : RLIM_INFINITY },
		{ RLIMIT_NOFILE, fence->descriptors }, { RLIMIT_FSIZE, fence->file_max },
		{ RLIMIT_DATA, fence->memory_max }, { RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_CPU, fence->cpu_s != 0 ? fence->cpu_s : RLIM_INFINITY },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit now, want = { limits[i].value, limits[i].value };

		if (getrlimit((__rlimit_resource_t)limits[i].resource, &now) < 0)
			return err_sys(err, "read a resource limit");
		if (want.rlim_max > now.rlim_max)
			want.rlim_cur = want.rlim_max = now.rlim_max;
		if (setrlimit((__rlimit_resource_t)limits[i].resource, &want) < 0)
			return err_sys(err, "set a resource limit");
	}
	return 0;
}

static int allow_file(int ruleset, const char *path, struct err *err)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
	const struct path_rule rule = { .access = READ_FILE, .fd = fd };

	if (fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0) < 0)
		return err_sys(err, "Landlock rule for %.200s", path);
	return 0;
}

static int allow_port(int ruleset, uint16_t port, struct err *err)
{
	const struct port_rule rule = { .access = CONNECT_TCP, .port = port };

	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0) < 0)
		return err_sys(err, "Landlock rule for port %u", (unsigned)port);
	return 0;
}

static int allow_reach(int ruleset, const struct fence_reach *reach, bool knows_ports,
		       struct err *err)
{
	for (size_t i = 0; i < reach->file_count; i++)
		if (allow_file(ruleset, reach->files[i], err) < 0)
			return (int)err->code;
	for (size_t i = 0; knows_ports && i < reach->port_count; i++)
		if (allow_port(ruleset, reach->ports[i], err) < 0)
			return (int)err->code;
	return 0;
}

/* Denies every file that is not already open and every TCP port, except those that the fence
 * names. */
static int no_files(const struct fence *fence, struct err *err)
{
	const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
	struct ruleset set = { .fs = 0x1fff };
	size_t size = sizeof(set.fs);
	cleanup_fd int fd = -1;

	if (abi < 0) {
		/* Without a reach the seccomp filter is enough: it allows no system call that opens
		 * a file. */
		log_line(LOG_WARN, "this kernel has no Landlock", "who=%s", fence->who);
		return 0;
	}
	if (abi >= 2)
		set.fs |= 1u << 13;
	if (abi >= 3)
		set.fs |= 1u << 14;
	if (abi >= ABI_PORTS) {
		set.net = 3; /* bind, connect */
		size = offsetof(struct ruleset, scoped);
	}
	if (abi >= 5)
		set.fs |= 1u << 15;
	if (abi >= 6) {
		set.scoped = 3; /* abstract sockets, signals */
		size = sizeof(set);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (fd < 0)
		return err_sys(err, "make a Landlock ruleset");
	if (fence->reach != NULL && allow_reach(fd, fence->reach, abi >= ABI_PORTS, err) < 0)
		return (int)err->code;
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_sys(err, "apply Landlock");
	return 0;
}

struct program {
	struct sock_filter insn[INSNS_MAX];
	unsigned short len;
};

static void emit(struct program *p, struct sock_filter insn)
{
	if (p->len < INSNS_MAX)
		p->insn[p->len++] = insn;
}

static void load(struct program *p, size_t offset)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void load_arg(struct program *p, unsigned arg)
{
	load(p, offsetof(struct seccomp_data, args) + 8u * arg);
}

static void ret(struct program *p, uint32_t action)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void jump(struct program *p, uint16_t op, uint32_t value, uint8_t yes, uint8_t no)
{
	emit(p, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | op), value, yes, no));
}

/* Allows the call unless the argument has one of these bits; the accumulator holds its number. */
static void allow_without(struct program *p, int nr, unsigned arg, uint32_t bits)
{
	jump(p, BPF_JEQ, (uint32_t)nr, 0, 4);
	load_arg(p, arg);
	jump(p, BPF_JSET, bits, 0, 1);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
	ret(p, SECCOMP_RET_ALLOW);
}

/* Allows threads, but no processes. clone3 hides its flags: glibc then falls back to clone. */
static void allow_threads(struct program *p)
{
	jump(p, BPF_JEQ, SYS_clone3, 0, 1);
	ret(p, SECCOMP_RET_ERRNO | ENOSYS);
	jump(p, BPF_JEQ, SYS_clone, 0, 4);
	load_arg(p, 0);
	jump(p, BPF_JSET, CLONE_THREAD, 1, 0);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
	ret(p, SECCOMP_RET_ALLOW);
}

/* Allows internet sockets, and the netlink socket on which a resolver lists this host's
 * addresses. */
static void allow_families(struct program *p)
{
	jump(p, BPF_JEQ, SYS_socket, 0, 6);
	load_arg(p, 0);
	jump(p, BPF_JEQ, AF_INET, 3, 0);
	jump(p, BPF_JEQ, AF_INET6, 2, 0);
	jump(p, BPF_JEQ, AF_NETLINK, 1, 0);
	ret(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	ret(p, SECCOMP_RET_ALLOW);
}

static void compile(const struct fence *fence, struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	jump(p, BPF_JEQ, NATIVE_ARCH, 1, 0);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	jump(p, BPF_JGE, X32_BIT, 0, 1);
	ret(p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < fence->allowed_count; i++) {
		jump(p, BPF_JEQ, (uint32_t)fence->allowed[i], 0, 1);
		ret(p, SECCOMP_RET_ALLOW);
	}
	/* Allows memory, but never executable memory: so no library can be loaded from here on
	 * either. */
	allow_without(p, SYS_mmap, 2, PROT_EXEC);
	allow_without(p, SYS_mprotect, 2, PROT_EXEC);
	if (fence->reach != NULL) {
		allow_without(p, SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC);
		allow_threads(p);
		allow_families(p);
	}
	/* Allows glibc's fstat(): newfstatat of a descriptor, not of a name. */
	jump(p, BPF_JEQ, SYS_newfstatat, 0, 3);
	load_arg(p, 3);
	jump(p, BPF_JEQ, AT_EMPTY, 0, 1);
	ret(p, SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
}

static int load_filter(const struct fence *fence, struct err *err)
{
	static struct program program;
	struct sock_fprog loaded = { .filter = program.insn };

	compile(fence, &program);
	if (program.len == INSNS_MAX)
		return err_set(err, ERR_UNAVAILABLE, "the system call filter is too long");
	loaded.len = program.len;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) < 0)
		return err_sys(err, "load the system call filter");
	return 0;
}

int fence_apply(const struct fence *fence, struct err *err)
{
	/* Ctrl-C signals the whole process group; the parent ends this process when it is time. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (set_limits(fence, err) < 0 || drop_user(fence, err) < 0)
		return (int)err->code;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "forbid new privileges");
	if (no_files(fence, err) < 0)
		return (int)err->code;
	return load_filter(fence, err);
}
