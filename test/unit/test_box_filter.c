/*
 * test_box_filter.c - the verdicts of the compiled system call filter, call by call.
 *
 * Runs in:  the unit suite: the program is interpreted here, not loaded.
 * Reads:    filter_compile()'s output.
 * Never:    makes one of the calls.
 */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "box/filter/filter.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW SECCOMP_RET_ALLOW
#define REPORT SECCOMP_RET_USER_NOTIF
#define KILL SECCOMP_RET_KILL_PROCESS
#define FAIL(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

static struct filter_program program;

/* Interprets the instructions of classic BPF that the filter uses; others fail the test. */
static uint32_t run(const struct seccomp_data *data)
{
	uint32_t acc = 0;

	for (size_t at = 0; at < program.len; at++) {
		const struct sock_filter *insn = &program.insn[at];

		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(insn->k % 4 == 0 && insn->k + 4 <= sizeof(*data));
			memcpy(&acc, (const char *)data + insn->k, sizeof(acc));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= insn->k;
			break;
		case BPF_JMP | BPF_JA:
			at += insn->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += acc == insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += acc >= insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += (acc & insn->k) != 0 ? insn->jt : insn->jf;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			fail_msg("instruction %zu has code %x", at, insn->code);
		}
	}
	fail_msg("the program ran past its end");
	return 0;
}

static uint32_t verdict(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const struct seccomp_data data = { .nr = (int)nr, .arch = OWN_ARCH, .args = { a, b, c, d } };

	return run(&data);
}

#define assert_verdict(expected, ...)                                                             \
	do {                                                                                      \
		const uint32_t got = verdict(__VA_ARGS__);                                        \
		if (got != (uint32_t)(expected))                                                  \
			fail_msg("%s is %x, not %x", #__VA_ARGS__, got, (uint32_t)(expected));    \
	} while (0)

static int compile(void **state)
{
	struct err err;

	(void)state;
	return filter_compile(&program, &err);
}

UNIT_TEST(every_jump_stays_inside_the_program)
{
	assert_true(program.len > 0 && program.len <= FILTER_INSNS_MAX);
	for (size_t at = 0; at < program.len; at++) {
		const struct sock_filter *insn = &program.insn[at];

		if (BPF_CLASS(insn->code) != BPF_JMP)
			continue;
		if (BPF_OP(insn->code) == BPF_JA)
			assert_true(at + 1 + insn->k < program.len);
		else
			assert_true(at + 1 + insn->jt < program.len && at + 1 + insn->jf < program.len);
	}
	assert_int_equal(BPF_CLASS(program.insn[program.len - 1].code), BPF_RET);
}

UNIT_TEST(a_foreign_architecture_is_killed)
{
	static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_S390X, 0,
#if defined(__x86_64__)
					    AUDIT_ARCH_AARCH64
#else
					    AUDIT_ARCH_X86_64
#endif
	};

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		for (int nr = 0; nr < 600; nr++) {
			const struct seccomp_data data = { .nr = nr, .arch = foreign[i] };

			assert_int_equal(run(&data), KILL);
		}
}

UNIT_TEST(x32_numbers_kill_and_unknown_numbers_fail)
{
#if defined(__x86_64__)
	for (long nr = 0; nr < 600; nr++)
		assert_verdict(KILL, 0x40000000 + nr, 0, 0, 0, 0);
	assert_verdict(KILL, 0x7fffffff, 0, 0, 0, 0);
#endif
	assert_verdict(FAIL(ENOSYS), -1, 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), 1023, 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), 1024, 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), 0x3fffffff, 0, 0, 0, 0);
}

UNIT_TEST(nothing_unknown_is_allowed)
{
	/* Numbers that no architecture used when the list was written. */
	for (long nr = 470; nr < 1100; nr++)
		assert_verdict(FAIL(ENOSYS), nr, 0, 0, 0, 0);
}

UNIT_TEST(ordinary_calls_are_allowed)
{
	static const long allowed[] = { SYS_read, SYS_write, SYS_openat, SYS_close, SYS_mmap,
					SYS_munmap, SYS_mprotect, SYS_brk, SYS_execve, SYS_exit_group,
					SYS_wait4, SYS_kill, SYS_getpid, SYS_clock_gettime,
					SYS_getrandom, SYS_pipe2, SYS_epoll_pwait, SYS_memfd_create,
					SYS_seccomp, SYS_unlinkat, SYS_renameat2, SYS_statx };

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		assert_verdict(ALLOW, allowed[i], 0, 0, 0, 0);
}

