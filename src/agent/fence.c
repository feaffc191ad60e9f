/*
 * fence.c - restricts reckon-agent to connecting to its model's server, by name or address.
 *
 * Runs in:  reckon-agent, once, single-threaded.
 * Reads:    nothing.
 * Never:    allows a system call that executes or writes a file.
 *
 * The allowed system calls are those that libcurl and the C library's resolver use: sockets,
 * threads (the resolver runs in one), and a few files, read-only.
 */
#include "agent/fence.h"

#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "fence/fence.h"

#define MEMORY_MAX ((uint64_t)2 << 30)
#define DESCRIPTORS 256u
#define DNS_PORT 53u

static const int allowed[] = {
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_lseek, SYS_close,
	SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_recvmmsg, SYS_sendmmsg,
	SYS_connect, SYS_bind, SYS_shutdown, SYS_setsockopt, SYS_getsockopt, SYS_getsockname,
	SYS_getpeername, SYS_socketpair, SYS_ppoll, SYS_pselect6, SYS_epoll_ctl, SYS_epoll_pwait,
#ifdef SYS_poll
	SYS_poll, SYS_select, SYS_epoll_wait, SYS_time,
#endif
	SYS_epoll_create1, SYS_eventfd2, SYS_pipe2, SYS_ioctl, SYS_fcntl, SYS_fstat,
	SYS_newfstatat, SYS_memfd_create, SYS_munmap, SYS_mremap,
	SYS_madvise, SYS_brk, SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_clock_gettime,
	SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrandom, SYS_getpid, SYS_gettid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_sched_yield,
	SYS_sched_getaffinity, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_rt_sigaction,
	SYS_sigaltstack, SYS_restart_syscall, SYS_exit, SYS_exit_group,
};

static const char *const resolver_files[] = {
	"/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
};

int agent_fence(const uint16_t *ports, size_t count, struct err *err)
{
	uint16_t reached[AGENT_PORTS_MAX + 1];
	const struct fence_reach reach = {
		.files = resolver_files,
		.file_count = ARRAY_LEN(resolver_files),
		.ports = reached,
		.port_count = count + 1,
	};
	const struct fence fence = {
		.who = "reckon-agent",
		.uid = FENCE_UID_AGENT,
		.descriptors = DESCRIPTORS,
		.file_max = UINT64_MAX, /* no file can be opened for writing */
		.memory_max = MEMORY_MAX,
		.allowed = allowed,
		.allowed_count = ARRAY_LEN(allowed),
		.reach = &reach,
	};

	if (count > AGENT_PORTS_MAX)
		return err_set(err, ERR_INVALID, "a fence with %zu ports", count);
	memcpy(reached, ports, count * sizeof(*ports));
	reached[count] = DNS_PORT;
	return fence_apply(&fence, err);
}
