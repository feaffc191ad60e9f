/*
 * store.h - content-addressed files below the state directory: artifacts and spooled output.
 *
 * STATE/artifacts/ab/<64 hex digits of SHA-256>, files 0600, directories 0700. A file is written
 * to STATE/artifacts/tmp, made durable, and renamed: a crash leaves a whole file or none. The same
 * content is stored once. Two ids lead to it, both with the first 32 digits: "ar_…" for files,
 * "out_…" for the full text of cut output. Nothing bounds the whole: what one execution can add is
 * bounded by its limits (docs/model-text.md). Only store_collect() removes anything.
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

/* What was stored; `head` holds the first bytes as they were stored, for mime_guess(). */
struct store_object {
	char id[STORE_ID_SIZE]; /* "ar_…" or "out_…" */
	char sha256[STORE_SHA256_SIZE];
	uint64_t size;
	bool was_new; /* the content was not there before */
	size_t head_len;
	unsigned char head[MIME_HEAD_SIZE];
};

/*
 * Makes the directories when missing and sweeps temporary files left by processes that are gone.
 * `state_dir` is absolute. *ret belongs to the caller: store_close().
 */
int store_open(const char *state_dir, struct store **ret, struct err *err);
void store_close(struct store *store); /* NULL is fine */
void store_closep(struct store **store);
#define cleanup_store __attribute__((cleanup(store_closep)))

/*
 * Stores what `fd` gives from its current offset up to `size_max` bytes (or its end). On failure,
 * a full disk included, nothing is left behind.
 */
int store_put_fd(struct store *store, int fd, uint64_t size_max, struct store_object *ret,
		 struct err *err);

/* A stream that is stored while it arrives; past max_bytes append gives ERR_LIMIT. */
struct store_spool;
int store_spool_open(struct store *store, uint64_t max_bytes, struct store_spool **ret,
		     struct err *err);
int store_spool_append(struct store_spool *spool, const void *bytes, size_t len, struct err *err);
uint64_t store_spool_size(const struct store_spool *spool);
/* Gives the handle "out_…" in ret->id and frees the spool, also on failure. */
int store_spool_finish(struct store_spool *spool, struct store_object *ret, struct err *err);
void store_spool_abandon(struct store_spool *spool); /* drops it; NULL is fine */

/* Stores bytes that are whole; `prefix` ("ar" or "out") makes ret->id. */
int store_put_bytes(struct store *store, const char *prefix, const void *bytes, size_t len,
		    struct store_object *ret, struct err *err);

struct store_note {
	char id[STORE_ID_SIZE];
	uint64_t size;
};
/* What was stored since store_forget_made(), in order; NULL past the last one. */
const struct store_note *store_made(const struct store *store, size_t index);
void store_forget_made(struct store *store);

/* Size of an object. ERR_INVALID: not an id; ERR_NOT_FOUND: no such object, or two match. */
int store_stat(struct store *store, const char *id, uint64_t *ret_size, struct err *err);

/* The object opened for reading, and its size; errors as store_stat(). */
int store_open_object(struct store *store, const char *id, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/* Writes `length` bytes from `offset` (0: to the end; less at the end) to target_fd. */
int store_get(struct store *store, const char *id, uint64_t offset, uint64_t length, int target_fd,
	      struct err *err);

/* ---- store_keep.c: what has to be there after a power cut, and what need not be there at all -- */

/* Whether `text` is a SHA-256 in hex. */
bool store_is_sha256(const char *text);

/* The object of this hash, opened for reading; ERR_NOT_FOUND. What it holds is not checked. */
int store_open_sha256(struct store *store, const char *sha256, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/* What its hash does not say is put aside, as SHA256.damaged; whoever has it can store it again. */
void store_set_damaged(struct store *store, const char *sha256);
bool store_has_damaged(struct store *store, const char *sha256);

/* As store_put_*() would have described it; for content that is known to be there. */
int store_describe(struct store *store, const char *sha256, struct store_object *ret,
		   struct err *err);

/*
 * Between begin and commit new objects get no names; commit makes all of them durable, with one
 * syncfs() when they are many, and then names them. A long batch commits by itself meanwhile.
 * When it fails, none of those that were still open is there.
 */
void store_batch_begin(struct store *store);
int store_batch_commit(struct store *store, struct err *err);
void store_batch_abandon(struct store *store); /* without a batch it does nothing */

/* Makes the names of everything that was put, or found there already, durable. */
int store_sync(struct store *store, struct err *err);
/* From now on nothing is synced: a power cut may take it, the death of a process does not. */
void store_relax(struct store *store);
bool store_is_relaxed(const struct store *store);

/*
 * Removes the objects of one of the 256 directories that are older than `age_s` and for which
 * `is_needed` says no. Safe beside anybody who puts: what is put or found again becomes young.
 */
int store_collect(struct store *store, unsigned directory, uint64_t age_s,
		  reckon_needed_fn *is_needed, void *arg, reckon_collected *add,
		  struct err *err);
