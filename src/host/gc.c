/*
 * gc.c - what nobody needs any more leaves the store.
 *
 * Runs in:  reckond's loop, one directory of the store at a time.
 * Reads:    the database; names and ages in the store.
 * Never:    removes what a database that it could not read may need.
 */
#include "host/gc.h"

#include <string.h>

#include "base/log.h"
#include "host/host.h"

#define DIRECTORIES 256u

struct asking {
	struct host *host;
	struct db *other; /* or NULL */
};

static int is_needed(const char *sha256, void *arg)
{
	const struct asking *asking = arg;

	return db_object_is_needed(asking->host->db, sha256) ||
	       (asking->other != NULL && db_object_is_needed(asking->other, sha256));
}

bool gc_step(struct host *host, uint64_t age_s, struct gc_report *add)
{
	struct asking asking = { .host = host };
	reckon_collected found = { 0 };
	reckon_error error;
	struct err err;

	if (db_open_other(host->config.state_dir, !host->config.is_private, &asking.other, &err) <
	    0) {
		log_line(LOG_WARN, "nothing is collected", "why=\"%s\"", err.text);
		return true;
	}
	if (reckon_store_collect(host->engine, host->next_directory, age_s, is_needed, &asking,
				 &found, &error) < 0)
		log_line(LOG_WARN, "a directory of the store is not collected", "why=\"%s\"",
			 error.message);
	db_close(asking.other);
	add->objects += found.objects;
	add->bytes += found.bytes;
	add->kept += found.kept;
	add->kept_bytes += found.kept_bytes;
	add->directories++;
	host->next_directory = (host->next_directory + 1) % DIRECTORIES;
	return host->next_directory == 0;
}

int gc_forget_execution(struct host *host, const char *execution, struct err *err)
{
	return db_objects_drop(host->db, execution, err);
}
