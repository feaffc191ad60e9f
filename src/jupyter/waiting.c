/*
 * waiting.c - collects requests that came while a cell ran.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    signed messages.
 * Never:    waits for a request that is not there yet.
 */
#include "jupyter/inner.h"

void waiting_collect(struct kernel *kernel)
{
	while (kernel->waiting_count < WAITING_MAX &&
	       message_receive(kernel, kernel->shell, false,
			       &kernel->waiting[kernel->waiting_count]) > 0)
		kernel->waiting_count++;
}
