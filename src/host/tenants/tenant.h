/*
 * tenant.h - tenants and their keys in memory: the daemon reads all of them at its start.
 *
 * A tenant owns its sessions and everything that they create. Look-ups search for an id of this
 * tenant, so ids of other tenants get the same answer as ids that do not exist.
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
#define TENANT_CPU_SLOTS 12u /* of five minutes each */

/* The share of the processors for all sessions of a tenant together. */
struct tenant_share {
	uint32_t weight;  /* 0: the default */
	uint32_t percent; /* 0: no limit */
};

struct tenant {
	struct tenant *next; /* newest first */
	struct db_tenant row;
	struct pool_lane *lane;
	struct pool_lane *file_lane; /* in the pool for files */
	bool is_deleted;
	unsigned sessions;   /* live, opening or closing */
	unsigned executions; /* running or waiting */
	unsigned processes;  /* running */
	size_t input_bytes;  /* written to processes, but not read yet */
	unsigned started;    /* executions that the pool has */
	uint64_t memory_limits, memory_used, workspaces; /* sums over its sessions */
	uint64_t volume_bytes; /* as last measured (volumes/tick.c) */
	/*
	 * Sessions whose only execution is answered: the client may already ask for the next one.
	 */
	unsigned leaving;
	uint64_t leaving_limits;
	uint64_t cpu_ms[TENANT_CPU_SLOTS];
	uint64_t cpu_slot; /* the newest slot, by the monotonic clock */
	uint64_t tokens, tokens_ns; /* in thousandths of a request */
	struct tenant_share share;  /* last share sent to the warden */
	struct front_usage since_start;
	struct replay replay;
};

struct key {
	struct key *next;  /* newest first */
	struct key *chain; /* in the same bucket */
	struct db_key row;
	struct tenant *tenant;
	uint64_t used_ns; /* when its use was last stored */
};

/* ---- tenant.c ---- */
int tenant_setup(struct host *host, struct err *err); /* from the database; makes the lanes */
/* The tenant with this id, or NULL if it does not exist or is deleted. */
struct tenant *tenant_find(struct host *host, const char *id);
/* An active tenant for an admin key; adds one if there is none. */
struct tenant *tenant_for_admin(struct host *host, struct err *err);
struct tenant *tenant_named(struct host *host, const char *name);
struct tenant *tenant_add(struct host *host, const struct db_tenant *row, struct err *err);
void tenant_forget(struct host *host, struct tenant *tenant); /* also if it could not be stored */
/* Takes over a row that is in the database already, and applies weights and limits. */
void tenant_changed(struct host *host, struct tenant *tenant, const struct db_tenant *row);
/*
 * note() stores the tenant's share in an OPEN or a RESTORE, for the warden; when the job is back,
 * check() sends the share again if it has changed.
 */
void tenant_share_note(const struct host *host, struct job *job);
void tenant_share_check(struct host *host, const struct job *job);
void tenant_share_done(struct job *job); /* a JOB_SHARE has returned */
/* In the database: marks the row as deleted and revokes the keys. */
int tenant_delete(struct host *host, struct tenant *tenant, struct err *err);
void tenant_deleted(struct host *host, struct tenant *tenant); /* in memory */
/* Applies weights and limits of all tenants, for threads and processors. */
void tenant_apply(struct host *host);
/* The tenant with this id, or the requesting one if `id` is NULL. NULL: the request is answered. */
struct tenant *tenant_of_id(struct host *host, const struct request *req, const char *id);

/* ---- key.c ---- */
#define KEY_TEXT_SIZE 64
/* Reads the keys. If no valid admin key is left, makes one: ret_key is its text, otherwise "". */
int key_setup(struct host *host, char ret_key[KEY_TEXT_SIZE], struct err *err);
/* 0: *ret is the key. API_ERR_UNAUTHORIZED or API_ERR_KEY_EXPIRED otherwise. */
int key_judge(struct host *host, const char *text, size_t len, struct key **ret);
void key_hash(const struct host *host, const void *bytes, size_t len, unsigned char ret[32]);
struct key *key_find(struct host *host, const char *id);
struct key *key_newest(const struct host *host);
/* Makes a key from `row` and sets the row's id, hash and time; ret_text is the text of the key. */
struct key *key_make(struct host *host, struct db_key *row, char ret_text[KEY_TEXT_SIZE],
		     struct err *err);
void key_forget(struct host *host, struct key *key); /* frees a key that is revoked */
/* Whether an admin key is left without this key and without the keys of this tenant. */
bool key_admin_left(const struct host *host, const struct key *without,
		    const struct tenant *without_tenant);
bool key_is_expired(const struct host *host, const struct key *key);
