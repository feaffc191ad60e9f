/*
 * trace_x86_64.c - the parts of x86-64's calling convention that trace.c needs.
 *
 * Runs in:  the warden.
 * Reads:    registers of stopped processes.
 * Never:    makes a system call.
 */
#include "box/twin/trace_arch.h"

#include <string.h>
#include <sys/syscall.h>

static const uint8_t list_code[] = {
	0x48, 0x8b, 0x03,	      /* loop: mov rax, [rbx]      */
	0x48, 0x8b, 0x7b, 0x08,	      /*       mov rdi, [rbx + 8]  */
	0x48, 0x8b, 0x73, 0x10,	      /*       mov rsi, [rbx + 16] */
	0x48, 0x8b, 0x53, 0x18,	      /*       mov rdx, [rbx + 24] */
	0x4c, 0x8b, 0x53, 0x20,	      /*       mov r10, [rbx + 32] */
	0x4c, 0x8b, 0x43, 0x28,	      /*       mov r8,  [rbx + 40] */
	0x4c, 0x8b, 0x4b, 0x30,	      /*       mov r9,  [rbx + 48] */
	0x0f, 0x05,		      /*       syscall             */
	0x48, 0x89, 0x43, 0x38,	      /*       mov [rbx + 56], rax */
	0x48, 0x83, 0xc3, 0x40,	      /*       add rbx, 64         */
	0x49, 0xff, 0xcc,	      /*       dec r12             */
	0x75, 0xd6,		      /*       jnz loop            */
	0xcc,			      /*       int3                */
};

void trace_arch_call(struct trace_regs *regs, long nr, const uint64_t args[6])
{
	regs->user.rax = (uint64_t)nr;
	regs->user.rdi = args[0];
	regs->user.rsi = args[1];
	regs->user.rdx = args[2];
	regs->user.r10 = args[3];
	regs->user.r8 = args[4];
	regs->user.r9 = args[5];
	regs->user.rip -= 2;
	regs->user.orig_rax = (uint64_t)-1;
}

long trace_arch_result(const struct trace_regs *regs)
{
	return (long)regs->user.rax;
}

void trace_arch_list(struct trace_regs *regs, uint64_t code, uint64_t table, uint64_t count)
{
	regs->user.rip = code;
	regs->user.rbx = table;
	regs->user.r12 = count;
	regs->user.orig_rax = (uint64_t)-1;
}

struct trace_list_code trace_arch_list_code(void)
{
	return (struct trace_list_code){ list_code, sizeof(list_code) };
}

#define LIST_CALL 27u /* offset of the `syscall` in list_code */

void trace_arch_stand_in_list(struct trace_regs *regs, uint64_t code)
{
	regs->user.rip = code + LIST_CALL + 2;
}

uint64_t trace_arch_list_end(uint64_t code)
{
	return code + sizeof(list_code); /* behind the trap */
}

uint64_t trace_address(const struct trace_regs *regs)
{
	return regs->user.rip;
}

uint64_t trace_arch_call_address(const struct trace_regs *regs)
{
	return regs->user.rip - 2;
}

int trace_arch_is_call(uint64_t word)
{
	return (word & 0xffff) == 0x050f;
}

long trace_blocked_in(const struct trace_regs *regs, uint64_t *ret_arg0)
{
	*ret_arg0 = regs->user.rdi;
	return (long)regs->user.orig_rax;
}

void trace_restart_call(struct trace_regs *regs)
{
	regs->user.rip -= 2;
	regs->user.rax = regs->user.orig_rax;
	regs->user.orig_rax = (uint64_t)-1;
}

uint64_t trace_stack(const struct trace_regs *regs)
{
	return regs->user.rsp;
}
