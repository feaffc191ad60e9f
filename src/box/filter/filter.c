/*
 * filter.c - compiles the system call filter of a kernel.
 *
 * Runs in:  the warden, once at start.
 * Reads:    libseccomp's name tables.
 * Never:    loads a filter; kernels do that themselves (inside/enter.c).
 */
#include "box/filter/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "box/filter/args.h"
#include "box/filter/list.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "Reckon knows x86-64 and arm64"
#endif

#define NR_MAX 1024 /* above every number that either architecture uses */

#define RET_ALLOW SECCOMP_RET_ALLOW
#define RET_REPORT SECCOMP_RET_USER_NOTIF
#define RET_ERRNO(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

#define OFF_NR ((uint32_t)offsetof(struct seccomp_data, nr))
#define OFF_ARCH ((uint32_t)offsetof(struct seccomp_data, arch))
#define OFF_ARG(n) ((uint32_t)(offsetof(struct seccomp_data, args) + 8u * (n))) /* low half */

/* What the filter does with a system call number. */
enum verdict {
	VERDICT_ENOSYS,
	VERDICT_ALLOW,
	VERDICT_REPORT,
	VERDICT_CLONE,
	VERDICT_SOCKET,
	VERDICT_SOCKETPAIR,
	VERDICT_OOB_ARG2,
	VERDICT_OOB_ARG3,
	VERDICT_IOCTL,
	VERDICT_PRCTL,
	VERDICT_FUTEX,
	VERDICT_PERSONALITY,
	VERDICT_MADVISE,
	VERDICT_FCNTL,
	VERDICT_SETSOCKOPT,
	VERDICT_RWF,
	VERDICT_FADVISE,
};

static const struct checked {
	const char *name;
	enum verdict verdict;
} checked[] = {
	{ "clone", VERDICT_CLONE },	   { "socket", VERDICT_SOCKET },
	{ "socketpair", VERDICT_SOCKETPAIR }, { "sendmsg", VERDICT_OOB_ARG2 },
	{ "recvmsg", VERDICT_OOB_ARG2 },   { "sendto", VERDICT_OOB_ARG3 },
	{ "recvfrom", VERDICT_OOB_ARG3 },  { "sendmmsg", VERDICT_OOB_ARG3 },
	{ "recvmmsg", VERDICT_OOB_ARG3 },  { "ioctl", VERDICT_IOCTL },
	{ "prctl", VERDICT_PRCTL },	   { "futex", VERDICT_FUTEX },
	{ "personality", VERDICT_PERSONALITY }, { "madvise", VERDICT_MADVISE },
	{ "fcntl", VERDICT_FCNTL },	   { "setsockopt", VERDICT_SETSOCKOPT },
	{ "preadv2", VERDICT_RWF },	   { "pwritev2", VERDICT_RWF },
	{ "fadvise64", VERDICT_FADVISE },
};

static void emit(struct filter_program *p, struct sock_filter insn)
{
	if (p->len < FILTER_INSNS_MAX)
		p->insn[p->len] = insn;
	p->len++;
}

static void load(struct filter_program *p, uint32_t offset)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void ret(struct filter_program *p, uint32_t action)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Returns `action` when the comparison holds, else goes on. */
static void ret_if(struct filter_program *p, unsigned short test, uint32_t value, uint32_t action)
{
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, 1));
	ret(p, action);
}

static void and_k(struct filter_program *p, uint32_t mask)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
}

static void check_socket(struct filter_program *p)
{
	/* An empty network namespace does not block AF_VSOCK; only this check does. */
	load(p, OFF_ARG(0));
	ret_if(p, BPF_JEQ, AF_UNIX, RET_ALLOW);
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0));
	ret(p, RET_REPORT);
	load(p, OFF_ARG(1));
	and_k(p, 0xf);
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0));
	ret(p, RET_REPORT);
	/* SCTP, MPTCP and the like are stream sockets too. */
	load(p, OFF_ARG(2));
	ret_if(p, BPF_JEQ, 0, RET_ALLOW);
	ret_if(p, BPF_JEQ, IPPROTO_TCP, RET_ALLOW);
	ret_if(p, BPF_JEQ, IPPROTO_UDP, RET_ALLOW);
	ret(p, RET_REPORT);
}

