/*
 * tenant.c - calls for tenants: create, list, show, change, delete.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests of keys with the scope admin.
 * Never:    leaves the daemon without a usable admin key.
 */
#include <stdio.h>
#include <string.h>

#include "api/arena.h"
#include "api/check.h"
#include "host/calls/call.h"
#include "host/host.h"

#define LIST_DEFAULT 100u

static uint64_t *at(const struct api_field *field, void *of)
{
	return api_to(field, of);
}

/* The fields of the table are in the order of enum front_quota. */
static void tell_quotas(const struct front_quotas *quotas, struct api_quotas *ret)
{
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++)
		if ((quotas->given >> i & 1u) != 0) {
			api_set_given(&api_type_quotas.fields[i], ret);
			*at(&api_type_quotas.fields[i], ret) = quotas->value[i];
		}
}

/* Buffers for the parts of a result. */
struct telling {
	struct api_quotas quotas;
	struct api_tenant_now now;
};

/* The result points into the tenant and `space`. */
static struct api_tenant tell(const struct tenant *tenant, struct telling *space)
{
	const struct db_tenant *row = &tenant->row;

	*space =
		(struct telling){ .now = { .sessions = tenant->sessions,
					   .executions = tenant->executions,
					   .disk_bytes = tenant->workspaces + row->stored_bytes } };
	tell_quotas(&row->quotas, &space->quotas);
	return (struct api_tenant){ .id = row->id,
				    .name = row->name,
				    .state = row->state,
				    .created_at = row->created_at,
				    .quotas = &space->quotas,
				    .now = &space->now };
}

static struct tenant *named(struct host *host, const struct request *req, const char *id)
{
	struct tenant *tenant = tenant_find(host, id);
	char message[96];

	(void)snprintf(message, sizeof(message), "there is no tenant %s", id);
	if (tenant == NULL)
		front_fail(host, req->id, API_ERR_TENANT_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/tenants", 0);
	return tenant;
}

static bool refuse_last(struct host *host, const struct request *req)
{
	front_fail(host, req->id, API_ERR_LAST_ADMIN_KEY,
		  "no admin key would be left: the last one is of this tenant", "",
		  "create an admin key in another tenant first", 0);
	return false;
}

static void take_quotas(const struct api_quotas_update *params, struct front_quotas *ret)
{
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++) {
		const struct api_field *field = &api_type_quotas_update.fields[i];
		uint64_t value;

		if (!api_is_given(field, params))
			continue;
		memcpy(&value, api_at(field, params), sizeof(value));
		/* 0 removes the tenant's own quota. */
		ret->given &= ~((uint64_t)1 << i);
		ret->given |= (uint64_t)(value != 0) << i;
		ret->value[i] = value;
	}
}

/* Applies the request's fields to `row`; false: answered with an error. */
static bool take_fields(struct host *host, const struct request *req, const char *name,
			const struct api_quotas_update *quotas, struct db_tenant *row)
{
	const struct tenant *other;

	if (name != NULL)
		(void)snprintf(row->name, sizeof(row->name), "%s", name);
	other = tenant_named(host, row->name);
	if (other != NULL && strcmp(other->row.id, row->id) != 0) {
		front_fail(host, req->id, API_ERR_NAME_TAKEN,
			  "there is a tenant of this name already", "", "choose another name", 0);
		return false;
	}
	if (quotas != NULL)
		take_quotas(quotas, &row->quotas);
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

static void end_sessions(struct host *host, const struct tenant *tenant)
{
	struct session *next;

	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		next = at->next;
		if (at->tenant == tenant)
			session_end(at, API_ERR_SESSION_CLOSED, "its tenant was deleted", 0);
	}
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
	end_sessions(host, tenant);
	return 0;
}

void handle_tenant_create(struct host *host, const struct request *req,
			  const struct api_tenant_create_in *in)
{
	struct db_tenant row = { .id = "" };
	const struct tenant *tenant;
	struct api_tenant reply;
	struct telling space;
	struct err err;

	if (!take_fields(host, req, in->name, in->quotas, &row))
		return;
	tenant = add_audited(host, &row, &err);
	if (tenant == NULL) {
		front_fail(host, req->id,
			   err.code == ERR_LIMIT && err.errnum == 0 ? API_ERR_LIMIT
								    : front_storage_error(&err),
			   err.text, "", err.remedy, 0);
		return;
	}
	tenant_apply(host);
	reply = tell(tenant, &space);
	reply_tenant_create(host, req->id, &reply);
}

void handle_tenant_list(struct host *host, const struct request *req,
			const struct api_tenant_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	cleanup_arena struct arena arena = { 0 };
	struct api_tenant *items = arena_new(&arena, limit, sizeof(*items));
	struct telling *spaces = arena_new(&arena, limit, sizeof(*spaces));
	struct api_tenants reply = { 0 };
	size_t count = 0;

	for (const struct tenant *each = host->tenants.first; each != NULL && count < limit;
	     each = each->next) {
		if (each->is_deleted ||
		    (in->before != NULL && strcmp(each->row.id, in->before) >= 0))
			continue;
		items[count] = tell(each, &spaces[count]);
		reply.next = items[count++].id;
	}
	reply.tenants = (struct api_list){ items, count };
	reply_tenant_list(host, req->id, &reply);
}

void handle_tenant_show(struct host *host, const struct request *req,
			const struct api_tenant_show_in *in)
{
	const struct tenant *tenant = named(host, req, in->id);
	struct api_tenant reply;
	struct telling space;

	if (tenant == NULL)
		return;
	reply = tell(tenant, &space);
	reply_tenant_show(host, req->id, &reply);
}

void handle_tenant_change(struct host *host, const struct request *req,
			  const struct api_tenant_change_in *in)
{
	const bool is_suspended = in->state == API_TENANT_CHANGE_IN_STATE_SUSPENDED;
	struct tenant *tenant = named(host, req, in->id);
	struct db_tenant row;
	struct api_tenant reply;
	struct telling space;
	struct err err;

	if (tenant == NULL)
		return;
	row = tenant->row;
	if (!take_fields(host, req, in->name, in->quotas, &row))
		return;
	if (in->state != 0)
		(void)snprintf(row.state, sizeof(row.state), "%s",
			       is_suspended ? "suspended" : "active");
	if (strcmp(row.state, "active") != 0 && !key_admin_left(host, NULL, tenant)) {
		(void)refuse_last(host, req);
		return;
	}
	if (change_audited(host, tenant, &row, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	reply = tell(tenant, &space);
	reply_tenant_change(host, req->id, &reply);
}

void handle_tenant_delete(struct host *host, const struct request *req,
			  const struct api_tenant_delete_in *in)
{
	struct tenant *tenant = named(host, req, in->id);
	struct err err;

	if (tenant == NULL || (!key_admin_left(host, NULL, tenant) && !refuse_last(host, req)))
		return;
	if (delete_audited(host, tenant, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_done(host, req->id);
}
