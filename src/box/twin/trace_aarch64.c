/*
 * trace_aarch64.c - the parts of arm64's calling convention that trace.c needs.
 *
 * Runs in:  the warden.
 * Reads:    registers of stopped processes.
 * Never:    makes a system call.
 *
 * When a process is stopped in a call that would be restarted, Linux has already set it back to its
 * `svc`, with its first argument in x0 (arch/arm64/kernel/signal.c), unlike on x86-64; the number
 * is in x8.
 */
#include "box/twin/trace_arch.h"


static const uint32_t list_code[] = {
	0xf9400268, /* loop: ldr x8, [x19]      */
	0xa9408660, /*       ldp x0, x1, [x19, #8]  */
	0xa9418e62, /*       ldp x2, x3, [x19, #24] */
	0xa9429664, /*       ldp x4, x5, [x19, #40] */
	0xd4000001, /*       svc #0             */
	0xf9001e60, /*       str x0, [x19, #56] */
	0x91010273, /*       add x19, x19, #64  */
	0xf1000694, /*       subs x20, x20, #1  */
	0x54ffff01, /*       b.ne loop          */
	0xd4200000, /*       brk #0             */
};

void trace_arch_call(struct trace_regs *regs, long nr, const uint64_t args[6])
{
	regs->user.regs[8] = (uint64_t)nr;
	for (int i = 0; i < 6; i++)
		regs->user.regs[i] = args[i];
	regs->user.pc -= 4;
}

long trace_arch_result(const struct trace_regs *regs)
{
	return (long)regs->user.regs[0];
}

void trace_arch_list(struct trace_regs *regs, uint64_t code, uint64_t table, uint64_t count)
{
	regs->user.pc = code;
	regs->user.regs[19] = table;
	regs->user.regs[20] = count;
}

struct trace_list_code trace_arch_list_code(void)
{
	return (struct trace_list_code){ (const uint8_t *)list_code, sizeof(list_code) };
}

#define LIST_CALL 16u /* offset of the `svc` in list_code */

void trace_arch_stand_in_list(struct trace_regs *regs, uint64_t code)
{
	regs->user.pc = code + LIST_CALL + 4;
}

uint64_t trace_arch_list_end(uint64_t code)
{
	return code + sizeof(list_code) - 4; /* on the trap */
}

uint64_t trace_address(const struct trace_regs *regs)
{
	return regs->user.pc;
}

uint64_t trace_arch_call_address(const struct trace_regs *regs)
{
	return regs->user.pc - 4;
}

int trace_arch_is_call(uint64_t word)
{
	return (word & 0xffffffffu) == 0xd4000001u;
}

long trace_blocked_in(const struct trace_regs *regs, uint64_t *ret_arg0)
{
	*ret_arg0 = regs->user.regs[0];
	return (long)regs->user.regs[8];
}

void trace_restart_call(struct trace_regs *regs)
{
	(void)regs;
}

uint64_t trace_stack(const struct trace_regs *regs)
{
	return regs->user.sp;
}
