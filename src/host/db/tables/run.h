/* run.h - the rows of runs: a question to a model, and its answer. */
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
	char id[ID_SIZE], tenant[ID_SIZE], requester[ID_SIZE];
	char session[ID_SIZE]; /* "" until the session exists */
	char model[DB_RUN_MODEL_SIZE];
	char state[DB_STATE_SIZE]; /* "pending", "ended", "failed", "lost", "dropped" */
	unsigned char request_hash[32];
	uint32_t failure;     /* enum api_error, if it failed */
	char why[DB_WHY_SIZE]; /* if it failed or was lost */
	struct buf question;  /* until the run ends; the answer then contains it */
	struct buf answer;    /* JSON, if it ended */
	struct buf conversation; /* JSON, if it ended and can be continued */
	struct agent_usage usage; /* if the run waits for the application; otherwise 0 */
};
void db_run_init(struct db_run *run);
void db_run_done(struct db_run *run);

/* Adds a run in state "pending"; `idempotency` may be NULL. */
int db_run_add(struct db *db, const struct db_run *run, const char *idempotency, struct err *err);
int db_run_drop(struct db *db, const char *id, struct err *err); /* the run was refused after all */
int db_run_in(struct db *db, const char *id, const char *session, struct err *err);
/*
 * Stores state, failure, why and answer. A run that never asked a model releases its
 * Idempotency-Key.
 */
int db_run_end(struct db *db, const struct db_run *run, bool has_called_model, struct err *err);
/* 1: found; 0: the tenant does not have it. */
int db_run_find(struct db *db, const char *tenant, const char *id, struct db_run *ret,
		struct err *err);
int db_run_by_key(struct db *db, const char *tenant, const char *idempotency, struct db_run *ret,
		  struct err *err);
/*
 * Reads state, session, model, conversation and usage; the other functions leave out the last two.
 */
int db_run_conversation(struct db *db, const char *tenant, const char *id, struct db_run *ret,
			struct err *err);
/* The key that started the run; 0: the tenant does not have it. */
int db_run_asker(struct db *db, const char *tenant, const char *id, char ret[ID_SIZE],
		 struct err *err);
/* Drops a tenant's oldest answers, until the others have at most `bytes_max` bytes. */
int db_run_trim(struct db *db, const char *tenant, uint64_t bytes_max, struct err *err);
/* Removes ended runs whose id is below `before`, at most `limit`. */
int db_run_retain(struct db *db, const char *before, unsigned limit, unsigned *ret,
		  struct err *err);
