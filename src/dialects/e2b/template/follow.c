/*
 * follow.c - waits for the end of a build, so that what came of it is kept when nobody asks.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    what reckond says of a process.
 * Never:    does what others who ask do not do as well: it may end at any moment.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define ROUNDS 10u
#define AGAIN_MS 31000u /* longer than one who has begun to finish it is left alone */

static bool is_over(const struct build *build)
{
	return strcmp(build->status, "ready") == 0 || strcmp(build->status, "error") == 0;
}

/* Negative: reckond is gone, or the process is no more. */
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
	/* What is left to do may have to wait: for room for a snapshot, or for another who does it. */
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round > 0 && request_pause(e2b->request, AGAIN_MS) < 0)
			return;
		if (build_get(e2b, id, build) <= 0 || is_over(build) ||
		    template_settle(e2b, build, NULL) < 0 || is_over(build))
			return;
	}
}
