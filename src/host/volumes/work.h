/*
 * work.h - what is done with the content of a volume, in a thread of the pool.
 */
#pragma once

#include "api/arena.h"
#include "host/volumes/volume.h"

#define VOLUME_LISTED_MAX 10000u
#define VOLUME_LISTED_BYTES (8u << 20) /* of paths */

struct job;

enum volume_op {
	VOLUME_LIST,
	VOLUME_STAT,
	VOLUME_MKDIR,
	VOLUME_CHANGE,
	VOLUME_DELETE,
	VOLUME_GET,
	VOLUME_PUT,
	VOLUME_MEASURE,
	VOLUME_EMPTY, /* and its folder goes */
};

struct volume_work {
	/* what to do */
	enum volume_op op;
	char id[ID_SIZE];
	struct tenant *tenant;
	char *path; /* "": the volume itself */
	unsigned depth;
	bool has_mode, parents;
	unsigned mode;
	uint64_t room; /* PUT: at most so many bytes */
	/* what came of it */
	struct err err;	   /* code ERR_OK: it was done */
	enum api_error error; /* instead of what the code stands for; 0 */
	struct arena arena;
	struct api_volume_entry entry, *entries;
	size_t count, listed_bytes;
	bool is_cut; /* LIST: there are more */
	uint64_t bytes, files; /* MEASURE */
	const char *broken;    /* MEASURE: which bound, or NULL */
};

struct volume_work *volume_work_new(enum volume_op op, const struct volume *volume,
				    const char *path);
void volume_work_free(struct volume_work *work); /* NULL is fine */
/* For the pool, with the work's tenant in its lane. */
void volume_work_submit(struct host *host, struct volume_work *work, uint64_t request, int fd);

void volume_work(struct job *job); /* in the thread */

/* ---- walk.c, likewise ---- */
/* What one is; `path` as it is to be told. */
int volume_entry_at(struct volume_work *work, int dir, const char *name, const char *path,
		    struct api_volume_entry *ret, struct err *err);
int volume_walk_list(struct volume_work *work, int dir, struct err *err);
int volume_walk_measure(struct volume_work *work, int dir, struct err *err);
