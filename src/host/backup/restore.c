/*
 * restore.c - restores a snapshot: all of it where no daemon runs, only its objects where one does.
 *
 * Runs in:  a separate reckond, for `reckon restore`.
 * Reads:    a backup; it hashes each byte of the objects that it copies.
 * Never:    replaces a database, or an existing object.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "host/audit/audit.h"
#include "host/backup/backup.h"
#include "host/db/copy.h"
#include "host/db/db.h"
#include "host/host.h"

struct restoring {
	int from_fd, to_fd;
	struct backup_counts *counts;
};

static int put_object(const char *sha256, uint64_t size, void *arg, struct err *err)
{
	struct restoring *restoring = arg;
	uint64_t found;
	const int code = object_copy(restoring->from_fd, restoring->to_fd, sha256, &found, err);

	restoring->counts->objects++;
	restoring->counts->bytes += size;
	if (code == ERR_NOT_FOUND || code == ERR_LOST) {
		restoring->counts->wrong++;
		(void)fprintf(stderr, "reckon: restore: %s in the backup\n", err->text);
		return 0;
	}
	if (code == 0) {
		restoring->counts->new_objects++;
		restoring->counts->new_bytes += found;
	}
	return code < 0 ? code : 0;
}

static int put_segment(const char *name, uint64_t size, void *arg, struct err *err)
{
	const struct restoring *restoring = arg;

	(void)size;
	return plain_copy(restoring->from_fd, name, restoring->to_fd, name, err);
}

static int put_segments(int target_fd, int snapshot_fd, int state_fd, struct err *err)
{
	cleanup_fd int from = openat(target_fd, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int to = -1;
	struct restoring restoring;

	if (from < 0)
		return err_sys(err, "open the audit of the backup");
	if (mkdirat(state_fd, "audit", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make the audit");
	to = openat(state_fd, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	restoring = (struct restoring){ .from_fd = from, .to_fd = to };
	return to < 0 ? err_sys(err, "open the audit")
		      : snapshot_each(snapshot_fd, "segments", put_segment, &restoring, err);
}

/* Writes audit.head for the restored database. */
static int put_head(int state_fd, struct db *db, struct err *err)
{
	unsigned char secret[32];
	struct audit_head head;
	const int found = db_secret_find(db, DB_SECRET_KEY, secret, err);
	int code;

	if (found <= 0)
		return found;
	code = db_audit_head(db, &head, err) < 0 ? (int)err->code
						 : audit_head_write(state_fd, &head, secret, err);
	explicit_bzero(secret, sizeof(secret));
	return code;
}

/* The last step, which completes the state directory. */
static int put_database(const struct backup_options *options, int snapshot_fd, int state_fd,
			struct err *err)
{
	struct db *db = NULL;
	int code;

	if (plain_copy(snapshot_fd, "reckond.db", state_fd, "reckond.db.new", err) < 0)
		return (int)err->code;
	if (renameat2(state_fd, "reckond.db.new", state_fd, "reckond.db", RENAME_NOREPLACE) < 0)
		return err_sys(err, "name the database");
	if (db_open_existing(state_fd, options->state, &db, err) < 0)
		return (int)err->code;
	code = db_check_whole(db, err);
	if (code == 0)
		code = put_head(state_fd, db, err);
	db_close(db);
	if (code == 0 && fsync(state_fd) < 0)
		code = err_sys(err, "sync");
	return code;
}

/* If a daemon has the lock, only objects may be restored. */
static int check_state(const struct backup_options *options, int state_fd, int *ret_lock,
		       struct err *err)
{
	if (options->objects_only)
		return 0;
	*ret_lock =
		openat(state_fd, "reckond.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_lock < 0)
		return err_sys(err, "open reckond.lock");
	if (flock(*ret_lock, LOCK_EX | LOCK_NB) < 0) {
		(void)err_set(err, ERR_DENIED, "a daemon uses %.200s", options->state);
		return err_remedy(err,
				  "stop it, restore into another --state, or with --objects only "
				  "what its store lacks");
	}
	if (faccessat(state_fd, "reckond.db", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)err_set(err, ERR_DENIED, "%.200s holds a database already", options->state);
		return err_remedy(err,
				  "move reckond.db, -wal and -shm away, or choose another --state");
	}
	return 0;
}

int backup_restore(const struct backup_options *options, struct backup_counts *ret,
		   struct err *err)
{
	cleanup_fd int state = -1, artifacts = -1, target = -1, objects = -1, snapshot = -1,
		       lock = -1;
	struct restoring restoring = { .counts = ret };
	char id[BACKUP_ID_SIZE];

	target = open(options->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target < 0)
		return err_sys(err, "open %.200s", options->target);
	objects = openat(target, "objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (objects < 0)
		return err_sys(err, "open %.200s/objects", options->target);
	if (snapshot_open(target, options->snapshot, id, &snapshot, err) < 0 ||
	    fs_mkdir_parents(options->state, 0700, err) < 0)
		return (int)err->code;
	state = open(options->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0)
		return err_sys(err, "open %.200s", options->state);
	if (check_state(options, state, &lock, err) < 0)
		return (int)err->code;
	if (mkdirat(state, "artifacts", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make artifacts");
	artifacts = openat(state, "artifacts", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (artifacts < 0)
		return err_sys(err, "open artifacts");
	restoring.from_fd = objects;
	restoring.to_fd = artifacts;
	if (snapshot_each(snapshot, "objects", put_object, &restoring, err) < 0 ||
	    objects_sync(artifacts, err) < 0)
		return (int)err->code;
	if (!options->objects_only && (put_segments(target, snapshot, state, err) < 0 ||
				       put_database(options, snapshot, state, err) < 0))
		return (int)err->code;
	(void)printf("reckon: snapshot %s\n", id);
	return 0;
}
