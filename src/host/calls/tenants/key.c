/*
 * key.c - calls for API keys: create, rotate, list, revoke, check.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    shows the text of a key more than once, to the client that created it.
 */
#include <stdio.h>
#include <string.h>

#include "api/arena.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define LIST_DEFAULT 100u
#define OVERLAP_MS (86400u * 1000u) /* how long a rotated key stays valid by default */

/* The texts belong to the key. */
static struct api_key tell(const struct host *host, const struct key *key)
{
	const struct db_key *row = &key->row;

	return (struct api_key){
		.id = row->id,
		.tenant = row->tenant,
		.name = row->name,
		.state = key_is_expired(host, key) ? API_KEY_STATE_EXPIRED : API_KEY_STATE_ACTIVE,
		.scopes = row->scopes,
		.created_at = row->created_at,
		.has_expires_at_ms = row->expires_ms != 0,
		.expires_at_ms = row->expires_ms,
		.used_at = row->used_at[0] != '\0' ? row->used_at : NULL,
		.has_mcp_approve = true,
		.mcp_approve = row->mcp_approve,
	};
}

/* Stores a new key; `old` is the changed row of the key that it replaces, or NULL. */
static const struct key *make_audited(struct host *host, struct db_key *row,
				      const struct db_key *old, char text[KEY_TEXT_SIZE],
				      struct err *err)
{
	struct key *key = NULL;
	int code = 0;

	if (audit_begin(host, err) < 0)
		return NULL;
	if (old != NULL)
		code = db_key_change(host->db, old, err);
	if (code >= 0)
		key = key_make(host, row, text, err);
	if (key != NULL)
		code = audit_add(host, "key.create", key->row.id, "ok", err,
				 "tenant=%s scopes=%u name=%s", key->row.tenant, key->row.scopes,
				 key->row.name);
	if (audit_commit(host, key == NULL ? (int)err->code : code, err) >= 0)
		return key;
	if (key != NULL)
		key_forget(host, key);
	return NULL;
}

/* Makes a key and answers, for both calls that do so. NULL: answered with an error. */
static const struct key *make(struct host *host, const struct request *req, struct db_key *row,
			      const struct db_key *old)
{
	char text[KEY_TEXT_SIZE];
	struct api_key reply;
	struct err err;
	const struct key *key = make_audited(host, row, old, text, &err);

	if (key == NULL) {
		front_fail(host, req->id,
			   err.code == ERR_LIMIT && err.errnum == 0 ? API_ERR_LIMIT
								    : front_storage_error(&err),
			   err.text, "", err.remedy, 0);
		return NULL;
	}
	reply = tell(host, key);
	reply_key_create(host, req->id,
			 &(struct api_new_key){
				 .id = reply.id,
				 .tenant = reply.tenant,
				 .name = reply.name,
				 .state = (enum api_new_key_state)reply.state,
				 .scopes = reply.scopes,
				 .created_at = reply.created_at,
				 .has_expires_at_ms = reply.has_expires_at_ms,
				 .expires_at_ms = reply.expires_at_ms,
				 .used_at = reply.used_at,
				 .has_mcp_approve = true,
				 .mcp_approve = reply.mcp_approve,
				 .key = text,
			 });
	explicit_bzero(text, sizeof(text));
	return key;
}

static struct key *named(struct host *host, const struct request *req, const char *id)
{
	struct key *key = key_find(host, id);
	char message[96];

