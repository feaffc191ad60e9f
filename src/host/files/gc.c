/*
 * gc.c - removes objects from the store that no database row needs.
 *
 * Runs in:  reckond's loop, one directory of the store at a time.
 * Reads:    the database; names and ages in the store.
 * Never:    removes what a database that it could not read may need.
 */
#include "host/files/gc.h"

#include <stdio.h>

#include "base/log.h"
#include "host/host.h"

#define DIRECTORIES 256u
#define DIGITS 32u
#define STEP_NS (10ull * 1000000000u) /* all directories in three quarters of an hour */

struct asking {
	struct host *host;
	struct db *other; /* or NULL */
};

/*
 * Takes an object from a tenant, so that its size no longer counts, and adds a tombstone. 1: the
 * tenant had it.
 */
static int disown(struct host *host, struct tenant *tenant, const char *digits, struct err *err)
{
	uint64_t size = 0;
	int found;

	if (db_savepoint(host->db, err) < 0)
		return (int)err->code;
	found = db_object_disown(host->db, tenant->row.id, digits, &size, err);
	if (found == 1 && db_tombstone_add(host->db, tenant->row.id, digits, err) < 0)
		found = (int)err->code;
	if (found < 0 || db_release(host->db, err) < 0) {
		db_rollback_to(host->db);
		return (int)err->code;
	}
	if (found == 1)
		tenant->row.stored_bytes -=
			size < tenant->row.stored_bytes ? size : tenant->row.stored_bytes;
	return found;
}

static bool disown_all(struct host *host, const char *sha256)
{
	char digits[DIGITS + 1];
	struct err err;

	(void)snprintf(digits, sizeof(digits), "%.*s", (int)DIGITS, sha256);
	for (struct tenant *at = host->tenants.first; at != NULL; at = at->next)
		if (disown(host, at, digits, &err) < 0) {
			log_line(LOG_WARN, "what is collected could not be noted, and stays",
				 "why=\"%s\"", err.text);
			return false;
		}
	return true;
}

/* Called for objects that are old enough; 0: removed at once. */
static int is_needed(const char *sha256, void *arg)
{
	const struct asking *asking = arg;

	if (db_object_is_needed(asking->host->db, sha256) ||
	    (asking->other != NULL && db_object_is_needed(asking->other, sha256)))
		return 1;
	return disown_all(asking->host, sha256) ? 0 : 1;
}

static void step(struct host *host)
{
	struct asking asking = { .host = host };
	reckon_collected found = { 0 };
	reckon_error error;
	struct err err;

	if (db_open_other(host->config.state_dir, !host->config.is_private, &asking.other, &err) <
	    0) {
		log_line(LOG_WARN, "nothing is collected", "why=\"%s\"", err.text);
		return;
	}
	if (reckon_store_collect(host->engine, host->files.gc.directory,
				 host->config.store_keep_ms / 1000, is_needed, &asking, &found,
				 &error) < 0)
		log_line(LOG_WARN, "a directory of the store is not collected", "why=\"%s\"",
			 error.message);
	db_close(asking.other);
	host->files.gc.objects += found.objects;
	host->files.gc.bytes += found.bytes;
	metrics_add(&host->seen.metrics, METRICS_REMOVED,
		    metrics_counter_label(METRICS_REMOVED, "artifact"), found.objects);
}

void gc_tick(struct host *host)
{
	struct gc *gc = &host->files.gc;
	const uint64_t now = clock_mono_ns();

	if (host->config.store_keep_ms == 0 || host->monotonic.has_leapt || now < gc->next_ns)
		return;
	gc->next_ns = now + STEP_NS;
	step(host);
	gc->directory = (gc->directory + 1) % DIRECTORIES;
	if (gc->directory != 0)
		return;
	if (gc->objects > 0)
		log_line(LOG_INFO, "the store was collected", "objects=%llu bytes=%llu",
			 (unsigned long long)gc->objects, (unsigned long long)gc->bytes);
	gc->objects = gc->bytes = 0;
}
