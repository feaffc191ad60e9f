/*
 * fence.c - the fence of reckon-unarchiver: it can read open descriptors, compute, send frames.
 *
 * Runs in:  reckon-unarchiver, once.
 * Reads:    nothing.
 * Never:    allows a system call that opens, connects, executes or creates a process.
 */
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "fence/fence.h"
#include "unarchiver/unarchiver.h"

#define MEMORY_MAX ((uint64_t)384 << 20) /* libarchive needs it for an archive's dictionaries */
#define FILE_MAX ((uint64_t)256 << 30)
#define CPU_S 120u
#define DESCRIPTORS 16u

static const int allowed[] = {
	SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_close,
	SYS_recvmsg, SYS_sendmsg, SYS_fcntl, SYS_fstat, SYS_munmap, SYS_mremap, SYS_madvise,
	SYS_brk, SYS_futex, SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom, SYS_getpid,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_exit, SYS_exit_group,
#ifdef SYS_time
	SYS_time,
#endif
};

int unarchiver_fence(int writes, struct err *err)
{
	const struct fence fence = {
		.who = "reckon-unarchiver",
		.uid = FENCE_UID_PEEK,
		.descriptors = DESCRIPTORS,
		.file_max = writes ? FILE_MAX : 0,
		.memory_max = MEMORY_MAX,
		.cpu_s = CPU_S,
		.allowed = allowed,
		.allowed_count = ARRAY_LEN(allowed),
	};

	return fence_apply(&fence, err);
}
