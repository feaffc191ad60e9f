/*
 * tenant.h - tenants and their keys, as the loop holds them: all of them, read at start.
 *
 * A tenant owns its sessions and whatever comes of them. Another tenant's id is answered as one
 * that does not exist, by the same code: what is looked for is "this id of this tenant".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "host/db/db.h"
#include "host/pool.h"
#include "host/executions/replay.h"

struct host;
struct request;
struct job;

#define TENANTS_MAX 4096u
#define KEYS_MAX 16384u
#define KEY_LIFETIME_MAX_MS (10ull * 366 * 86400 * 1000)
#define TENANT_CPU_SLOTS 12u /* of five minutes */

/* Of the processors, for all its sessions together. */
struct tenant_share {
	uint32_t weight;  /* 0: as everybody's */
	uint32_t percent; /* 0: no limit */
};

struct tenant {
	struct tenant *next; /* newest first */
	struct db_tenant row;
	struct pool_lane *lane;
	struct pool_lane *file_lane; /* of the pool for files */
	bool is_deleted;
	unsigned sessions;   /* live, opening or closing */
	unsigned executions; /* that run or wait */
	unsigned processes;  /* that run */
	size_t input_bytes;  /* that they have not read yet */
	unsigned started;    /* of those, handed to the pool */
	uint64_t memory_limits, memory_used, workspaces; /* sums over its sessions */
	uint64_t volume_bytes; /* a sum as last measured (volumes/tick.c) */
	/* Of them, those whose only execution was answered: whoever got that may open the next. */
	unsigned leaving;
	uint64_t leaving_limits;
	uint64_t cpu_ms[TENANT_CPU_SLOTS];
	uint64_t cpu_slot; /* the newest of them, by the monotonic clock */
	uint64_t tokens, tokens_ns; /* thousandths of a request */
	struct tenant_share share;  /* that the warden was told, or is about to be */
	struct front_usage since_start;
	struct replay replay;
};

struct key {
	struct key *next;  /* newest first */
	struct key *chain; /* of the same bucket */
	struct db_key row;
	struct tenant *tenant;
	uint64_t used_ns; /* when its use was last noted */
};

/* ---- tenant.c ---- */
int tenant_setup(struct host *host, struct err *err); /* from the database; makes the lanes */
/* The tenant with this id that is not deleted, or NULL. */
struct tenant *tenant_find(struct host *host, const char *id);
/* One that an admin key can belong to; made when there is none. */
struct tenant *tenant_for_admin(struct host *host, struct err *err);
struct tenant *tenant_named(struct host *host, const char *name);
struct tenant *tenant_add(struct host *host, const struct db_tenant *row, struct err *err);
void tenant_forget(struct host *host, struct tenant *tenant); /* one that was not kept after all */
/* Its row is now this one, in the database already; the pool hears of weight and workers. */
void tenant_changed(struct host *host, struct tenant *tenant, const struct db_tenant *row);
/* What an OPEN or a RESTORE tells the warden of its tenant; and once it is back, whether that is
 * still so. */
void tenant_share_note(const struct host *host, struct job *job);
void tenant_share_check(struct host *host, const struct job *job);
void tenant_share_done(struct job *job); /* a JOB_SHARE is back */
/* In the database: its row, and its keys are revoked. */
int tenant_delete(struct host *host, struct tenant *tenant, struct err *err);
void tenant_deleted(struct host *host, struct tenant *tenant); /* here, and its sessions end */
/* Weights and caps of all of them, of threads and of processors. */
void tenant_apply(struct host *host);
/* Of that id; NULL: the asking one. */
struct tenant *tenant_of_id(struct host *host, const struct request *req, const char *id);

/* ---- key.c ---- */
#define KEY_TEXT_SIZE 64
/* Makes an admin key when none is good any more: its text is in ret_key, else "". */
int key_setup(struct host *host, char ret_key[KEY_TEXT_SIZE], struct err *err);
/* 0: *ret is the key. API_ERR_UNAUTHORIZED or API_ERR_KEY_EXPIRED otherwise. */
int key_judge(struct host *host, const char *text, size_t len, struct key **ret);
void key_hash(const struct host *host, const void *bytes, size_t len, unsigned char ret[32]);
struct key *key_find(struct host *host, const char *id);
struct key *key_newest(const struct host *host);
/* `row` without id, hash and times; the text of the new key is in ret_text. */
struct key *key_make(struct host *host, struct db_key *row, char ret_text[KEY_TEXT_SIZE],
		     struct err *err);
void key_forget(struct host *host, struct key *key); /* nobody has it any more; frees it */
/* Whether an admin key would be left without this one, and without those of this tenant. */
bool key_admin_left(const struct host *host, const struct key *without,
		    const struct tenant *without_tenant);
bool key_is_expired(const struct host *host, const struct key *key);