UNIT_TEST(dangerous_calls_are_reported_or_fail)
{
	static const long denied[] = {
		SYS_ptrace, SYS_bpf, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare,
		SYS_setns, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_perf_event_open,
		SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_kexec_load, SYS_reboot,
		SYS_swapon, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp,
		SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_io_uring_setup, SYS_io_uring_enter,
		SYS_fanotify_init, SYS_inotify_add_watch, SYS_capset, SYS_sethostname, SYS_syslog,
		SYS_clock_settime, SYS_shmget, SYS_msgget, SYS_semget, SYS_mq_open, SYS_move_pages,
		SYS_process_madvise, SYS_memfd_secret, SYS_open_tree, SYS_move_mount, SYS_fsopen,
		SYS_mount_setattr, SYS_sched_setscheduler, SYS_acct, SYS_quotactl,
#if defined(__x86_64__)
		SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
	};

	for (size_t i = 0; i < ARRAY_LEN(denied); i++)
		assert_verdict(REPORT, denied[i], 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), SYS_clone3, 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), SYS_splice, 0, 0, 0, 0);
	assert_verdict(FAIL(ENOSYS), SYS_vmsplice, 0, 0, 0, 0);
}

UNIT_TEST(clone_cannot_create_namespaces)
{
	static const uint64_t namespaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					       CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				CLONE_SYSVSEM | CLONE_SETTLS;

	assert_verdict(ALLOW, SYS_clone, 17, 0, 0, 0);
	assert_verdict(ALLOW, SYS_clone, thread, 0, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		assert_verdict(REPORT, SYS_clone, namespaces[i], 0, 0, 0);
		assert_verdict(REPORT, SYS_clone, namespaces[i] | thread | 17, 0, 0, 0);
		assert_verdict(REPORT, SYS_clone, namespaces[i] | 0xffffffff00000000ull, 0, 0, 0);
	}
}

