/*
 * test_box_trace.c - code for traced processes, targets of mounts, and repeated attaching.
 *
 * Runs in:  the unit suite.
 * Reads:    the processor's part of trace.c.
 * Never:    traces a process of a box: test/attack does.
 */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/mount/hostdir.h"
#include "box/twin/trace.h"
#include "box/twin/trace_arch.h"

/* Registers whose instruction pointer is `address`. */
static struct trace_regs regs_at(uint64_t address)
{
	struct trace_regs regs = { 0 };

#if defined(__x86_64__)
	regs.user.rip = address;
#else
	regs.user.pc = address;
#endif
	return regs;
}

UNIT_TEST(the_list_code_continues_after_a_system_call)
{
	const struct trace_list_code code = trace_arch_list_code();
	struct trace_regs regs = regs_at(0);
	uint64_t at, word = 0;

	trace_arch_stand_in_list(&regs, 0x10000);
	at = trace_arch_call_address(&regs) - 0x10000;
	assert_true(at + 4 <= code.len);
	memcpy(&word, code.bytes + at, 4);
	assert_true(trace_arch_is_call(word));
}

UNIT_TEST(only_the_system_call_instruction_is_accepted)
{
#if defined(__x86_64__)
	assert_true(trace_arch_is_call(0xfffff0013d48050full));
	assert_false(trace_arch_is_call(0x9090)); /* nop, nop */
	assert_false(trace_arch_is_call(0x90cc)); /* int3 */
	assert_false(trace_arch_is_call(0x80cd)); /* int 0x80 */
	assert_false(trace_arch_is_call(0x340f)); /* sysenter */
	assert_false(trace_arch_is_call(0x0f05));
#else
	assert_true(trace_arch_is_call(0xd4000001u));
	assert_false(trace_arch_is_call(0xd4200000u)); /* brk */
	assert_false(trace_arch_is_call(0xd503201fu)); /* nop */
#endif
	assert_false(trace_arch_is_call(0));
}

UNIT_TEST(a_call_moves_back_by_one_instruction_and_sets_arguments)
{
	const uint64_t args[6] = { 1, 2, 3, 4, 5, 6 };
	struct trace_regs regs = regs_at(0x2000);

	trace_arch_call(&regs, SYS_write, args);
#if defined(__x86_64__)
	assert_int_equal(regs.user.rip, 0x2000 - 2);
	assert_int_equal(regs.user.rax, SYS_write);
	assert_int_equal(regs.user.r10, 4);
	/* The kernel must not restart the call that the process was in. */
	assert_int_equal(regs.user.orig_rax, (uint64_t)-1);
#else
	assert_int_equal(regs.user.pc, 0x2000 - 4);
	assert_int_equal(regs.user.regs[8], SYS_write);
	assert_int_equal(regs.user.regs[3], 4);
#endif
}

/* This process runs the list code itself; a return replaces the trap at its end. */
UNIT_TEST(the_list_runs_every_call)
{
#if defined(__x86_64__)
	const struct trace_list_code code = trace_arch_list_code();
	struct trace_list_call calls[3] = { { .nr = SYS_getpid, .result = -77 },
					    { .nr = SYS_close, .args = { 999999 }, .result = -77 },
					    { .nr = SYS_getppid, .result = -77 } };
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code.bytes, code.len);
	assert_int_equal((unsigned char)page[code.len - 1], 0xcc); /* the trap */
	page[code.len - 1] = (char)0xc3;			     /* becomes a return */
	{
		/* Explicit registers: rbx and r12 are the table and the count. */
		register uint64_t count __asm__("r12") = ARRAY_LEN(calls);
		struct trace_list_call *table = calls;

		__asm__ volatile("sub $128, %%rsp\n\tcall *%[page]\n\tadd $128, %%rsp"
				 : "+b"(table), "+r"(count)
				 : [page] "r"(page)
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "memory", "cc");
		assert_int_equal(count, 0);
		assert_ptr_equal(table, calls + ARRAY_LEN(calls));
	}
	assert_int_equal(calls[0].result, getpid());
	assert_int_equal(calls[1].result, -9 /* EBADF */);
	assert_int_equal(calls[2].result, getppid());
	assert_int_equal(munmap(page, 4096), 0);
#else
	(void)state;
	assert_int_equal(trace_arch_list_code().len % 4, 0);
#endif
	assert_int_equal(sizeof(struct trace_list_call), 64);
}

static bool target_is_safe(const char *target)
{
	char field[WARDEN_PATH_SIZE] = "";

	memcpy(field, target, strlen(target));
	return hostdir_target_is_safe(field);
}

UNIT_TEST(only_targets_below_mnt_are_accepted)
{
	static const char *const fine[] = { "/mnt/a", "/mnt/a/b", "/mnt/data2", "/mnt/data.d/x",
					    "/mnt/.hidden", "/mnt/\xc3\xa9" };
	static const char *const refused[] = {
		"", "/", "/mnt", "/mnt/", "/mnt/data", "/mnt/data/", "/mnt/data/x", "/mnt/../etc",
		"/mnt/a/../data", "/mnt/./data", "/mnt//data", "/mnt/a/", "mnt/a", "/etc", "/mntx/a",
		"/mnt/..", "/mnt/.", "/mnt/a\nb", "/mnt/\xff", "//mnt/a" };
	char unterminated[WARDEN_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (!target_is_safe(fine[i]))
			fail_msg("%s is refused", fine[i]);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (target_is_safe(refused[i]))
			fail_msg("\"%s\" is accepted", refused[i]);
	memset(unterminated, 'm', sizeof(unterminated));
	memcpy(unterminated, "/mnt/", 5);
	assert_false(hostdir_target_is_safe(unterminated));
}

/* ptrace() fails with EPERM for a zombie, as for a process that it may not trace. */
UNIT_TEST(a_process_that_ended_is_lost_not_forbidden)
{
	const pid_t child = fork();
	siginfo_t info;
	struct err err;

	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_err(&err, ERR_LOST, trace_hold(child, &err));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_err(&err, ERR_LOST, trace_hold(child, &err));
	assert_err(&err, ERR_SYSTEM, trace_hold(getpid(), &err)); /* alive, but cannot be traced */
}

/* A caller may time out before the process stops, and call trace_hold() again. */
UNIT_TEST(trace_hold_can_be_repeated)
{
	const pid_t child = fork();
	struct err err;
	int sig;

	if (child == 0)
		for (;;)
			(void)pause();
	assert_true(child > 0);
	assert_ok(&err, trace_hold(child, &err));
	assert_ok(&err, trace_hold(child, &err));
	assert_ok(&err, trace_interrupt(child, &sig, &err));
	assert_ok(&err, trace_detach(child, sig, &err));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}
