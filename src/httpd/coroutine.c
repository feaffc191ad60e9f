/*
 * coroutine.c - functions that can wait in the middle: each has its own stack (ucontext).
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing.
 * Never:    runs two at once: there is only one thread.
 */
#include "httpd/coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"

#define SPARE_MAX 64u /* freed stacks kept for reuse */

struct coroutine {
	struct coroutine *next_spare;
	ucontext_t own, caller;
	coroutine_fn *fn;
	void *arg;
	bool has_returned;
	char *memory; /* a guard page, then the stack */
	size_t size;
};

static struct coroutine *running;
static struct coroutine *spare;
static unsigned spare_count;

static void enter(void)
{
	struct coroutine *self = running;

	self->fn(self->arg);
	self->has_returned = true;
	(void)swapcontext(&self->own, &self->caller);
}

/* The guard page is below the stack: an overflow crashes the process instead of corrupting
 * memory. */
static int map_stack(struct coroutine *coroutine, struct err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	coroutine->size = COROUTINE_STACK + page;
	coroutine->memory = mmap(NULL, coroutine->size, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (coroutine->memory == MAP_FAILED)
		return err_set(err, ERR_LIMIT, "no memory for one more request");
	if (mmap(coroutine->memory + page, COROUTINE_STACK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_STACK, -1, 0) == MAP_FAILED) {
		(void)munmap(coroutine->memory, coroutine->size);
		return err_set(err, ERR_LIMIT, "no memory for one more request");
	}
	return 0;
}

static void prepare(struct coroutine *coroutine)
{
	(void)getcontext(&coroutine->own);
	coroutine->own.uc_link = NULL;
	coroutine->own.uc_stack.ss_sp =
		coroutine->memory + (coroutine->size - COROUTINE_STACK);
	coroutine->own.uc_stack.ss_size = COROUTINE_STACK;
	makecontext(&coroutine->own, enter, 0);
}

int coroutine_new(coroutine_fn *fn, void *arg, struct coroutine **ret, struct err *err)
{
	struct coroutine *made = spare;

	if (made != NULL) {
		spare = made->next_spare;
		spare_count--;
	} else {
		made = mem_new0(1, sizeof(*made));
		if (map_stack(made, err) < 0) {
			free(made);
			return (int)err->code;
		}
	}
	made->fn = fn;
	made->arg = arg;
	made->has_returned = false;
	prepare(made);
	*ret = made;
	return 0;
}

static void put_away(struct coroutine *coroutine)
{
	if (spare_count < SPARE_MAX) {
		coroutine->next_spare = spare;
		spare = coroutine;
		spare_count++;
		return;
	}
	(void)munmap(coroutine->memory, coroutine->size);
	free(coroutine);
}

bool coroutine_resume(struct coroutine *coroutine)
{
	running = coroutine;
	(void)swapcontext(&coroutine->caller, &coroutine->own);
	running = NULL;
	if (!coroutine->has_returned)
		return false;
	put_away(coroutine);
	return true;
}

void coroutine_yield(void)
{
	struct coroutine *self = running;

	(void)swapcontext(&self->own, &self->caller);
}
