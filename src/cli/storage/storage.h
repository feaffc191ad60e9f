/*
 * storage.h - what outlives sessions of a daemon: volumes and snapshots.
 *
 *   tables.c    options of reckon volume and reckon snapshot; linked into both programs
 *   volume.c    reckon volume; volumes by name
 *   snapshot.c  reckon snapshot; snapshots by name
 *   begin.c     a session that begins with them
 */
#pragma once

#include "cli/remote/remote.h"

struct run;

/* A path of a request: of a volume that is named by its id or its name, and what follows. */
int storage_volume_path(struct buf *path, const char *name, const char *rest, struct err *err);

/* The volume of that id or name, for json_read_free(); ERR_NOT_FOUND says how to see them. */
int storage_volume(struct client *client, const char *name, struct json_value **ret,
		   struct err *err);

/* The snapshot of that id, or the newest of that name. *ret is its JSON, for json_read_free(). */
int storage_snapshot(struct client *client, const char *name, struct json_value **ret,
		     struct err *err);

/*
 * Makes a session as `run` has it, with the volumes and the snapshot that it names. *ret is its
 * JSON, for json_read_free().
 */
int storage_begin(struct client *client, const struct run *run, const struct remote_body *body,
		  struct json_value **ret, struct err *err);

/* Whether the session has the volumes that `run` asks for, as it asks for them. */
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
