/* link.h - links that need no key, for whoever answers what one leads to. */
#pragma once

#include <stdbool.h>

#include "host/db/tables/files.h"

struct request;
struct host;
struct tenant;

/* The link of a token, and whose it is; NULL when it was answered with an error. */
struct tenant *link_take(struct host *host, const struct request *req, const char *token,
			 struct db_link *ret);
/* Else it leads to a file. A port's number is the link's name. */
bool link_is_of_port(const struct db_link *link);
