/*
 * inner.h - the private state of a store, shared by store.c and store_persist.c.
 */
#pragma once

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "lib/store/store.h"

#define STORE_SHARDS 256u

struct store_batch;

struct store {
	int root_fd; /* STATE/artifacts */
	int tmp_fd;  /* STATE/artifacts/tmp */
	struct store_batch *batch; /* or NULL */
	uint64_t dirty[STORE_SHARDS / 64]; /* directories with names that are not synced yet */
	bool root_is_dirty;
	bool is_relaxed;
	struct store_note *made; /* objects stored since store_forget_made() */
	size_t made_count, made_room;
};

struct store_spool {
	struct store *store;
	int fd;
	char name[ID_SIZE]; /* in tmp; "" once it is deleted or renamed */
	uint64_t max_bytes;
	bool ends_in_hole;
	crypto_hash_sha256_state hash;
	struct store_object object;
};

int store_disk_err(struct err *err, const char *what);
/* Opens the directory for this hash, which is created if missing, and marks it dirty. */
int store_open_shard(struct store *store, const char *sha256, int *ret_fd, struct err *err);
void store_note_dirty(struct store *store, const char *sha256);
/* Takes the descriptor and name of a complete spool. */
int store_batch_take(struct store_spool *spool, struct err *err);
