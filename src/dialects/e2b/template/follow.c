/*
 * follow.c - waits for the end of a build and finishes it, even if no client asks for it again.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    the state of a process from reckond.
 * Never:    does anything that other requests cannot do: the front may end at any moment.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define ROUNDS 10u
#define AGAIN_MS 31000u /* longer than CLAIM_MS of settle.c */

static bool is_over(const struct build *build)
{
	return strcmp(build->status, "ready") == 0 || strcmp(build->status, "error") == 0;
}

/* Negative: the connection to reckond is lost. */
static int wait_for(const struct e2b *e2b, const struct build *build)
{
	cleanup_call struct call call = CALL_INIT;

	return call_make(e2b->request, API_PROCESS_WAIT,
			 &(struct api_process_wait_in){ .session = build->session,
							.process = build->process },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

void template_follow(const struct e2b *e2b, struct build *build)
{
	char id[TEMPLATE_ID_SIZE];

	memcpy(id, build->id, sizeof(id));
	if (wait_for(e2b, build) < 0)
		return;
	/* It may have to wait for room for a snapshot, or for another request that finishes it. */
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round > 0 && request_pause(e2b->request, AGAIN_MS) < 0)
			return;
		if (build_get(e2b, id, build) <= 0 || is_over(build) ||
		    template_settle(e2b, build, NULL) < 0 || is_over(build))
			return;
	}
}
