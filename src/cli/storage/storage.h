/*
 * storage.h - volumes and snapshots of a daemon, which outlive its sessions.
 *
 *   tables.c    options of reckon volume and reckon snapshot; linked into both programs
 *   volume.c    reckon volume; volumes by name
 *   snapshot.c  reckon snapshot; snapshots by name
 *   begin.c     creates a session with them
 */
#pragma once

#include "cli/remote/remote.h"

struct run;

/* Appends the request path of a volume, named by id or name, and `rest`. */
int storage_volume_path(struct buf *path, const char *name, const char *rest, struct err *err);

/*
 * Gets the volume with this id or name; free *ret with json_read_free(). The remedy of
 * ERR_NOT_FOUND says how to list volumes.
 */
int storage_volume(struct client *client, const char *name, struct json_value **ret,
		   struct err *err);

/*
 * Gets the snapshot with this id, or the newest with this name. *ret is its JSON; free it with
 * json_read_free().
 */
int storage_snapshot(struct client *client, const char *name, struct json_value **ret,
		     struct err *err);

/*
 * Creates a session with the options of `run`, its volumes and its snapshot. *ret is its JSON; free
 * it with json_read_free().
 */
int storage_begin(struct client *client, const struct run *run, const struct remote_body *body,
		  struct json_value **ret, struct err *err);

/* Whether the session has the volumes of `run`, with the same options. */
bool storage_has_volumes(const struct json_value *session, const struct run *run);

/* The functions of reckon-client. */
int storage_volume_create(const struct opt_command *self, int argc, char **argv);
int storage_volume_ls(const struct opt_command *self, int argc, char **argv);
int storage_volume_show(const struct opt_command *self, int argc, char **argv);
int storage_volume_rm(const struct opt_command *self, int argc, char **argv);
int storage_snapshot_create(const struct opt_command *self, int argc, char **argv);
int storage_snapshot_ls(const struct opt_command *self, int argc, char **argv);
int storage_snapshot_show(const struct opt_command *self, int argc, char **argv);
int storage_snapshot_rm(const struct opt_command *self, int argc, char **argv);
