/*
 * context.h - the rows of contexts, which only live sessions have.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"
#include "host/db/tables/persist.h"
#include "wire/front.h"

struct db_context {
	char id[ID_SIZE];
	char language[64], template_name[64], cwd[FRONT_CWD_MAX + 1];
	char created_at[CLOCK_RFC3339_SIZE];
	struct buf env;		     /* "NAME=value" and a NUL, repeated; may contain secrets */
	char kernel[DB_KERNEL_SIZE]; /* "ready" or "lost" */
	bool has_run;		     /* so that there are variables that can be lost */
	char lost_why[DB_WHY_SIZE];
	char *variables; /* names of variables, ["a","b"], or NULL */
};
void db_context_init(struct db_context *context);
void db_context_done(struct db_context *context);

/* Adds the row or replaces it. */
int db_context_put(struct db *db, const char *session, const struct db_context *context,
		   struct err *err);
int db_context_drop(struct db *db, const char *id, struct err *err);
/* Contexts of a session, oldest first; `fn` takes ownership of the contents of *context. */
typedef void db_context_fn(struct db_context *context, void *arg);
int db_context_list(struct db *db, const char *session, db_context_fn *fn, void *arg,
		    struct err *err);
