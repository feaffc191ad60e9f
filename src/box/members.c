/*
 * members.c - counts what lives in a box.
 *
 * Runs in:  the warden.
 * Reads:    the warden's own lists.
 * Never:    asks the box.
 */
#include "box/processes/process.h"
#include "box/state.h"

unsigned kernel_count_up(const struct session *session, const struct box_kernel *but)
{
	unsigned count = 0;

	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		count += session->kernels[i] != NULL && session->kernels[i] != but &&
			 session->kernels[i]->is_up;
	return count;
}

unsigned process_count_up(const struct session *session)
{
	unsigned count = 0;

	for (const struct box_process *at = session->processes; at != NULL; at = at->next)
		count += at->as.is_up;
	return count;
}

size_t process_count_left(const struct session *session)
{
	size_t count = 0;

	for (const struct box_process *at = session->processes; at != NULL; at = at->next)
		count += at->as.is_up || (at->state == PROCESS_ENDED &&
					  (at->how.flags & WARDEN_START_DETACH) != 0);
	return count;
}
