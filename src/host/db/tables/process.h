/*
 * process.h - the rows of processes that were started in sessions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"

#define DB_PROCESS_TEXT_MAX ((size_t)512 * 1024) /* for each text without a limit of its own */
#define DB_PROCESS_TAG_SIZE 129
#define DB_PROCESS_CWD_SIZE 1024
#define DB_PROCESS_KEY_SIZE 129

enum process_flag { PROCESS_STDIN = 1, PROCESS_PTY = 2, PROCESS_DETACH = 4, PROCESS_COMMAND = 8 };

/* `state` and `cause` are enum api_process_…; cause 0: none. */
struct db_process {
	char id[ID_SIZE], session[ID_SIZE], requester[ID_SIZE];
	char tag[DB_PROCESS_TAG_SIZE];
	char cwd[DB_PROCESS_CWD_SIZE];
	char created_at[CLOCK_RFC3339_SIZE], ended_at[CLOCK_RFC3339_SIZE];
	char why[DB_WHY_SIZE];
	int pid;
	unsigned flags, rows, cols, state, cause;
	int exit_code, signal;
	uint64_t last_event;
	struct buf argv;	 /* JSON */
	struct buf usage, files; /* JSON, or empty */
	char key[DB_PROCESS_KEY_SIZE]; /* the request's Idempotency-Key; "": none */
	unsigned char request_hash[32];
};
void db_process_init(struct db_process *process);
void db_process_done(struct db_process *process);

/* Adds the row or replaces it. */
int db_process_put(struct db *db, const struct db_process *process, struct err *err);
/* 1: found; 0: not found. */
int db_process_find(struct db *db, const char *session, const char *id, struct db_process *ret,
		    struct err *err);

int db_process_by_key(struct db *db, const char *session, const char *key, struct db_process *ret,
		      struct err *err);
/* Removes the row of a process that did not start. */
int db_process_remove(struct db *db, const char *id, struct err *err);

struct db_process_query {
	const char *session;
	const char *before; /* older than this id; NULL: from the newest */
	const char *tag;    /* NULL: any */
	int pid;	    /* 0: any */
	unsigned state;	    /* 0: any */
	unsigned limit;
};
/* The contents of *process are valid only during the call. */
typedef int db_process_fn(const struct db_process *process, void *arg, struct err *err);
int db_process_list(struct db *db, const struct db_process_query *query, db_process_fn *fn,
		    void *arg, struct err *err);
