/*
 * volume.c - the volumes of the daemon: loaded, found, made, removed.
 *
 * Runs in:  reckond's loop.
 * Reads:    rows of its own database.
 * Never:    finds a volume for another tenant, or reads the content of one.
 */
#include "host/volumes/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/tree.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/calls/tenants/document.h"
#include "host/host.h"
#include "host/tenants/quota.h"

/* ---- the folder ----------------------------------------------------------------------------- */

static int open_all(const struct host *host)
{
	if (mkdirat(host->place.state_fd, "volumes", 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(host->place.state_fd, "volumes",
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void drop_folder(int all, const char *name)
{
	const int fd = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t removed;
	struct err err;

	if (fd < 0)
		return;
	if (fs_empty(fd, &removed, &err) < 0)
		log_line(LOG_WARN, "content of a volume that was removed is left",
			 "volume=%s why=\"%s\"", name, err.text);
	(void)close(fd);
	(void)unlinkat(all, name, AT_REMOVEDIR);
}

/*
 * Removes contents of removed volumes that a crash left. A content without a row is kept, unless it
 * is empty: a person may have restored an older database.
 */
static void sweep(struct host *host)
{
	const int all = openat(host->place.state_fd, "volumes",
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = all >= 0 ? fdopendir(all) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		if (all >= 0)
			(void)close(all);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, VOLUME_GONE, strlen(VOLUME_GONE)) == 0)
			drop_folder(all, entry->d_name);
		else if (strncmp(entry->d_name, "vol_", 4) == 0 &&
			 volume_by_id(host, entry->d_name) == NULL &&
			 unlinkat(all, entry->d_name, AT_REMOVEDIR) < 0)
			log_line(LOG_WARN, "the database knows no volume of this content",
				 "folder=volumes/%s", entry->d_name);
	}
	(void)closedir(dir);
}

/* ---- loading -------------------------------------------------------------------------------- */

struct loading {
	struct host *host;
	struct tenant *tenant;
};

static void append(struct host *host, struct volume *volume)
{
	struct volume **last = &host->volumes.first;

	while (*last != NULL)
		last = &(*last)->next;
	*last = volume;
}

static int load_one(const char *tenant, const struct db_document *document, void *arg,
		    struct err *err)
{
	const struct loading *loading = arg;
	struct volume *volume = mem_new0(1, sizeof(*volume));

	(void)tenant;
	volume->tenant = loading->tenant;
	(void)snprintf(volume->id, sizeof(volume->id), "%.*s", ID_SIZE - 1, document->id);
	memcpy(volume->created_at, document->created_at, sizeof(volume->created_at));
	if (db_document_text(loading->host->db, &document->value, "$.name", volume->name,
			     sizeof(volume->name), err) < 0) {
		free(volume);
		return (int)err->code;
	}
	append(loading->host, volume);
	return 0;
}

int volumes_load(struct host *host, struct err *err)
{
	for (struct tenant *at = host->tenants.first; at != NULL; at = at->next) {
		struct loading loading = { host, at };
		const struct db_document_list list = { .tenant = at->row.id,
						       .collection = DOCUMENT_VOLUMES,
						       .is_ascending = true,
						       .with_values = true,
						       .limit = VOLUMES_MAX };

		if (!at->is_deleted &&
		    db_document_list(host->db, &list, load_one, &loading, err) < 0)
			return (int)err->code;
	}
	sweep(host);
	return 0;
}

/* ---- finding -------------------------------------------------------------------------------- */

struct volume *volume_by_id(const struct host *host, const char *id)
{
	struct volume *at = host->volumes.first;

	while (at != NULL && strcmp(at->id, id) != 0)
		at = at->next;
	return at;
}

struct volume *volume_find(const struct host *host, const struct tenant *tenant, const char *named)
{
	struct volume *at = host->volumes.first;

	while (at != NULL && (at->tenant != tenant || at->is_removed ||
			      (strcmp(at->id, named) != 0 && strcmp(at->name, named) != 0)))
		at = at->next;
	return at;
}

/* ---- making, removing ----------------------------------------------------------------------- */

struct volume *volume_add(struct host *host, struct tenant *tenant, const char *name,
			  struct err *err)
{
	cleanup_fd int all = open_all(host);
	struct volume *volume;

	if (all < 0) {
		(void)err_sys(err, "make the folder of volumes");
		return NULL;
	}
	volume = mem_new0(1, sizeof(*volume));
	volume->tenant = tenant;
	(void)snprintf(volume->name, sizeof(volume->name), "%s", name);
	if (id_new(volume->id, "vol", err) == 0) {
		if (mkdirat(all, volume->id, 0755) == 0 &&
		    (host->config.durability != 0 || fsync(all) == 0)) {
			volume->is_measured = true; /* it is empty */
			append(host, volume);
			return volume;
		}
		(void)err_sys(err, "make the folder of a volume");
	}
	free(volume);
	return NULL;
}

void volume_free(struct host *host, struct volume *volume)
{
	struct volume **at = &host->volumes.first;

	volume_set_measured(volume, 0, 0);
	while (*at != volume)
		at = &(*at)->next;
	*at = volume->next;
	free(volume);
}

void volume_remove(struct host *host, struct volume *volume)
{
	volume->is_removed = true;
	volume->transaction = host->transactions.current;
}

void volumes_remove_all(struct host *host, const struct tenant *tenant)
{
	for (struct volume *at = host->volumes.first; at != NULL; at = at->next)
		if (at->tenant == tenant && !at->is_removed)
			volume_remove(host, at);
}

/*
 * Renames the folders of volumes whose removal is synced. If this daemon does not empty them, the
 * next start does.
 */
void volumes_settle(struct host *host)
{
	char from[VOLUME_SOURCE_SIZE], to[VOLUME_SOURCE_SIZE];

	for (struct volume *at = host->volumes.first; at != NULL; at = at->next) {
		if (!at->is_removed || at->is_gone || at->transaction > host->transactions.synced)
			continue;
		(void)snprintf(from, sizeof(from), "volumes/%s", at->id);
		(void)snprintf(to, sizeof(to), "volumes/" VOLUME_GONE "%s", at->id);
		(void)renameat(host->place.state_fd, from, host->place.state_fd, to);
		at->is_gone = true;
	}
}

static void transactions_failed(struct host *host, uint64_t first, const struct err *failed)
{
	struct volume *next;

	(void)failed;
	for (struct volume *at = host->volumes.first; at != NULL; at = next) {
		next = at->next;
		if (at->transaction == 0 || at->transaction < first)
			continue;
		at->transaction = 0;
		if (at->is_removed)
			at->is_removed = false; /* its row still exists */
		else
			volume_free(host, at); /* its empty folder is removed at the next start */
	}
}

/* ---- measures ------------------------------------------------------------------------------- */

void volume_set_measured(struct volume *volume, uint64_t bytes, uint64_t entries)
{
	uint64_t *sum = &volume->tenant->volume_bytes;

	*sum -= MIN(*sum, volume->bytes);
	*sum += bytes;
	volume->bytes = bytes;
	volume->entries = entries;
}

uint64_t volume_room(const struct host *host, const struct volume *volume)
{
	const uint64_t most = host->config.max_volume;

	return MIN(volume->bytes < most ? most - volume->bytes : 0,
		   quota_disk_left(host, volume->tenant));
}

const struct module volumes_module = { .transactions_synced = volumes_settle,
				       .transactions_failed = transactions_failed };
