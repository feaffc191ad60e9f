/*
 * volume.h - volumes: folders of a tenant that outlive sessions and are mounted in several at once.
 *
 *   volumes/vol_…         below the state directory: the content, of the daemon's own user
 *   volumes/gone_vol_…    that of one that was removed, for a moment
 *
 * A volume is a document of a collection that no client can name (calls/tenants/document.h), held in
 * memory as well. What its content takes is measured: a file system gives no bound that an ordinary
 * user could set. Whoever writes more than there may be is ended (tick.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/arena.h"
#include "api/calls.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "reckon.h"

#define VOLUME_NAME_SIZE 64
#define VOLUME_PATH_SIZE 256	  /* of the place where a box has it */
#define VOLUME_MOUNTS_MAX 4u	  /* of a session, as in the field table */
#define VOLUMES_MAX 100u	  /* of a tenant */
#define VOLUME_ENTRIES_MAX 200000u /* in one */
#define VOLUME_DEPTH_MAX 64u	  /* folders in folders */
#define VOLUME_SOURCE_SIZE 96
#define VOLUME_GONE "gone_"

struct host;
struct job;
struct request;
struct session;
struct tenant;

struct volume {
	struct volume *next; /* of the host, the oldest first */
	struct tenant *tenant;
	char id[ID_SIZE], name[VOLUME_NAME_SIZE], created_at[CLOCK_RFC3339_SIZE];
	uint64_t bytes, entries; /* as last measured */
	bool is_measured, is_measuring;
	bool is_changed;  /* since it was measured, by a request */
	bool is_written;  /* a session that runs can write to it; of the last look */
	bool is_removed;  /* no request finds it; its content goes when its row has */
	bool is_gone;	  /* that has: the folder has another name, and is to be emptied */
	uint64_t transaction; /* that has its row, or removes it */
	uint64_t measured_ns, took_ns;
};

/* Of all tenants. */
struct volumes {
	struct volume *first;
	uint64_t looked_ns; /* when it was last asked who writes to them */
};

/* ---- volume.c, in the loop ---- */
/* All that there are, before anybody can ask. Content that no row names stays, and is told of. */
int volumes_load(struct host *host, struct err *err);
/* By id or name; NULL: the tenant has none. */
struct volume *volume_find(const struct host *host, const struct tenant *tenant,
			   const char *named);
struct volume *volume_by_id(const struct host *host, const char *id);
/* With its folder, and not in the database; NULL: `err` says why. */
struct volume *volume_add(struct host *host, struct tenant *tenant, const char *name,
			  struct err *err);
void volume_free(struct host *host, struct volume *volume); /* not its folder */
/* From now on nobody finds it. Its content goes when the transaction is on the disk (tick.c). */
void volume_remove(struct host *host, struct volume *volume);
/* What was removed, and is so on the disk, is gone. */
void volumes_settle(struct host *host);
void volumes_remove_all(struct host *host, const struct tenant *tenant);
/* More bytes that it may get: of its own bound and of its tenant's quota. */
uint64_t volume_room(const struct host *host, const struct volume *volume);
void volume_set_measured(struct volume *volume, uint64_t bytes, uint64_t entries);

/* ---- mounts.c ---- */
/* One of a session, as its row has it: a line for each. */
struct volume_mount {
	char id[ID_SIZE], path[VOLUME_PATH_SIZE];
	bool is_read_only;
};
/* The next one of *text; false: that was all. */
bool volume_mount_next(const char **text, struct volume_mount *ret);
void volume_mounts_show(struct arena *arena, const struct session *session,
			struct api_session *ret);
/* Live sessions that have it; those that are closing do not count. */
size_t volume_users(const struct host *host, const struct volume *volume);
/* In a thread of the pool: what reckon_session_open() is to mount. False: job->error says why. */
struct volume_sources {
	char targets[VOLUME_MOUNTS_MAX][VOLUME_PATH_SIZE];
	char sources[VOLUME_MOUNTS_MAX][VOLUME_SOURCE_SIZE];
};
bool volume_mounts_open(struct job *job, struct volume_sources *space, reckon_mount *to,
			size_t *count);

/* ---- calls/tenants/volume_mounts.c ---- */
/* What a session is to have, as text (NULL: nothing); false when it was answered with an error. */
bool volume_mounts_take(struct host *host, const struct request *req, const struct api_list *given,
			char **ret);

/* ---- tick.c ---- */
void volumes_tick(struct host *host);
void volume_measured(struct host *host, const struct job *job); /* a MEASURE came back */
