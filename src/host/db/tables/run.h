/* run.h - rows of runs: questions to models, from when they were taken to long after the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"
#include "wire/agent.h"

#define DB_RUN_MODEL_SIZE 321 /* PROVIDER/NAME */

struct db_run {
	char id[ID_SIZE], tenant[ID_SIZE], asked_by[ID_SIZE];
	char session[ID_SIZE]; /* "" while it is made */
	char model[DB_RUN_MODEL_SIZE];
	char state[DB_STATE_SIZE]; /* "pending", "ended", "failed", "lost", "dropped" */
	unsigned char request_hash[32];
	uint32_t failure;     /* enum api_error, of a failed one */
	char why[DB_WHY_SIZE]; /* it failed or was lost */
	struct buf question;  /* until there is an answer, which holds it */
	struct buf answer;    /* JSON, of one that ended */
	struct buf conversation; /* JSON, of one that ended and keeps it */
	struct agent_usage usage; /* of one that waits for the application; else 0 */
};
void db_run_init(struct db_run *run);
void db_run_done(struct db_run *run);

/* One that begins; `idempotency` may be NULL. */
int db_run_add(struct db *db, const struct db_run *run, const char *idempotency, struct err *err);
int db_run_drop(struct db *db, const char *id, struct err *err); /* it was refused after all */
int db_run_in(struct db *db, const char *id, const char *session, struct err *err);
/* Its state, failure, why and answer. One that was never asked gives its Idempotency-Key back. */
int db_run_end(struct db *db, const struct db_run *run, bool was_asked, struct err *err);
/* 1: found; 0: this tenant has none. */
int db_run_find(struct db *db, const char *tenant, const char *id, struct db_run *ret,
		struct err *err);
int db_run_by_key(struct db *db, const char *tenant, const char *idempotency, struct db_run *ret,
		  struct err *err);
/* With its conversation, which the others leave out. */
int db_run_conversation(struct db *db, const char *tenant, const char *id, struct db_run *ret,
			struct err *err);
/* Whose key asked it; 0: this tenant has none. */
int db_run_asker(struct db *db, const char *tenant, const char *id, char ret[ID_SIZE],
		 struct err *err);
/* The oldest answers of a tenant go, until what is left has at most so many bytes. */
int db_run_trim(struct db *db, const char *tenant, uint64_t bytes_max, struct err *err);
/* Those whose id is below `before` and that are not under way, at most `limit`. */
int db_run_retain(struct db *db, const char *before, unsigned limit, unsigned *ret,
		  struct err *err);
