/*
 * fence.c - the fence of reckon-front.
 *
 * Runs in:  reckon-front, once, single-threaded.
 * Reads:    nothing.
 * Never:    allows a system call that opens, connects, executes or creates a process.
 */
#include "httpd/guard/fence.h"

#include <sys/syscall.h>

#include "base/cleanup.h"
#include "fence/fence.h"

#ifdef __SANITIZE_ADDRESS__
#define MEMORY_MAX UINT64_MAX /* the sanitizer's shadow memory counts as data, too */
#else
#define MEMORY_MAX ((uint64_t)4 << 30)
#endif

static const int allowed[] = {
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_lseek, SYS_close,
	SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_accept4, SYS_shutdown,
	SYS_setsockopt, SYS_getsockopt, SYS_getpeername, SYS_epoll_ctl, SYS_epoll_pwait,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
	SYS_fcntl, SYS_fstat, SYS_memfd_create, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
	SYS_futex, SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom, SYS_getpid, SYS_gettid,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_exit, SYS_exit_group,
};

int httpd_fence(uint64_t descriptors, struct err *err)
{
	const struct fence fence = {
		.who = "reckon-front",
		.uid = FENCE_UID_FRONT,
		.descriptors = descriptors,
		.file_max = FENCE_FILE_MAX,
		.memory_max = MEMORY_MAX,
		.allowed = allowed,
		.allowed_count = ARRAY_LEN(allowed),
	};

	return fence_apply(&fence, err);
}
