/*
 * volume.h - volumes: folders of a tenant that outlive sessions and can be mounted in several at
 * once.
 *
 *   volumes/vol_…         below the state directory: the content, owned by the daemon's user
 *   volumes/gone_vol_…    the content of a removed volume, until it is emptied
 *
 * A volume is a document in a collection that no client can name (calls/tenants/document.h), and is
 * also held in memory. Its size is measured, because an ordinary user cannot set a limit on a
 * folder. Sessions that write more than allowed are ended (tick.c).
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
#define VOLUME_PATH_SIZE 256	  /* of the mount point in a box */
#define VOLUME_MOUNTS_MAX 4u	  /* per session, as in the field table */
#define VOLUMES_MAX 100u	  /* per tenant */
#define VOLUME_ENTRIES_MAX 200000u /* per volume */
#define VOLUME_DEPTH_MAX 64u	  /* of nested folders */
#define VOLUME_SOURCE_SIZE 96
#define VOLUME_GONE "gone_"

struct host;
struct job;
struct request;
struct session;
struct tenant;

struct volume {
	struct volume *next; /* in the list of the host, oldest first */
	struct tenant *tenant;
	char id[ID_SIZE], name[VOLUME_NAME_SIZE], created_at[CLOCK_RFC3339_SIZE];
	uint64_t bytes, entries; /* as last measured */
	bool is_measured, is_measuring;
	bool is_changed;  /* by a request, since the last measurement */
	bool is_written;  /* a running session can write to it, when last checked */
	bool is_removed;  /* requests do not find it; its content is removed after its row */
	bool is_gone;	  /* the removal is synced and the folder renamed; now it is emptied */
	uint64_t transaction; /* the one that adds or removes its row */
	uint64_t measured_ns, took_ns;
};

/* The volumes of all tenants. */
struct volumes {
	struct volume *first;
	uint64_t looked_ns; /* when is_written was last set */
};

/* ---- volume.c, in the loop ---- */
/* Call before the first request. Keeps and logs contents without a row. */
int volumes_load(struct host *host, struct err *err);
/* By id or name; NULL: the tenant has none. */
struct volume *volume_find(const struct host *host, const struct tenant *tenant,
			   const char *named);
struct volume *volume_by_id(const struct host *host, const char *id);
/* Adds a volume with its folder, but not its row; NULL: see `err`. */
struct volume *volume_add(struct host *host, struct tenant *tenant, const char *name,
			  struct err *err);
void volume_free(struct host *host, struct volume *volume); /* not its folder */
/*
 * Hides it from requests. Its content is removed when the current transaction is synced (tick.c).
 */
void volume_remove(struct host *host, struct volume *volume);
/* Renames folders of volumes whose removal is synced. */
void volumes_settle(struct host *host);
void volumes_remove_all(struct host *host, const struct tenant *tenant);
/* Free bytes: within the volume's limit and the tenant's quota. */
uint64_t volume_room(const struct host *host, const struct volume *volume);
void volume_set_measured(struct volume *volume, uint64_t bytes, uint64_t entries);

/* ---- mounts.c ---- */
/* One mount of a session, a line in its row. */
struct volume_mount {
	char id[ID_SIZE], path[VOLUME_PATH_SIZE];
	bool is_read_only;
};
/* Reads the next mount from *text; false: there are no more. */
bool volume_mount_next(const char **text, struct volume_mount *ret);
void volume_mounts_show(struct arena *arena, const struct session *session,
			struct api_session *ret);
/* Number of live sessions that mount the volume; closing ones do not count. */
size_t volume_users(const struct host *host, const struct volume *volume);
/*
 * Runs in a thread of the pool: adds the mounts for reckon_session_open(). False: see job->error.
 */
struct volume_sources {
	char targets[VOLUME_MOUNTS_MAX][VOLUME_PATH_SIZE];
	char sources[VOLUME_MOUNTS_MAX][VOLUME_SOURCE_SIZE];
};
bool volume_mounts_open(struct job *job, struct volume_sources *space, reckon_mount *to,
			size_t *count);

/* ---- calls/tenants/volume_mounts.c ---- */
/* Encodes the mounts that a request names (NULL: none). False: answered with an error. */
bool volume_mounts_take(struct host *host, const struct request *req, const struct api_list *given,
			char **ret);

/* ---- tick.c ---- */
void volumes_tick(struct host *host);
void volume_measured(struct host *host, const struct job *job); /* a MEASURE has returned */
