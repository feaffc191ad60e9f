/*
 * answer_tenant.c - create, list, show, change and remove tenants.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests of keys with the scope admin.
 * Never:    leaves the daemon without a key that could mend it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/host.h"

#define LIST_DEFAULT 100u

static int pack_tenant(struct buf *payload, const struct tenant *tenant, struct err *err)
{
	const struct db_tenant *row = &tenant->row;
	const struct front_usage now = { .executions = tenant->executions,
					 .disk_bytes = tenant->workspaces + row->kept_bytes,
					 .sessions = tenant->sessions };

	if (front_pack_text(payload, FRONT_TAG_TENANT, row->id, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_NAME, row->name, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_STATUS, row->state, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_CREATED_AT, row->created_at, err) < 0 ||
	    front_pack(payload, FRONT_TAG_QUOTAS, &row->quotas, sizeof(row->quotas), err) < 0)
		return (int)err->code;
	return front_pack(payload, FRONT_TAG_USAGE, &now, sizeof(now), err);
}

static void reply_tenant(struct host *host, uint64_t request, const struct tenant *tenant)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct err err;

	if (pack_tenant(&payload, tenant, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, -1);
}

static struct tenant *named(struct host *host, const struct asked *asked)
{
	char id[ID_SIZE] = "", message[96];
	struct tenant *tenant;

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	tenant = tenant_find(host, id);
	(void)snprintf(message, sizeof(message), "there is no tenant %s", id);
	if (tenant == NULL)
		peer_fail(host, asked->id, FRONT_ERR_TENANT_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/tenants", 0);
	return tenant;
}

static bool refuse_last(struct host *host, const struct asked *asked)
{
	peer_fail(host, asked->id, FRONT_ERR_LAST_ADMIN_KEY,
		  "no admin key would be left: the last one is of this tenant", "",
		  "create an admin key in another tenant first", 0);
	return false;
}

/* The fields of a request over those that `row` has; false when it was answered. */
static bool take_fields(struct host *host, const struct asked *asked, struct db_tenant *row)
{
	const struct kernel_item *item = front_find(asked->items, asked->count, FRONT_TAG_QUOTAS);
	const struct tenant *other;
	struct front_quotas quotas = { 0 };

	(void)front_text(asked->items, asked->count, FRONT_TAG_NAME, row->name, sizeof(row->name));
	other = tenant_named(host, row->name);
	if (other != NULL && strcmp(other->row.id, row->id) != 0) {
		peer_fail(host, asked->id, FRONT_ERR_NAME_TAKEN,
			  "there is a tenant of this name already", "", "choose another name", 0);
		return false;
	}
	if (item != NULL)
		memcpy(&quotas, item->data, sizeof(quotas));
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++) {
		const uint64_t bit = (uint64_t)1 << i;

		if ((quotas.given & bit) == 0)
			continue;
		/* Named with nothing: as everybody's again. The front checked the rest. */
		row->quotas.given &= ~bit;
		row->quotas.value[i] = 0;
		if (quotas.value[i] == 0 || quotas.value[i] > front_quota_kinds[i].max)
			continue;
		row->quotas.given |= bit;
		row->quotas.value[i] = quotas.value[i];
	}
	return true;
}

static const struct tenant *add_audited(struct host *host, const struct db_tenant *row,
					struct err *err)
{
	struct tenant *tenant;
	int code;

	if (audit_begin(host, err) < 0)
		return NULL;
	tenant = tenant_add(host, row, err);
	code = tenant == NULL ? (int)err->code
			      : audit_add(host, "tenant.create", tenant->row.id, "ok", err,
					  "name=%s", tenant->row.name);
	if (audit_commit(host, code, err) >= 0)
		return tenant;
	if (tenant != NULL)
		tenant_forget(host, tenant);
	return NULL;
}

