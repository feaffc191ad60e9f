/*
 * trace.h - system calls in a stopped process, by ptrace.
 *
 * Everything here runs in the one thread that attached. A traced process that shares memory with
 * user code is never resumed: it is made to execute one `syscall` instruction at a time, whose
 * bytes are checked before, or a list of calls from a page that was mapped for the purpose.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/err.h"

struct trace_regs {
	struct user_regs_struct user;
};

struct trace_fpregs {
	char bytes[16384]; /* XSAVE area or FP/SIMD state; hosts with larger states are refused */
	size_t len;
};

/* Also traces its forks and clones; all die with the warden. */
int trace_seize(pid_t pid, struct err *err);
/* The same without forks and clones; 0 also if we trace it already, ERR_LOST if it has ended. */
int trace_hold(pid_t pid, struct err *err);
/*
 * Stops a seized process and waits a limited time for it, because in some calls nothing stops a
 * process (ERR_TIMEOUT; if it stops later, trace_stray() lets it go). *ret_sig is a signal that was
 * about to be delivered, for trace_detach() to pass on, or 0.
 */
int trace_interrupt(pid_t pid, int *ret_sig, struct err *err);
/* Lets a late one go; false: it stopped for another reason. */
bool trace_stray(pid_t pid, int status);
int trace_wait_stop(pid_t pid, int *ret_event, struct err *err);
int trace_event_pid(pid_t pid, pid_t *ret_pid, struct err *err);
int trace_continue(pid_t pid, struct err *err);
/* Lets a process go on with a signal that stopped it (0: none). */
int trace_pass_signal(pid_t pid, int sig);
int trace_detach(pid_t pid, int sig, struct err *err);
/* Waits for the next fork or clone of `pid`, letting it run; signals are passed on. */
int trace_until_fork(pid_t pid, pid_t *ret_child, struct err *err);
/* Steps from inside a clone to right behind its `syscall` instruction. */
int trace_finish_call(pid_t pid, struct err *err);

int trace_regs_get(pid_t pid, struct trace_regs *ret, struct err *err);
int trace_regs_set(pid_t pid, const struct trace_regs *regs, struct err *err);
int trace_fpregs_get(pid_t pid, struct trace_fpregs *ret, struct err *err);
int trace_fpregs_set(pid_t pid, const struct trace_fpregs *regs, struct err *err);

/* The system call the process is blocked in (-1: none) and its first argument. */
long trace_blocked_in(const struct trace_regs *regs, uint64_t *ret_arg0);
/* Changes the registers of an interrupted call so that it is made again. */
void trace_restart_call(struct trace_regs *regs);
uint64_t trace_stack(const struct trace_regs *regs);
uint64_t trace_address(const struct trace_regs *regs); /* of the next instruction */

/* Whether the process stands right behind an untouched `syscall` instruction. */
bool trace_stands_behind_call(pid_t pid, const struct trace_regs *regs);

/* The file that a process's code is mapped from; zeros: not known yet. */
struct trace_code {
	uint64_t device, inode;
};

/* Finds the code in which a process stands that has run nothing but our own code yet. */
int trace_code_find(pid_t pid, const struct trace_regs *regs, struct trace_code *ret,
		    struct err *err);

/*
 * Gives a process that stands behind a `syscall` a copy of that instruction's page that nobody
 * outside its memory can change, and checks the instruction. All tasks that share the memory have
 * to be stopped. ERR_DENIED if the page is shared or belongs to another file than `code`:
 * truncating a file drops its private pages, and what comes back is what the file holds then.
 */
int trace_own_instruction(pid_t pid, const struct trace_regs *regs, const struct trace_code *code,
			  struct err *err);

/*
 * Executes one system call in `pid`, which stands as above with `base` registers. The result goes
 * to *ret (negative errno for a failed call). A child made by it is stopped, and its pid in
 * *ret_child. Checks the instruction before and after, and where the process stands: ERR_DENIED if
 * it did anything but this call.
 */
int trace_call(pid_t pid, const struct trace_regs *base, long nr, const uint64_t args[6],
	       pid_t *ret_child, long *ret, struct err *err);

#define TRACE_OWN_BYTES 32768u

/*
 * Maps TRACE_OWN_BYTES of our own into `pid` with the list code at their start, and makes *ret_base
 * stand behind its `syscall`: what runs from there does not depend on memory that user code can
 * still reach. The mapping itself runs from `base`. trace_drop_page() unmaps it; its `base` must
 * stand in the process's own code.
 */
int trace_own_page(pid_t pid, const struct trace_regs *base, struct trace_regs *ret_base,
		   uint64_t *ret_page, struct err *err);
int trace_drop_page(pid_t pid, const struct trace_regs *base, uint64_t page, struct err *err);

/* One entry of a list; its layout is known to the code in trace_<arch>.c. */
struct trace_list_call {
	uint64_t nr;
	uint64_t args[6];
	int64_t result;
};

/*
 * Runs `count` calls natively in `pid` from a page mapped for it, with `data` placed behind them;
 * TRACE_DATA(offset) in an argument means the address of that data. The results are filled in;
 * the mapping is removed unless the list made that impossible.
 */
#define TRACE_DATA_BASE 0x5245434b00000000ull
#define TRACE_DATA(offset) (TRACE_DATA_BASE + (uint64_t)(offset))
int trace_run_list(pid_t pid, const struct trace_regs *base, struct trace_list_call *calls,
		   size_t count, const void *data, size_t data_len, struct err *err);
