/*
 * home.c - the session whose workspace is the folder of notebooks; its name is "jupyter".
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    answers of reckond.
 * Never:    creates the session for a request that only looks for it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define NAME "jupyter"
#define WALL_MS (24u * 3600u * 1000u)
#define IDLE_MS ((uint64_t)30 * 24u * 3600u * 1000u) /* people return to their files */

enum home home_find(struct request *request, char ret[ID_SIZE])
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_session *newest;
	struct api_sessions page;

	if (call_or_refuse(
		    request, API_SESSION_LIST,
		    &(struct api_session_list_in){ .name = NAME, .has_limit = true, .limit = 1 },
		    &page, &call) < 0)
		return HOME_GONE;
	newest = page.sessions.items;
	if (page.sessions.count == 0 || strcmp(newest->status, "live") != 0)
		return HOME_NONE;
	(void)snprintf(ret, ID_SIZE, "%s", newest->id);
	return HOME_FOUND;
}

int home_open(struct request *request, char ret[ID_SIZE])
{
	struct api_limits limits = { .has_wall_ms = true, .wall_ms = WALL_MS };
	struct api_session_create_in in = { .name = NAME,
					    .limits = &limits,
					    .has_idle_timeout_ms = true,
					    .idle_timeout_ms = IDLE_MS };
	cleanup_call struct call call = CALL_INIT;
	enum home home = home_find(request, ret);
	enum call_status status;
	struct api_session made;

	if (home != HOME_NONE)
		return home == HOME_FOUND ? 0 : -1;
	status = call_make(request, API_SESSION_CREATE, &in, &made, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_QUOTA_CAP) {
		in.limits = NULL; /* the tenant's limits are lower: use the defaults */
		in.has_idle_timeout_ms = false;
		status = call_make(request, API_SESSION_CREATE, &in, &made, &call);
	}
	if (status == CALL_OK)
		(void)snprintf(ret, ID_SIZE, "%s", made.id);
	/* Another request created it meanwhile. */
	else if (status == CALL_FAILED && call.failure->error == API_ERR_SESSION_EXISTS)
		return home_find(request, ret) == HOME_FOUND ? 0 : -1;
	else if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	return status == CALL_OK ? 0 : -1;
}