static int change_audited(struct host *host, struct tenant *tenant, const struct db_tenant *row,
			  struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_tenant_change(host->db, row, err);
	if (code >= 0)
		code = audit_add(host, "tenant.change", row->id, "ok", err, "name=%s state=%s",
				 row->name, row->state);
	if (audit_commit(host, code, err) < 0)
		return (int)err->code;
	tenant_changed(host, tenant, row);
	return 0;
}

static int delete_audited(struct host *host, struct tenant *tenant, struct err *err)
{
	char id[ID_SIZE];
	int code;

	(void)snprintf(id, sizeof(id), "%s", tenant->row.id);
	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = tenant_delete(host, tenant, err);
	if (code >= 0)
		code = audit_add(host, "tenant.delete", id, "ok", err, "%s", "");
	if (audit_commit(host, code, err) < 0)
		return (int)err->code;
	tenant_deleted(host, tenant);
	return 0;
}

void answer_tenant_create(struct host *host, const struct asked *asked)
{
	struct db_tenant row = { .id = "" };
	const struct tenant *tenant;
	struct err err;

	if (!take_fields(host, asked, &row))
		return;
	tenant = add_audited(host, &row, &err);
	if (tenant == NULL) {
		peer_fail(host, asked->id,
			  err.code == ERR_LIMIT ? FRONT_ERR_LIMIT : FRONT_ERR_INTERNAL, err.text, "",
			  err.remedy, 0);
		return;
	}
	tenant_apply(host);
	reply_tenant(host, asked->id, tenant);
}

static void list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	uint64_t limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, LIST_DEFAULT);
	char before[ID_SIZE];
	const bool has_before = front_text(asked->items, asked->count, FRONT_TAG_BEFORE, before,
					   sizeof(before));
	struct err err;

	if (limit > FRONT_LIST_MAX)
		limit = FRONT_LIST_MAX;
	for (const struct tenant *at = host->tenants; at != NULL && limit > 0; at = at->next) {
		if (at->is_deleted || (has_before && strcmp(at->row.id, before) >= 0))
			continue;
		if (pack_tenant(&payload, at, &err) < 0) {
			peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", "", 0);
			return;
		}
		limit--;
	}
	peer_reply(host, asked->id, &payload, -1);
}

void answer_tenant_list(struct host *host, const struct asked *asked)
{
	const struct tenant *tenant;

	if (front_find(asked->items, asked->count, FRONT_TAG_ID) == NULL) {
		list(host, asked);
		return;
	}
	tenant = named(host, asked);
	if (tenant != NULL)
		reply_tenant(host, asked->id, tenant);
}

void answer_tenant_patch(struct host *host, const struct asked *asked)
{
	struct tenant *tenant = named(host, asked);
	struct db_tenant row;
	struct err err;

	if (tenant == NULL)
		return;
	row = tenant->row;
	if (!take_fields(host, asked, &row))
		return;
	/* A text that is too long for any state is none of them either. */
	if (front_find(asked->items, asked->count, FRONT_TAG_STATE) != NULL &&
	    !front_text(asked->items, asked->count, FRONT_TAG_STATE, row.state, sizeof(row.state)))
		row.state[0] = '\0';
	if (strcmp(row.state, "active") != 0 && strcmp(row.state, "suspended") != 0) {
		peer_fail(host, asked->id, FRONT_ERR_INVALID,
			  "state must be \"active\" or \"suspended\"", "", "", 0);
		return;
	}
	if (strcmp(row.state, "active") != 0 && !key_admin_left(host, NULL, tenant)) {
		(void)refuse_last(host, asked);
		return;
	}
	if (change_audited(host, tenant, &row, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
	else
		reply_tenant(host, asked->id, tenant);
}

void answer_tenant_delete(struct host *host, const struct asked *asked)
{
	struct tenant *tenant = named(host, asked);
	struct err err;

	if (tenant == NULL || (!key_admin_left(host, NULL, tenant) && !refuse_last(host, asked)))
		return;
	if (delete_audited(host, tenant, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
	else
		peer_reply(host, asked->id, NULL, -1);
}