static void check_futex(struct filter_program *p)
{
	static const uint32_t pi[] = { FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI,
				       FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI,
				       13 /* FUTEX_LOCK_PI2 */ };

	load(p, OFF_ARG(1));
	and_k(p, (uint32_t)FUTEX_CMD_MASK);
	for (size_t i = 0; i < ARRAY_LEN(pi); i++)
		ret_if(p, BPF_JEQ, pi[i], RET_ERRNO(ENOSYS));
	ret(p, RET_ALLOW);
}

/* Returns `action` when the loaded word is one of the values, else goes on. */
static void ret_if_any(struct filter_program *p, const uint32_t *values, size_t count,
		       uint32_t action)
{
	/* One jump each to a single return: Linux translates the filter for each kernel, so keep it
	 * short. */
	for (size_t i = 0; i < count; i++)
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i],
						     (uint8_t)(count - i), 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	ret(p, action);
}

static void check_list(struct filter_program *p, unsigned arg, const uint32_t *values, size_t count,
		       uint32_t on_match, uint32_t otherwise)
{
	load(p, OFF_ARG(arg));
	ret_if_any(p, values, count, on_match);
	ret(p, otherwise);
}

/* A list of what is reported, one of what is allowed; `otherwise` is an ordinary error. */
static void check_lists(struct filter_program *p, unsigned arg, const uint32_t *denied,
			size_t denied_count, const uint32_t *allowed, size_t allowed_count,
			uint32_t otherwise)
{
	load(p, OFF_ARG(arg));
	ret_if_any(p, denied, denied_count, RET_REPORT);
	ret_if_any(p, allowed, allowed_count, RET_ALLOW);
	ret(p, otherwise);
}

static void check_setsockopt(struct filter_program *p)
{
	const size_t denied = ARRAY_LEN(sockopt_denied), ignored = ARRAY_LEN(sockopt_ignored);

	for (size_t i = 0; i < ARRAY_LEN(sockopt_levels); i++) {
		unsigned short test;

		load(p, OFF_ARG(1));
		test = p->len;
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						     sockopt_levels[i].level, 0, 0));
		load(p, OFF_ARG(2));
		if (sockopt_levels[i].level == SOL_SOCKET) {
			ret_if_any(p, sockopt_denied, denied, RET_REPORT);
			ret_if_any(p, sockopt_ignored, ignored, RET_ERRNO(0));
		}
		ret_if_any(p, sockopt_levels[i].options, sockopt_levels[i].count, RET_ALLOW);
		ret(p, RET_ERRNO(ENOPROTOOPT));
		if (p->len <= FILTER_INSNS_MAX)
			p->insn[test].jf = (uint8_t)(p->len - test - 1);
	}
	ret(p, RET_ERRNO(ENOPROTOOPT));
}

static void check_mask(struct filter_program *p, unsigned arg, uint32_t mask, uint32_t on_match)
{
	load(p, OFF_ARG(arg));
	ret_if(p, BPF_JSET, mask, on_match);
	ret(p, RET_ALLOW);
}

static void emit_verdict(struct filter_program *p, enum verdict verdict)
{
	static const uint32_t personalities[] = { 0, 0xffffffffu };
	static const uint32_t madvise_denied[] = { 100 /* HWPOISON */, 101 /* SOFT_OFFLINE */ };
	static const uint32_t dontneed[] = { 4 /* POSIX_FADV_DONTNEED */ };
	static const uint32_t unix_only[] = { AF_UNIX };
	const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

	switch (verdict) {
	case VERDICT_ENOSYS:
		ret(p, RET_ERRNO(ENOSYS));
		break;
	case VERDICT_ALLOW:
		ret(p, RET_ALLOW);
		break;
	case VERDICT_REPORT:
		ret(p, RET_REPORT);
		break;
	case VERDICT_CLONE:
		check_mask(p, 0, namespaces, RET_REPORT);
		break;
	case VERDICT_SOCKET:
		check_socket(p);
		break;
	case VERDICT_SOCKETPAIR:
		check_list(p, 0, unix_only, 1, RET_ALLOW, RET_REPORT);
		break;
	case VERDICT_OOB_ARG2:
		check_mask(p, 2, MSG_OOB, RET_ERRNO(EINVAL));
		break;
	case VERDICT_OOB_ARG3:
		check_mask(p, 3, MSG_OOB, RET_ERRNO(EINVAL));
		break;
	case VERDICT_IOCTL:
		check_lists(p, 1, ioctl_denied, ARRAY_LEN(ioctl_denied), ioctl_allowed,
			    ARRAY_LEN(ioctl_allowed), RET_ERRNO(ENOTTY));
		break;
	case VERDICT_PRCTL:
		check_list(p, 0, prctl_allowed, ARRAY_LEN(prctl_allowed), RET_ALLOW, RET_REPORT);
		break;
	case VERDICT_FUTEX:
		check_futex(p);
		break;
	case VERDICT_PERSONALITY:
		check_list(p, 0, personalities, 2, RET_ALLOW, RET_REPORT);
		break;
	case VERDICT_MADVISE:
		check_list(p, 2, madvise_denied, 2, RET_REPORT, RET_ALLOW);
		break;
	case VERDICT_FCNTL:
		check_lists(p, 1, fcntl_denied, ARRAY_LEN(fcntl_denied), fcntl_allowed,
			    ARRAY_LEN(fcntl_allowed), RET_ERRNO(EINVAL));
		break;
	case VERDICT_SETSOCKOPT:
		check_setsockopt(p);
		break;
	case VERDICT_RWF:
		/* A box must not learn which pages of a shared file are in memory. */
		check_mask(p, 5, RWF_NOWAIT, RET_ERRNO(EOPNOTSUPP));
		break;
	case VERDICT_FADVISE:
		/* Ignored, as advice may be: a box must not evict pages that its neighbours may
		 * need. */
		check_list(p, 3, dontneed, 1, RET_ERRNO(0), RET_ALLOW);
		break;
	}
}

