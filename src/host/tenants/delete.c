/*
 * delete.c - deletes a tenant: its row stays, its keys are revoked.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 */
#include <stdio.h>

#include "base/log.h"
#include "host/db/tables/document.h"
#include "host/db/tables/snapshot.h"
#include "host/host.h"
#include "host/volumes/volume.h"

static void delete_row(struct db_tenant *row)
{
	(void)snprintf(row->state, sizeof(row->state), "deleted");
	row->quotas.given = 0;
}

int tenant_delete(struct host *host, struct tenant *tenant, struct err *err)
{
	struct db_tenant row = tenant->row;

	delete_row(&row);
	if (db_tenant_change(host->db, &row, err) < 0)
		return (int)err->code;
	for (struct key *at = key_newest(host); at != NULL; at = at->next)
		if (at->tenant == tenant && db_key_revoke(host->db, at->row.id, err) < 0)
			return (int)err->code;
	if (db_snapshot_drop(host->db, row.id, err) < 0)
		return (int)err->code;
	return db_document_drop(host->db, row.id, err);
}

void tenant_deleted(struct host *host, struct tenant *tenant)
{
	struct key *next_key;

	delete_row(&tenant->row);
	tenant_forget(host, tenant);
	volumes_remove_all(host, tenant);
	for (struct key *at = key_newest(host); at != NULL; at = next_key) {
		next_key = at->next;
		if (at->tenant == tenant)
			key_forget(host, at);
	}
	tenant_apply(host);
	log_line(LOG_INFO, "tenant deleted", "tenant=%s", tenant->row.id);
}
