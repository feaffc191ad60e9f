/* trace_arch.h - the parts of a processor's calling convention that trace.c needs. */
#pragma once

#include <stdint.h>

#include "box/twin/trace.h"

struct trace_list_code {
	const uint8_t *bytes;
	uint32_t len;
};

/* Sets regs so that one step from the `syscall` that they stand behind executes nr(args). */
void trace_arch_call(struct trace_regs *regs, long nr, const uint64_t args[6]);
long trace_arch_result(const struct trace_regs *regs);
/* Sets regs to run the list code at `code` over `count` entries at `table`. */
void trace_arch_list(struct trace_regs *regs, uint64_t code, uint64_t table, uint64_t count);
/* The list code: a loop over struct trace_list_call entries, then a trap. */
struct trace_list_code trace_arch_list_code(void);
/* Where a process stands after the list code at `code` has reached its trap. */
uint64_t trace_arch_list_end(uint64_t code);
/* The address of the `syscall` instruction that regs stand behind. */
uint64_t trace_arch_call_address(const struct trace_regs *regs);
/* Sets regs to stand right behind the `syscall` instruction of the list code at `code`. */
void trace_arch_stand_in_list(struct trace_regs *regs, uint64_t code);
int trace_arch_is_call(uint64_t word); /* whether it begins with a `syscall` instruction */
