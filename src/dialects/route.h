/*
 * route.h - which handler a request is for, by its method and path.
 */
#pragma once

#include <stddef.h>

#include "httpd/httpd.h"

struct route {
	unsigned verbs; /* of enum http_verb, one or several */
	const char *path;
	void (*fn)(struct request *request); /* for exactly this path; NULL: `below` */
	/* Also for what begins with the path and a slash; `rest` is what stands behind the path. */
	void (*below)(struct request *request, const char *rest);
};

enum route_result {
	ROUTE_NO_PATH,	 /* nothing has this path */
	ROUTE_NO_METHOD, /* something has, and not for this method */
	ROUTE_HANDLED,
};

/* Calls the first that is for it, and names its path in the access log. `path` may be a part of
 * the request's, behind a prefix. */
enum route_result route_call(struct request *request, const char *path, const struct route *routes,
			     size_t count);
