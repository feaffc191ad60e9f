/*
 * make.c - makes a snapshot of a state directory while its daemon runs, and verifies snapshots.
 *
 * Runs in:  a separate reckond, for `reckon backup`.
 * Reads:    STATE/reckond.db, STATE/artifacts, STATE/audit.
 * Never:    writes there, or renames a snapshot to its final name before all of it is synced.
 *
 * The daemon syncs an object before the transaction that names it, and keeps unnamed objects for a
 * while. So the backup copies the objects first, which takes long; then the database, at one
 * moment; then objects that the copy names and that were added meanwhile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/backup/backup.h"
#include "host/db/copy.h"
#include "host/db/db.h"
#include "host/db/tables/persist.h"

struct making {
	struct db *db;	 /* the database whose objects are copied */
	int from_fd, to_fd;
	FILE *list;	 /* NULL in the first pass */
	struct backup_counts *counts;
};

static int open_dir(int at, const char *name, bool make, int *ret, struct err *err)
{
	if (make && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %.200s", name);
	*ret = openat(at, name,
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));
	return *ret < 0 ? err_sys(err, "open %.200s", name) : 0;
}

static void tell_wrong(struct backup_counts *counts, const char *what)
{
	counts->wrong++;
	(void)fprintf(stderr, "reckon: backup: %s\n", what);
}

static int take_object(const char *sha256, void *arg, struct err *err)
{
	struct making *making = arg;
	uint64_t size;
	int code;

	if (!db_object_is_needed(making->db, sha256))
		return 0;
	code = object_copy(making->from_fd, making->to_fd, sha256, &size, err);
	if (code == ERR_NOT_FOUND)
		return 0; /* the daemon has removed it */
	if (code == ERR_LOST) {
		/* Reported only in the pass that writes the list. */
		if (making->list != NULL)
			tell_wrong(making->counts, err->text);
		return 0;
	}
	if (code < 0)
		return code;
	if (code == 0) {
		making->counts->new_objects++;
		making->counts->new_bytes += size;
	}
	if (making->list == NULL)
		return 0;
	making->counts->objects++;
	making->counts->bytes += size;
	return fprintf(making->list, "%s %" PRIu64 "\n", sha256, size) < 0
		       ? err_sys(err, "write a list")
		       : 0;
}

static int check_content(const char *sha256, void *arg, struct err *err)
{
	struct making *making = arg;
	char text[128];
	uint64_t size;

	(void)err;
	if (!object_is_there(making->to_fd, sha256, &size)) {
		(void)snprintf(text, sizeof(text), "object %.16s… is missing, a file is made of it",
			       sha256);
		tell_wrong(making->counts, text);
	}
	return 0;
}

/* ---- sealed files of the audit -------------------------------------------------------------- */