UNIT_TEST(only_unix_tcp_and_udp_sockets_are_allowed)
{
	assert_verdict(ALLOW, SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0);
	assert_verdict(ALLOW, SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0);
	assert_verdict(ALLOW, SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP, 0);
	assert_verdict(ALLOW, SYS_socket, AF_INET6, SOCK_DGRAM, IPPROTO_UDP, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET, SOCK_RAW | SOCK_CLOEXEC, 0, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET6, SOCK_SEQPACKET, 132 /* SCTP */, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET, SOCK_STREAM, 132, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET, SOCK_STREAM, 262 /* MPTCP */, 0);
	assert_verdict(REPORT, SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP, 0);
	for (uint64_t family = 0; family < 64; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			assert_verdict(REPORT, SYS_socket, family, SOCK_STREAM, 0, 0);
	assert_verdict(ALLOW, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 0);
	assert_verdict(REPORT, SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, 0);
}

UNIT_TEST(out_of_band_data_is_refused)
{
	assert_verdict(ALLOW, SYS_sendmsg, 3, 0, MSG_NOSIGNAL, 0);
	assert_verdict(FAIL(EINVAL), SYS_sendmsg, 3, 0, MSG_OOB, 0);
	assert_verdict(FAIL(EINVAL), SYS_recvmsg, 3, 0, MSG_OOB | MSG_DONTWAIT, 0);
	assert_verdict(FAIL(EINVAL), SYS_sendto, 3, 0, 0, MSG_OOB);
	assert_verdict(FAIL(EINVAL), SYS_recvfrom, 3, 0, 0, MSG_OOB | MSG_PEEK);
	assert_verdict(FAIL(EINVAL), SYS_sendmmsg, 3, 0, 1, MSG_OOB);
	assert_verdict(FAIL(EINVAL), SYS_recvmmsg, 3, 0, 1, MSG_OOB);
	assert_verdict(ALLOW, SYS_recvfrom, 3, 0, 0, MSG_PEEK);
}

UNIT_TEST(dangerous_arguments_are_refused)
{
	static const uint64_t ioctls[] = { 0x5412, 0x541c, 0x5423, 0x40086602, 0x8914, 0x8916 };
	static const uint64_t pi[] = { FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI,
				       FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI, 13 };
	static const uint64_t prctls[] = { PR_SET_MM, PR_SET_PTRACER, 62 /* PR_SCHED_CORE */,
					   PR_SET_KEEPCAPS, PR_SET_SECUREBITS, PR_CAP_AMBIENT,
					   PR_SET_SECCOMP, PR_SET_TSC, 0xffffffff };

	assert_verdict(ALLOW, SYS_ioctl, 0, 0x5401 /* TCGETS */, 0, 0);
	assert_verdict(ALLOW, SYS_ioctl, 0, 0x540e /* TIOCSCTTY */, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(ioctls); i++) {
		assert_verdict(REPORT, SYS_ioctl, 0, ioctls[i], 0, 0);
		/* The kernel looks at 32 bits, and so does the filter. */
		assert_verdict(REPORT, SYS_ioctl, 0, ioctls[i] | 1ull << 32, 0, 0);
	}
	assert_verdict(ALLOW, SYS_futex, 0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0);
	assert_verdict(ALLOW, SYS_futex, 0, FUTEX_WAKE, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(pi); i++) {
		assert_verdict(FAIL(ENOSYS), SYS_futex, 0, pi[i], 0, 0);
		assert_verdict(FAIL(ENOSYS), SYS_futex, 0, pi[i] | FUTEX_PRIVATE_FLAG, 0, 0);
		assert_verdict(FAIL(ENOSYS), SYS_futex, 0, pi[i] | FUTEX_CLOCK_REALTIME, 0, 0);
	}
	assert_verdict(ALLOW, SYS_prctl, PR_SET_NAME, 0, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(prctls); i++)
		assert_verdict(REPORT, SYS_prctl, prctls[i], 0, 0, 0);
	assert_verdict(ALLOW, SYS_personality, 0xffffffff, 0, 0, 0);
	assert_verdict(REPORT, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0);
	assert_verdict(ALLOW, SYS_madvise, 0, 0, 4, 0);
	assert_verdict(REPORT, SYS_madvise, 0, 0, 100, 0);
	assert_verdict(ALLOW, SYS_fcntl, 0, 2, 0, 0);
	assert_verdict(REPORT, SYS_fcntl, 0, 1024 /* F_SETLEASE */, 0, 0);
	assert_verdict(REPORT, SYS_fcntl, 0, 1026 /* F_NOTIFY */, 0, 0);
}

static uint32_t sockopt(uint64_t level, uint64_t option)
{
	return verdict(SYS_setsockopt, 3, level, option, 0);
}

/* Tests every pair of level and option: an option that is not listed looks unsupported. */
UNIT_TEST(only_listed_socket_options_are_allowed)
{
	static const uint64_t programs[] = { 26, 27, 44, 50, 51, 52, 68 };
	unsigned allowed = 0;

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		assert_int_equal(sockopt(SOL_SOCKET, programs[i]), REPORT);
		assert_int_equal(sockopt(SOL_SOCKET | 1ull << 32, programs[i] | 1ull << 33), REPORT);
	}
	for (uint64_t level = 0; level < 300; level++)
		for (uint64_t option = 0; option < 130; option++) {
			const uint32_t got = sockopt(level, option);

			allowed += got == ALLOW;
			if (got != ALLOW && got != REPORT && got != FAIL(0) && got != FAIL(ENOPROTOOPT))
				fail_msg("level %u option %u is %x", (unsigned)level,
					 (unsigned)option, got);
		}
	assert_int_equal(allowed, 15 + 12 + 8 + 8);
	assert_int_equal(sockopt(SOL_SOCKET, SO_REUSEADDR), ALLOW);
	assert_int_equal(sockopt(SOL_SOCKET, SO_RCVBUF), FAIL(0));
	assert_int_equal(sockopt(SOL_SOCKET, SO_SNDBUF), FAIL(0));
	assert_int_equal(sockopt(SOL_SOCKET, 33 /* SO_RCVBUFFORCE */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(IPPROTO_TCP, 1 /* TCP_NODELAY */), ALLOW);
	assert_int_equal(sockopt(IPPROTO_IPV6, 26 /* IPV6_V6ONLY */), ALLOW);
	assert_int_equal(sockopt(IPPROTO_TCP, 31 /* TCP_ULP */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(IPPROTO_TCP, 19 /* TCP_REPAIR */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(IPPROTO_IP, 64 /* IPT_SO_SET_REPLACE */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(IPPROTO_IP, 35 /* IP_ADD_MEMBERSHIP */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(SOL_SOCKET, 60 /* SO_ZEROCOPY */), FAIL(ENOPROTOOPT));
	assert_int_equal(sockopt(IPPROTO_UDP, 103 /* UDP_SEGMENT */), FAIL(ENOPROTOOPT));
}

UNIT_TEST(only_listed_ioctl_and_fcntl_commands_are_allowed)
{
	static const uint64_t allowed[] = { 0x5401, 0x5413, 0x541b, 0x5421, 0x5451, 0x540e, 0x5441,
					    0x80045430, 0x40045431, 0x802c542a, 0x8912 };
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		assert_verdict(ALLOW, SYS_ioctl, 0, allowed[i], 0, 0);
	/* All requests of 16 bits, then some of drivers and file systems. */
	for (uint64_t request = 0; request < 0x10000; request++)
		count += verdict(SYS_ioctl, 0, request, 0, 0) == ALLOW;
	assert_int_equal(count, 34);
	assert_verdict(FAIL(ENOTTY), SYS_ioctl, 0, 0xae01 /* KVM_CREATE_VM */, 0, 0);
	assert_verdict(FAIL(ENOTTY), SYS_ioctl, 0, 0x4c00 /* LOOP_SET_FD */, 0, 0);
	assert_verdict(FAIL(ENOTTY), SYS_ioctl, 0, 0xc020660b /* FS_IOC_FIEMAP */, 0, 0);
	assert_verdict(FAIL(ENOTTY), SYS_ioctl, 0, 0xc0686611 /* PROCMAP_QUERY */, 0, 0);
	assert_verdict(FAIL(ENOTTY), SYS_ioctl, 0, 0xb701 /* NS_GET_USERNS */, 0, 0);
	for (uint64_t command = 0; command < 2048; command++)
		if (verdict(SYS_fcntl, 0, command, 0, 0) != ALLOW && command != 1024 &&
		    command != 1026)
			assert_verdict(FAIL(EINVAL), SYS_fcntl, 0, command, 0, 0);
	assert_verdict(ALLOW, SYS_fcntl, 0, 1030 /* F_DUPFD_CLOEXEC */, 0, 0);
	assert_verdict(ALLOW, SYS_fcntl, 0, 6 /* F_SETLK */, 0, 0);
}

/* These calls reveal or change which pages of a shared file are in memory. */
UNIT_TEST(calls_that_probe_or_empty_the_page_cache_are_blocked)
{
	const struct seccomp_data nowait = { .nr = (int)SYS_preadv2, .arch = OWN_ARCH,
					     .args = { 3, 0, 1, 0, 0, 8 /* RWF_NOWAIT */ } };
	const struct seccomp_data plain = { .nr = (int)SYS_preadv2, .arch = OWN_ARCH,
					    .args = { 3, 0, 1, 0, 0, 1 /* RWF_HIPRI */ } };

	assert_int_equal(run(&nowait), FAIL(EOPNOTSUPP));
	assert_int_equal(run(&plain), ALLOW);
	assert_verdict(FAIL(0), SYS_fadvise64, 3, 0, 0, 4 /* DONTNEED */);
	assert_verdict(ALLOW, SYS_fadvise64, 3, 0, 0, 3 /* WILLNEED */);
	assert_verdict(REPORT, SYS_syncfs, 3, 0, 0, 0);
}

UNIT_TEST(calls_are_named_by_their_number)
{
	char name[32];

	filter_name((int)SYS_ptrace, name, sizeof(name));
	assert_string_equal(name, "ptrace");
	filter_name(99999, name, sizeof(name));
	assert_string_equal(name, "syscall_99999");
	filter_name((int)SYS_process_vm_readv, name, 8);
	assert_string_equal(name, "process");
}

int main(void)
{
	return unit_run(compile, NULL);
}