	(void)snprintf(message, sizeof(message), "there is no key %s", id);
	if (key == NULL)
		front_fail(host, req->id, API_ERR_KEY_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/keys", 0);
	return key;
}

/* Makes a key with the same rights and lifetime; the old one stays valid for the overlap. */
void handle_key_rotate(struct host *host, const struct request *req,
		       const struct api_key_rotate_in *in)
{
	struct key *old = named(host, req, in->id);
	const uint64_t now = strict_now(&host->tenants.strict);
	const uint64_t end = now + (in->has_overlap_ms ? in->overlap_ms : OVERLAP_MS);
	struct db_key row, ends;

	if (old == NULL)
		return;
	row = ends = old->row;
	if (row.expires_ms != 0)
		row.expires_ms = now + (row.lifetime_ms != 0 ? row.lifetime_ms : OVERLAP_MS);
	row.used_at[0] = '\0';
	if (ends.expires_ms == 0 || ends.expires_ms > end)
		ends.expires_ms = end;
	if (make(host, req, &row, &ends) != NULL)
		old->row.expires_ms = ends.expires_ms;
}

void handle_key_create(struct host *host, const struct request *req,
		       const struct api_key_create_in *in)
{
	const struct tenant *tenant = tenant_of_id(host, req, in->tenant);
	struct db_key row = { .name = "" };

	_Static_assert((unsigned)API_KEY_CREATE_IN_SCOPES_AGENT == FRONT_SCOPE_AGENT &&
			       (unsigned)API_KEY_CREATE_IN_SCOPES_ADMIN == FRONT_SCOPE_ADMIN,
		       "rows keep these bits");
	if (tenant == NULL)
		return;
	(void)snprintf(row.tenant, sizeof(row.tenant), "%s", tenant->row.id);
	(void)snprintf(row.name, sizeof(row.name), "%s", in->name != NULL ? in->name : "key");
	row.scopes = (uint32_t)in->scopes;
	row.lifetime_ms = in->expires_ms;
	row.mcp_approve = in->mcp_approve;
	row.expires_ms =
		in->expires_ms != 0 ? strict_now(&host->tenants.strict) + in->expires_ms : 0;
	(void)make(host, req, &row, NULL);
}

void handle_key_list(struct host *host, const struct request *req,
		     const struct api_key_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	const struct tenant *tenant = tenant_of_id(host, req, in->tenant);
	cleanup_arena struct arena arena = { 0 };
	struct api_key *items = arena_new(&arena, limit, sizeof(*items));
	struct api_keys reply = { 0 };
	size_t count = 0;

	if (tenant == NULL)
		return;
	for (const struct key *at = key_newest(host); at != NULL && count < limit; at = at->next) {
		if ((in->tenant != NULL && at->tenant != tenant) ||
		    (in->before != NULL && strcmp(at->row.id, in->before) >= 0))
			continue;
		items[count] = tell(host, at);
		reply.next = items[count++].id;
	}
	reply.keys = (struct api_list){ items, count };
	reply_key_list(host, req->id, &reply);
}

static int revoke_audited(struct host *host, struct key *key, struct err *err)
{
	char id[ID_SIZE];
	int code;

	(void)snprintf(id, sizeof(id), "%s", key->row.id);
	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_key_revoke(host->db, id, err);
	if (code >= 0)
		code = audit_add(host, "key.revoke", id, "ok", err, "%s", "");
	if (audit_commit(host, code, err) < 0)
		return (int)err->code;
	log_line(LOG_INFO, "key revoked", "key=%s", id);
	key_forget(host, key);
	return 0;
}

void handle_key_delete(struct host *host, const struct request *req,
		       const struct api_key_delete_in *in)
{
	struct key *key = named(host, req, in->id);
	struct err err;

	if (key == NULL)
		return;
	if ((key->row.scopes & FRONT_SCOPE_ADMIN) != 0 && !key_admin_left(host, key, NULL)) {
		front_fail(host, req->id, API_ERR_LAST_ADMIN_KEY,
			  "this is the last admin key: nobody could make another one", "",
			  "create or rotate an admin key first", 0);
		return;
	}
	if (revoke_audited(host, key, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_done(host, req->id);
}

void handle_key_check(struct host *host, const struct request *req,
		      const struct api_key_check_in *in)
{
	struct api_requests_left left;
	struct api_key_check_out reply = { 0 };

	(void)in;
	if (quota_requests_left(host, req->tenant, &left.limit, &left.left, &left.reset_ms))
		reply.requests = &left;
	reply.mcp_approve = req->key != NULL && req->key->row.mcp_approve;
	reply_key_check(host, req->id, &reply);
}