static int take_segments(int state_fd, int target_fd, FILE *list, struct err *err)
{
	cleanup_fd int from =
		openat(state_fd, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_fd int to = -1;
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int code;

	if (open_dir(target_fd, "audit", true, &to, err) < 0)
		return (int)err->code;
	if (from < 0) /* no segment exists yet */
		return 0;
	dir = fdopendir(fcntl(from, F_DUPFD_CLOEXEC, 0));
	if (dir == NULL)
		return err_sys(err, "open the audit");
	code = 0;
	while (code == 0 && (entry = readdir(dir)) != NULL) {
		const size_t len = strlen(entry->d_name);

		if (len < 5 || strcmp(entry->d_name + len - 4, ".seg") != 0)
			continue;
		code = plain_copy(from, entry->d_name, to, entry->d_name, err);
		if (code == 0 && (fstatat(to, entry->d_name, &st, 0) < 0 ||
				  fprintf(list, "%s %" PRIu64 "\n", entry->d_name,
					  (uint64_t)st.st_size) < 0))
			code = err_sys(err, "note %.100s", entry->d_name);
	}
	(void)closedir(dir);
	return code;
}

/* ---- the snapshot --------------------------------------------------------------------------- */

static FILE *new_list(int fd, const char *name)
{
	const int list =
		openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	return list >= 0 ? fdopen(list, "w") : NULL;
}

static int end_list(FILE *list, int code, struct err *err)
{
	const int synced = fflush(list) == 0 && fsync(fileno(list)) == 0;

	return (fclose(list) != 0 || !synced) && code == 0 ? err_sys(err, "write a list") : code;
}

/* Completes TARGET/snapshots/ID.part, which is open as `part_fd`. */
static int fill(struct making *making, int state_fd, int target_fd, int part_fd, struct err *err)
{
	struct db *copy = NULL;
	FILE *segments;
	int code;

	/*
	 * Copies segments after the database: those that the copy counts as moved exist by then.
	 * Later ones do no harm, because the copy still has their rows.
	 */
	if (db_open_existing(part_fd, ".", &copy, err) < 0)
		return (int)err->code;
	making->db = copy;
	making->list = new_list(part_fd, "objects");
	code = making->list == NULL ? err_sys(err, "make a list") : db_check_whole(copy, err);
	if (code == 0)
		code = objects_each(making->from_fd, take_object, making, err);
	if (code == 0)
		code = db_each_content(copy, check_content, making, err);
	if (making->list != NULL)
		code = end_list(making->list, code, err);
	db_close(copy);
	if (code < 0)
		return code;
	segments = new_list(part_fd, "segments");
	if (segments == NULL)
		return err_sys(err, "make a list");
	return end_list(segments, take_segments(state_fd, target_fd, segments, err), err);
}

static int make_part(struct making *making, int state_fd, int target_fd, const char *id,
		     struct err *err)
{
	cleanup_fd int snapshots = -1, part = -1;
	char path[64], name[40];

	(void)snprintf(name, sizeof(name), "%s.part", id);
	if (open_dir(target_fd, "snapshots", true, &snapshots, err) < 0 ||
	    open_dir(snapshots, name, true, &part, err) < 0)
		return (int)err->code;
	/* Uses relative names, which SQLite resolves in the current directory. */
	if (fchdir(part) < 0)
		return err_sys(err, "open the snapshot");
	if (db_copy(making->db, "reckond.db", err) < 0 ||
	    fill(making, state_fd, target_fd, part, err) < 0 || objects_sync(target_fd, err) < 0)
		return (int)err->code;
	(void)snprintf(path, sizeof(path), "%s", id);
	if (renameat(snapshots, name, snapshots, path) < 0 || fsync(snapshots) < 0)
		return err_sys(err, "name the snapshot");
	return 0;
}

static int open_target(const char *path, bool make, int *ret, int *ret_objects, struct err *err)
{
	if (open_dir(AT_FDCWD, path, make, ret, err) < 0)
		return (int)err->code;
	if (flock(*ret, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, ERR_DENIED, "another backup uses %.200s", path);
	return open_dir(*ret, "objects", make, ret_objects, err);
}

/* The current time, or the next second without a snapshot. */
static void choose_id(int target_fd, char ret[BACKUP_ID_SIZE])
{
	time_t now = time(NULL);
	char path[64];
	struct tm tm;

	do {
		(void)strftime(ret, BACKUP_ID_SIZE, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
		(void)snprintf(path, sizeof(path), "snapshots/%s", ret);
		now++;
	} while (faccessat(target_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

int backup_make(const struct backup_options *options, struct backup_counts *ret, struct err *err)
{
	cleanup_fd int state = -1, artifacts = -1, target = -1, objects = -1;
	struct making making = { .counts = ret };
	char id[BACKUP_ID_SIZE];
	struct db *db = NULL;
	int code;

	if (open_dir(AT_FDCWD, options->state, false, &state, err) < 0 ||
	    open_dir(state, "artifacts", false, &artifacts, err) < 0 ||
	    open_target(options->target, true, &target, &objects, err) < 0 ||
	    db_open_existing(state, options->state, &db, err) < 0)
		return (int)err->code;
	choose_id(target, id);
	making.db = db;
	making.from_fd = artifacts;
	making.to_fd = objects;
	code = objects_each(artifacts, take_object, &making, err);
	if (code == 0)
		code = make_part(&making, state, target, id, err);
	db_close(db);
	if (code == 0 && options->keep > 0)
		code = snapshot_prune(target, objects, options->keep, err);
	if (code == 0)
		(void)printf("reckon: snapshot %s\n", id);
	return code;
}

/* ---- verify --------------------------------------------------------------------------------- */

static int verify_object(const char *sha256, uint64_t size, void *arg, struct err *err)
{
	struct making *making = arg;

	making->counts->objects++;
	making->counts->bytes += size;
	if (object_verify(making->to_fd, sha256, size, err) < 0)
		tell_wrong(making->counts, err->text);
	return 0;
}

int backup_verify(const struct backup_options *options, struct backup_counts *ret, struct err *err)
{
	cleanup_fd int target = -1, objects = -1, snapshot = -1;
	struct making making = { .counts = ret };
	char id[BACKUP_ID_SIZE];
	struct db *db = NULL;
	int code;

	if (open_target(options->target, false, &target, &objects, err) < 0 ||
	    snapshot_open(target, options->snapshot, id, &snapshot, err) < 0)
		return (int)err->code;
	making.to_fd = objects;
	if (fchdir(snapshot) < 0)
		return err_sys(err, "open the snapshot");
	if (db_open_existing(snapshot, ".", &db, err) < 0)
		return (int)err->code;
	if (db_check_whole(db, err) < 0)
		tell_wrong(ret, err->text);
	code = snapshot_each(snapshot, "objects", verify_object, &making, err);
	if (code == 0)
		code = db_each_content(db, check_content, &making, err);
	db_close(db);
	if (code == 0)
		(void)printf("reckon: snapshot %s\n", id);
	return code;
}
