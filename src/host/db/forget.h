/* forget.h - removes a tenant's conversations, and what ran in them. */
#pragma once

#include <stdint.h>

#include "host/db/db.h"

/* Selects the runs of a tenant, or only those of `key` if it is not NULL. */
struct db_forget {
	const char *tenant, *key;
	uint64_t runs, executions, sessions; /* numbers removed */
};

/* Whether one of the selected runs, in any state, used this session: 1 or 0. */
int db_forget_is_in(struct db *db, const struct db_forget *forget, const char *session,
		    struct err *err);
/*
 * Removes the selected runs that have ended, ended sessions that they used, and ended executions of
 * live ones. `keeps_live`: keeps runs of live sessions, so that a later call finds these sessions.
 */
int db_forget_runs(struct db *db, struct db_forget *forget, bool keeps_live, struct err *err);
/* Removes documents of collections whose name begins with `prefix`; at most `limit`. */
int db_forget_documents(struct db *db, const char *tenant, const char *prefix, unsigned limit,
			uint64_t *ret_count, uint64_t *ret_bytes, struct err *err);
