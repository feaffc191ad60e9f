/*
 * route.h - finds a request's handler by method and path.
 */
#pragma once

#include <stddef.h>

#include "httpd/httpd.h"

struct route {
	unsigned verbs; /* one or more of enum http_verb */
	const char *path;
	void (*fn)(struct request *request); /* for exactly this path; NULL: `below` handles it */
	/* Also handles paths that continue with a slash; `rest` is the part after the path. */
	void (*below)(struct request *request, const char *rest);
};

enum route_result {
	ROUTE_NO_PATH,	 /* no route has this path */
	ROUTE_NO_METHOD, /* a route has this path, but not for this method */
	ROUTE_HANDLED,
};

/* Calls the first matching handler, and notes its path for the access log. `path` may be the part
 * of the request's path after a prefix. */
enum route_result route_call(struct request *request, const char *path, const struct route *routes,
			     size_t count);
/* With the prefix or without it; what is for none of them is refused. */
void route_below(struct request *request, const char *prefix, const struct route *routes,
		 size_t count);
