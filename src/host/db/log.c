/*
 * log.c - the log of the database (SQLite's WAL): its length and its checkpoints.
 *
 * Runs in:  reckond's loop; a thread of its own.
 * Reads:    the length of the log.
 * Never:    lets the two threads use one connection.
 *
 * Commits are appended to the log until a checkpoint copies them into the tables; then the log
 * starts over. A checkpoint syncs twice, so a separate thread does it, over a connection that does
 * nothing else. Commits that the loop makes meanwhile stay in the log, so it does not start over
 * while cells come without a pause. When the log grows past LOG_PAGES_MAX, the loop checkpoints the
 * rest itself.
 *
 * Syncing a file that grows also writes the file system's journal; syncing one that is only
 * overwritten does not, and was a third cheaper when measured. So the log gets its full length at
 * the start: SQLite does not take zeros, nor what an earlier round left there, for frames.
 */
#include "host/db/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/inner.h"

#define LOG_PAGES 1000     /* at this length a checkpoint is due */
#define LOG_PAGES_MAX 16000 /* 64 MiB: here the loop checkpoints, and all wait for two syncs */
#define LOG_PAGES_TIGHT 4000 /* the same on a disk with little space */
#define LOG_BYTES (LOG_PAGES * (4096 + 24) + 65536)
#define LOG_FREE_MIN (64ull * LOG_BYTES) /* with less free space the log is not filled in advance */

struct db_log {
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	pthread_t thread;
	sqlite3 *sqlite; /* the thread's connection */
	const char *path;
	int filled; /* descriptor of the log if it was just filled, or -1 */
	int pages_max;
	/* protected by the lock */
	bool is_wanted, is_ending;
	int next; /* number of pages at which the next checkpoint is due */
};

/* The number of pages left in the log decides when the next checkpoint is due. */
static void note(struct db_log *log, int pages, int taken)
{
	(void)pthread_mutex_lock(&log->lock);
	log->next = pages == taken ? LOG_PAGES : pages + LOG_PAGES;
	log->is_wanted = false;
	(void)pthread_mutex_unlock(&log->lock);
	(void)pthread_cond_signal(&log->done);
}

/* Opens the second connection, which has to read something before SQLite finds the log. */
static bool connect_again(struct db_log *log)
{
	if (log->sqlite != NULL)
		return true;
	if (sqlite3_open_v2(log->path, &log->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    NULL) == SQLITE_OK &&
	    sqlite3_exec(log->sqlite, "PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_OK)
		return true;
	(void)sqlite3_close(log->sqlite);
	log->sqlite = NULL;
	return false;
}

static void checkpoint(struct db_log *log)
{
	int pages = 0, taken = 0;

	/* A checkpoint that fails changes nothing, and the next one repeats it. */
	if (!connect_again(log) ||
	    sqlite3_wal_checkpoint_v2(log->sqlite, "main", SQLITE_CHECKPOINT_PASSIVE, &pages,
				      &taken) != SQLITE_OK)
		taken = -1;
	note(log, pages > 0 ? pages : LOG_PAGES, taken);
}

static void *work(void *arg)
{
	struct db_log *log = arg;

	/* In this thread, so that the first answer does not wait for all of it. */
	if (log->filled >= 0) {
		(void)fdatasync(log->filled);
		(void)close(TAKE_FD(log->filled));
	}
	(void)pthread_mutex_lock(&log->lock);
	while (!log->is_ending) {
		if (!log->is_wanted) {
			(void)pthread_cond_wait(&log->more, &log->lock);
			continue;
		}
		(void)pthread_mutex_unlock(&log->lock);
		checkpoint(log);
		(void)pthread_mutex_lock(&log->lock);
	}
	(void)pthread_mutex_unlock(&log->lock);
	(void)sqlite3_close(log->sqlite);
	return NULL;
}

/* Runs after each commit, in the loop. A checkpoint that fails does not fail the commit. */
static int on_commit(void *arg, sqlite3 *sqlite, const char *name, int pages)
{
	struct db_log *log = arg;
	bool is_due, is_ours;

	if (pages < LOG_PAGES)
		return SQLITE_OK;
	(void)pthread_mutex_lock(&log->lock);
	/* Waits if the disk is too slow for the commits. */
	while (pages >= log->pages_max && log->is_wanted)
		(void)pthread_cond_wait(&log->done, &log->lock);
	is_due = pages >= log->next && !log->is_wanted;
	is_ours = is_due && pages >= log->pages_max;
	log->is_wanted |= is_due && !is_ours;
	(void)pthread_mutex_unlock(&log->lock);
	if (is_ours) {
		int taken = 0;

		if (sqlite3_wal_checkpoint_v2(sqlite, name, SQLITE_CHECKPOINT_PASSIVE, &pages,
					      &taken) != SQLITE_OK)
			taken = -1;
		note(log, pages, taken);
	} else if (is_due) {
		(void)pthread_cond_signal(&log->more);
	}
	return SQLITE_OK;
}

static bool has_room(const char *path)
{
	struct statvfs disk;

	return statvfs(path, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= LOG_FREE_MIN;
}

/*
 * Nobody else writes to the log: one daemon has the state directory, and its loop is here. Uses its
 * own descriptor, because SQLite writes at most 128 KiB at once; SQLite has no lock on this file
 * that closing the descriptor would release.
 */
static void fill(struct db_log *log)
{
	cleanup_fd int fd = open(sqlite3_filename_wal(log->path), O_WRONLY | O_CLOEXEC);
	const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	char *zeros;

	if (size < 0 || size >= LOG_BYTES || !has_room(log->path))
		return;
	zeros = mem_new0(1, (size_t)(LOG_BYTES - size));
	/* A short write is good enough. */
	if (pwrite(fd, zeros, (size_t)(LOG_BYTES - size), size) > 0)
		log->filled = TAKE_FD(fd);
	free(zeros);
}

static void log_free(struct db_log *log)
{
	if (log->filled >= 0)
		(void)close(log->filled);
	(void)pthread_cond_destroy(&log->more);
	(void)pthread_cond_destroy(&log->done);
	(void)pthread_mutex_destroy(&log->lock);
	free(log);
}

static bool begin_thread(struct db_log *log)
{
	sigset_t all, before;
	bool has_begun;

	/* The loop's thread alone handles signals. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	has_begun = pthread_create(&log->thread, NULL, work, log) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return has_begun;
}

void db_log_begin(struct db *db)
{
	struct db_log *log = mem_new0(1, sizeof(*log));

	log->path = sqlite3_db_filename(db->sqlite, "main");
	log->next = LOG_PAGES;
	log->pages_max = has_room(log->path) ? LOG_PAGES_MAX : LOG_PAGES_TIGHT;
	(void)pthread_mutex_init(&log->lock, NULL);
	(void)pthread_cond_init(&log->more, NULL);
	(void)pthread_cond_init(&log->done, NULL);
	log->filled = -1;
	if (!db->is_relaxed)
		fill(log);
	if (!begin_thread(log)) {
		log_free(log); /* SQLite continues to checkpoint in the loop */
		return;
	}
	db->log = log;
	(void)sqlite3_wal_hook(db->sqlite, on_commit, log);
}

void db_log_end(struct db *db)
{
	struct db_log *log = db->log;

	if (log == NULL)
		return;
	db->log = NULL;
	(void)sqlite3_wal_hook(db->sqlite, NULL, NULL);
	(void)pthread_mutex_lock(&log->lock);
	log->is_ending = true;
	(void)pthread_mutex_unlock(&log->lock);
	(void)pthread_cond_signal(&log->more);
	(void)pthread_join(log->thread, NULL);
	log_free(log);
}
