/* trace_arch.h - the few words of a processor's calling convention that trace.c needs. */
#pragma once

#include <stdint.h>

#include "box/twin/trace.h"

struct trace_list_code {
	const uint8_t *bytes;
	uint32_t len;
};

/* Regs such that one step executes nr(args) with the `syscall` instruction behind which they stand. */
void trace_arch_call(struct trace_regs *regs, long nr, const uint64_t args[6]);
long trace_arch_result(const struct trace_regs *regs);
/* Regs that start the list runner at `code` over `count` entries at `table`. */
void trace_arch_list(struct trace_regs *regs, uint64_t code, uint64_t table, uint64_t count);
/* Loop over struct trace_list_call entries, then trap. */
struct trace_list_code trace_arch_list_code(void);
/* Where a process stands that ran a list of `code` to its trap. */
uint64_t trace_arch_list_end(uint64_t code);
/* Whether the word at (pc - 4 … pc) ends in a `syscall` instruction. */
uint64_t trace_arch_call_address(const struct trace_regs *regs);
/* Where the list code has its `syscall` instruction, and regs that stand right behind it. */
void trace_arch_stand_in_list(struct trace_regs *regs, uint64_t code);
int trace_arch_is_call(uint64_t word);
