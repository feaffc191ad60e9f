/*
 * route.c - finds a request's handler by method and path.
 *
 * Runs in:  each dialect's process.
 * Reads:    request heads of any client.
 * Never:    answers: each protocol has its own message for an unknown path.
 */
#include "dialects/route.h"

#include <string.h>

static bool is_at(const struct route *route, const char *path, size_t len)
{
	return strncmp(route->path, path, len) == 0 &&
	       (path[len] == '\0' || (route->below != NULL && path[len] == '/'));
}

enum route_result route_call(struct request *request, const char *path, const struct route *routes,
			     size_t count)
{
	const unsigned verb = request_head(request)->verb;
	enum route_result result = ROUTE_NO_PATH;

	for (const struct route *route = routes; route < routes + count; route++) {
		const size_t len = strlen(route->path);

		if (!is_at(route, path, len))
			continue;
		result = ROUTE_NO_METHOD;
		if ((route->verbs & verb) == 0)
			continue;
		request_note(request, route->path, NULL, NULL);
		if (route->below != NULL)
			route->below(request, path + len);
		else
			route->fn(request);
		return ROUTE_HANDLED;
	}
	return result;
}

void route_below(struct request *request, const char *prefix, const struct route *routes,
		 size_t count)
{
	const char *path = request_head(request)->path;
	enum route_result result;

	if (strncmp(path, prefix, strlen(prefix)) == 0)
		path += strlen(prefix);
	result = route_call(request, path, routes, count);
	if (result == ROUTE_NO_METHOD)
		answer_refuse_simple(request, 405, "not_found", "this method does nothing here",
				     NULL);
	else if (result == ROUTE_NO_PATH)
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}
