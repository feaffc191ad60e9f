/* forget.h - removing what was said in conversations of a tenant, and what ran in them. */
#pragma once

#include <stdint.h>

#include "host/db/db.h"

/* What is meant: runs of a tenant, of one key alone where `key` is not NULL. */
struct db_forget {
	const char *tenant, *key;
	uint64_t runs, executions, sessions; /* that were removed */
};

/* Whether one of its runs, whatever became of it, was in this session: 1 or 0. */
int db_forget_is_in(struct db *db, const struct db_forget *forget, const char *session,
		    struct err *err);
/*
 * Removes runs that are not under way, ended sessions that they were in, and executions of live ones
 * that have ended. `keeps_live`: runs of live sessions stay, so that these are found again.
 */
int db_forget_runs(struct db *db, struct db_forget *forget, bool keeps_live, struct err *err);
/* Documents of collections that begin with `prefix`; at most `limit`. */
int db_forget_documents(struct db *db, const char *tenant, const char *prefix, unsigned limit,
			uint64_t *ret_count, uint64_t *ret_bytes, struct err *err);
