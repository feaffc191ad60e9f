/*
 * fence.c - what a process gives up before it reads its first hostile byte.
 *
 * Runs in:  reckon-front and reckon-peek, once, single-threaded.
 * Reads:    nothing.
 * Never:    goes on when a part of the fence that this kernel has cannot be put up.
 */
#include "fence/fence.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#define INSNS_MAX 160
#define AT_EMPTY 0x1000u /* AT_EMPTY_PATH */

/* <linux/landlock.h> of the build host may be older than the kernel we run on. */
struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
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
			/* Root of a namespace that maps one uid: there is no other to become. */
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
		{ RLIMIT_CORE, 0 },	      { RLIMIT_NPROC, 0 },
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

/* No rule at all: every file that is not open already is out of reach, and so is every port. */
static int no_files(const struct fence *fence, struct err *err)
{
	const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
	struct ruleset set = { .fs = 0x1fff };
	size_t size = sizeof(set.fs);
	cleanup_fd int fd = -1;

	if (abi < 0) {
		/* The filter holds alone: it knows no call that opens. */
		log_line(LOG_WARN, "this kernel has no Landlock", "who=%s", fence->who);
		return 0;
	}
	if (abi >= 2)
		set.fs |= 1u << 13;
	if (abi >= 3)
		set.fs |= 1u << 14;
	if (abi >= 4) {
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
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
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

static void ret(struct program *p, uint32_t action)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Allowed unless the argument has one of these bits; the number is in the accumulator. */
static void allow_without(struct program *p, int nr, unsigned arg, uint32_t bits)
{
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4));
	load(p, offsetof(struct seccomp_data, args) + 8u * arg);
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
	ret(p, SECCOMP_RET_ERRNO | EPERM);
	ret(p, SECCOMP_RET_ALLOW);
}

static void compile(const struct fence *fence, struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	ret(p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < fence->allowed_count; i++) {
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						     (uint32_t)fence->allowed[i], 0, 1));
		ret(p, SECCOMP_RET_ALLOW);
	}
	/* Memory, but never memory that runs. */
	allow_without(p, SYS_mmap, 2, PROT_EXEC);
	allow_without(p, SYS_mprotect, 2, PROT_EXEC);
	/* glibc's fstat(): of a descriptor, not of a name. */
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 3));
	load(p, offsetof(struct seccomp_data, args) + 8u * 3);
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY, 0, 1));
	ret(p, SECCOMP_RET_ALLOW);
	ret(p, SECCOMP_RET_ERRNO | EPERM);
}

static int load_filter(const struct fence *fence, struct err *err)
{
	static struct program program;
	struct sock_fprog loaded = { .filter = program.insn };

	compile(fence, &program);
	loaded.len = program.len;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded) < 0)
		return err_sys(err, "load the system call filter");
	return 0;
}

int fence_apply(const struct fence *fence, struct err *err)
{
	/* Ctrl-C reaches the whole group; whoever started us ends us when it is time. */
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
