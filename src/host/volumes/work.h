/*
 * work.h - jobs on the content of a volume, in a thread of the pool.
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
	VOLUME_EMPTY, /* also removes its folder */
};

struct volume_work {
	/* input */
	enum volume_op op;
	char id[ID_SIZE];
	struct tenant *tenant;
	char *path; /* "": the volume itself */
	unsigned depth;
	bool has_mode, parents;
	unsigned mode;
	uint64_t room; /* PUT: maximum of bytes */
	/* results */
	struct err err;	   /* code ERR_OK: success */
	enum api_error error; /* if not 0, answered instead of the error's own code */
	struct arena arena;
	struct api_volume_entry entry, *entries;
	size_t count, listed_bytes;
	bool is_cut; /* LIST: there are more entries */
	uint64_t bytes, files; /* MEASURE */
	const char *broken;    /* MEASURE: the exceeded limit, or NULL */
};

struct volume_work *volume_work_new(enum volume_op op, const struct volume *volume,
				    const char *path);
void volume_work_free(struct volume_work *work); /* NULL is fine */
/* Submits the work to the pool, in the tenant's lane. */
void volume_work_submit(struct host *host, struct volume_work *work, uint64_t request, int fd);

void volume_work(struct job *job); /* runs in the thread */

/* ---- walk.c, also in the thread ---- */
/* Describes one entry; `path` is its path for the client. */
int volume_entry_at(struct volume_work *work, int dir, const char *name, const char *path,
		    struct api_volume_entry *ret, struct err *err);
int volume_walk_list(struct volume_work *work, int dir, struct err *err);
int volume_walk_measure(struct volume_work *work, int dir, struct err *err);