/* A run of numbers with one verdict. */
struct range {
	uint32_t first;
	enum verdict verdict;
};

/*
 * Binary search over ranges lo..hi. Conditional jumps reach 255 instructions, so a longer left half
 * is skipped with an unconditional one; only then, because Linux translates the filter for each
 * kernel.
 */
static void emit_tree(struct filter_program *p, const struct range *ranges, size_t lo, size_t hi)
{
	size_t mid = (lo + hi + 1) / 2;
	unsigned short test, left;

	if (lo == hi) {
		emit_verdict(p, ranges[lo].verdict);
		return;
	}
	test = p->len;
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[mid].first, 0, 0));
	emit_tree(p, ranges, lo, mid - 1);
	left = (unsigned short)(p->len - test - 1);
	if (p->len >= FILTER_INSNS_MAX) {
		p->len = FILTER_INSNS_MAX + 1; /* filter_compile() reports it */
		return;
	}
	if (left <= 255) {
		p->insn[test].jt = (uint8_t)left;
	} else {
		/* All jumps are relative, so the left half may move. */
		memmove(&p->insn[test + 2], &p->insn[test + 1], left * sizeof(p->insn[0]));
		p->insn[test].jf = 1;
		p->insn[test + 1] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, left);
		p->len++;
	}
	emit_tree(p, ranges, mid, hi);
}

static void mark(enum verdict *verdicts, const char *name, enum verdict verdict)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr >= 0 && nr < NR_MAX)
		verdicts[nr] = verdict;
}

int filter_compile(struct filter_program *p, struct err *err)
{
	enum verdict verdicts[NR_MAX] = { VERDICT_ENOSYS };
	struct range ranges[NR_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(filter_allowed); i++)
		mark(verdicts, filter_allowed[i], VERDICT_ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(filter_denied); i++)
		mark(verdicts, filter_denied[i], VERDICT_REPORT);
	for (size_t i = 0; i < ARRAY_LEN(checked); i++)
		mark(verdicts, checked[i].name, checked[i].verdict);
	for (uint32_t nr = 0; nr < NR_MAX; nr++)
		if (nr == 0 || verdicts[nr] != verdicts[nr - 1])
			ranges[count++] = (struct range){ nr, verdicts[nr] };

	p->len = 0;
	load(p, OFF_ARCH);
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	ret(p, SECCOMP_RET_KILL_PROCESS);
	load(p, OFF_NR);
#ifdef X32_BIT
	/* syscall(-1) belongs to no ABI: it gets ENOSYS, as Linux itself would answer. */
	ret_if(p, BPF_JGE, 0x80000000u, RET_ERRNO(ENOSYS));
	ret_if(p, BPF_JGE, X32_BIT, SECCOMP_RET_KILL_PROCESS);
#endif
	emit_tree(p, ranges, 0, count - 1);
	if (p->len > FILTER_INSNS_MAX)
		return err_set(err, ERR_LIMIT, "the system call filter has %u instructions",
			       p->len);
	return 0;
}

void filter_name(int nr, char *ret_name, size_t size)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);

	if (name != NULL)
		(void)snprintf(ret_name, size, "%s", name);
	else
		(void)snprintf(ret_name, size, "syscall_%d", nr);
	free(name);
}
