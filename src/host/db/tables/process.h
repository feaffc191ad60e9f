/*
 * process.h - rows of processes: what was started in a session, and what became of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"

#define DB_PROCESS_TEXT_MAX ((size_t)512 * 1024) /* of each text that has no size of its own */
#define DB_PROCESS_TAG_SIZE 129
#define DB_PROCESS_CWD_SIZE 1024
#define DB_PROCESS_KEY_SIZE 129

enum process_flag { PROCESS_STDIN = 1, PROCESS_PTY = 2, PROCESS_DETACH = 4, PROCESS_COMMAND = 8 };

/* `state` and `cause` are enum api_process_…; a cause of 0: none. */
struct db_process {
	char id[ID_SIZE], session[ID_SIZE], asked_by[ID_SIZE];
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
	char key[DB_PROCESS_KEY_SIZE]; /* of the request that began it; "": it had none */
	unsigned char request_hash[32];
};
void db_process_init(struct db_process *process);
void db_process_done(struct db_process *process);

/* Added or replaced. */
int db_process_put(struct db *db, const struct db_process *process, struct err *err);
/* 1: found. */
int db_process_find(struct db *db, const char *session, const char *id, struct db_process *ret,
		    struct err *err);

int db_process_by_key(struct db *db, const char *session, const char *key, struct db_process *ret,
		      struct err *err);
/* It never was. */
int db_process_remove(struct db *db, const char *id, struct err *err);

struct db_process_query {
	const char *session;
	const char *before; /* older than this id; NULL: the newest */
	const char *tag;    /* NULL: any */
	int pid;	    /* 0: any */
	unsigned state;	    /* 0: any */
	unsigned limit;
};
/* What is given is gone when the function returns. */
typedef int db_process_fn(const struct db_process *process, void *arg, struct err *err);
int db_process_list(struct db *db, const struct db_process_query *query, db_process_fn *fn,
		    void *arg, struct err *err);
