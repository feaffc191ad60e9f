/*
 * store.h - content-addressed files below the state directory: artifacts and spooled output.
 *
 * STATE/artifacts/ab/<64 hex digits of SHA-256>, files 0600, directories 0700. A file is written to
 * STATE/artifacts/tmp, synced, and renamed, so a crash leaves a complete file or none. The same
 * content is stored once. It has two ids, both with the first 32 digits: "ar_…" for files, "out_…"
 * for the full text of truncated output. The total size is not limited, only what one execution can
 * add (docs/model-text.md). Only store_collect() deletes objects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lib/record/mime.h"
#include "reckon_keep.h"

#define STORE_ID_SIZE 40
#define STORE_SHA256_SIZE 65

struct store;

/* A stored object; `head` has its first bytes, for mime_guess(). */
struct store_object {
	char id[STORE_ID_SIZE]; /* "ar_…" or "out_…" */
	char sha256[STORE_SHA256_SIZE];
	uint64_t size;
	bool was_new; /* the content was not stored before */
	size_t head_len;
	unsigned char head[MIME_HEAD_SIZE];
};

/*
 * Creates missing directories and deletes temporary files of ended processes. `state_dir` is
 * absolute. The caller closes *ret with store_close().
 */
int store_open(const char *state_dir, struct store **ret, struct err *err);
void store_close(struct store *store); /* NULL is fine */
void store_closep(struct store **store);
#define cleanup_store __attribute__((cleanup(store_closep)))

/*
 * Stores the content of `fd` from its current offset, at most `size_max` bytes. On failure, such as
 * a full disk, nothing remains.
 */
int store_put_fd(struct store *store, int fd, uint64_t size_max, struct store_object *ret,
		 struct err *err);

/* A stream that is stored as it arrives; append fails with ERR_LIMIT beyond max_bytes. */
struct store_spool;
int store_spool_open(struct store *store, uint64_t max_bytes, struct store_spool **ret,
		     struct err *err);
int store_spool_append(struct store_spool *spool, const void *bytes, size_t len, struct err *err);
uint64_t store_spool_size(const struct store_spool *spool);
/* Sets ret->id to the handle "out_…" and frees the spool, even on failure. */
int store_spool_finish(struct store_spool *spool, struct store_object *ret, struct err *err);
void store_spool_abandon(struct store_spool *spool); /* drops it; NULL is fine */

/* Stores bytes in memory; `prefix` is "ar" or "out", for ret->id. */
int store_put_bytes(struct store *store, const char *prefix, const void *bytes, size_t len,
		    struct store_object *ret, struct err *err);

struct store_note {
	char id[STORE_ID_SIZE];
	uint64_t size;
};
/* The objects stored since store_forget_made(), in order; NULL past the last one. */
const struct store_note *store_made(const struct store *store, size_t index);
void store_forget_made(struct store *store);

/* The size of an object. ERR_INVALID: not an id; ERR_NOT_FOUND: no such object, or two match. */
int store_stat(struct store *store, const char *id, uint64_t *ret_size, struct err *err);

/* Opens the object for reading; errors as store_stat(). */
int store_open_object(struct store *store, const char *id, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/* Writes `length` bytes from `offset` (0: to the end; less at the end) to target_fd. */
int store_get(struct store *store, const char *id, uint64_t offset, uint64_t length, int target_fd,
	      struct err *err);

/* ---- store_persist.c: durability, and deleting objects ---- */

/* Whether `text` is a SHA-256 in hex. */
bool store_is_sha256(const char *text);

/* Opens the object with this hash for reading; ERR_NOT_FOUND. Does not verify its content. */
int store_open_sha256(struct store *store, const char *sha256, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/*
 * Renames an object that does not match its hash to SHA256.damaged, so that the content can be
 * stored again.
 */
void store_set_damaged(struct store *store, const char *sha256);
bool store_has_damaged(struct store *store, const char *sha256);

/* Describes an object as store_put_*() would; only for content that is stored. */
int store_describe(struct store *store, const char *sha256, struct store_object *ret,
		   struct err *err);

/*
 * Between begin and commit new objects get no names; commit syncs all of them, with one syncfs() if
 * there are many, and then names them. A long batch is partly committed earlier. If commit fails,
 * none of the uncommitted objects exists.
 */
void store_batch_begin(struct store *store);
int store_batch_commit(struct store *store, struct err *err);
void store_batch_abandon(struct store *store); /* without a batch it does nothing */

/* Syncs the names of all objects that were stored or found. */
int store_sync(struct store *store, struct err *err);
/*
 * From now on nothing is synced: objects survive the end of the process, but maybe not a power
 * failure.
 */
void store_relax(struct store *store);
bool store_is_relaxed(const struct store *store);

/*
 * Deletes the objects of one of the 256 directories that are older than `age_s` and for which
 * `is_needed` returns 0. Safe while others store objects: an object that is stored or found again
 * gets a new time.
 */
int store_collect(struct store *store, unsigned directory, uint64_t age_s,
		  reckon_needed_fn *is_needed, void *arg, reckon_collected *add,
		  struct err *err);
