/*
 * snapshot_held.c - snapshots that do not outlive the request that made them.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    forgets one: a removal that fails is tried again, and the next run finds the row.
 */
#include "host/calls/tenants/snapshot_held.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/host.h"

#define OVER 0u /* as the number of a request: there is none any more */

struct held_snapshot {
	struct held_snapshot *next;
	uint64_t request;
	char id[ID_SIZE], tenant[ID_SIZE];
};

static void add(struct host *host, const char *id, const char *tenant, uint64_t request)
{
	struct held_snapshot *held = mem_new0(1, sizeof(*held));

	memcpy(held->id, id, sizeof(held->id));
	memcpy(held->tenant, tenant, sizeof(held->tenant));
	held->request = request;
	held->next = host->held_snapshots;
	host->held_snapshots = held;
}

/* One that is removed. */
static void forget(struct host *host, const char *id)
{
	struct held_snapshot **at = &host->held_snapshots;

	while (*at != NULL && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (*at != NULL) {
		struct held_snapshot *held = *at;

		*at = held->next;
		free(held);
	}
}

void snapshot_hold(struct host *host, const struct db_snapshot *row, uint64_t request)
{
	add(host, row->id, row->tenant, request);
}

void snapshot_let_go(struct host *host, uint64_t first, uint64_t last)
{
	for (struct held_snapshot *at = host->held_snapshots; at != NULL; at = at->next)
		if (at->request >= first && at->request <= last)
			at->request = OVER;
}

int snapshot_remove(struct host *host, struct tenant *tenant, const struct db_snapshot *row,
		    struct err *err)
{
	uint64_t *stored = &tenant->row.stored_bytes;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_snapshot_remove(host->db, row->id, err);
	if (code >= 0)
		code = audit_add(host, "snapshot.delete", row->id, "ok", err, "%s", "");
	code = audit_end(host, code, err);
	if (code < 0)
		return code;
	*stored -= row->size < *stored ? row->size : *stored;
	forget(host, row->id);
	return 0;
}

/* Its row may be gone: with its tenant, or with the transaction that was to keep it. */
static void remove_over(struct host *host, const char *id, const char *owner)
{
	struct tenant *tenant = tenant_find(host, owner);
	cleanup_snapshot struct db_snapshot row;
	struct err err;
	bool is_own;
	int found;

	db_snapshot_init(&row);
	found = tenant != NULL ? db_snapshot_find(host->db, owner, id, &row, &err) : 0;
	if (found == 0)
		forget(host, id);
	if (found <= 0 || transaction_join(host, &is_own, &err) < 0)
		return;
	if (snapshot_remove(host, tenant, &row, &err) < 0)
		log_line(LOG_ERROR, "a snapshot cannot be removed", "snapshot=%s why=\"%s\"", id,
			 err.text);
	transaction_leave(host, is_own, 0);
}

void snapshot_tick(struct host *host)
{
	struct held_snapshot *next;

	for (struct held_snapshot *at = host->held_snapshots; at != NULL; at = next) {
		char id[ID_SIZE], tenant[ID_SIZE];

		next = at->next;
		if (at->request != OVER)
			continue;
		memcpy(id, at->id, sizeof(id));
		memcpy(tenant, at->tenant, sizeof(tenant));
		remove_over(host, id, tenant);
	}
}

static void load_one(const char *id, const char *tenant, void *arg)
{
	add(arg, id, tenant, OVER);
}

int snapshot_load(struct host *host, struct err *err)
{
	return db_snapshot_held(host->db, load_one, host, err);
}
