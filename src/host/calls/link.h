/* link.h - links that need no key, for handlers that follow one. */
#pragma once

#include <stdbool.h>

#include "host/db/tables/files.h"

struct request;
struct host;
struct tenant;

/* The link of a token and its tenant; NULL: answered with an error. */
struct tenant *link_take(struct host *host, const struct request *req, const char *token,
			 struct db_link *ret);
/* Otherwise it leads to a file or an artifact. link->name has the number of a port. */
bool link_is_of_port(const struct db_link *link);
