/*
 * init.c - reckon-init: pid 1 of a box.
 *
 * Runs in:  the box, before and after user code; same host uid as the kernel when rootless.
 * Reads:    nothing.
 * Never:    returns, allocates, or makes a system call other than pause.
 *
 * Started with SIGCHLD ignored, so the kernel reaps orphans by itself. It makes itself opaque and
 * gives up every system call except pause(), so that control over its memory is worth nothing. It
 * uses no C library, so it costs a box only three pages.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define PAUSE SYS_pause
static long call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define PAUSE SYS_ppoll
static long call(long nr, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}
#endif

void _start(void);

__attribute__((noreturn, used)) void _start(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAUSE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	/* Static, because the stack is not aligned here as compilers expect in a called
	 * function. */
	static const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]),
						   (struct sock_filter *)(uintptr_t)filter };

	(void)call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)call(SYS_close_range, 0, ~0u, 0, 0, 0);
	if (call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0) != 0)
		(void)call(SYS_exit_group, 1, 0, 0, 0, 0);
	for (;;)
		(void)call(PAUSE, 0, 0, 0, 0, 0);
}
