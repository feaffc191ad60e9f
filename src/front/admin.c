/*
 * admin.c - tenants, keys and usage: what a client asks, as fields of a frame.
 *
 * Runs in:  reckon-front.
 * Reads:    heads and bodies of anybody.
 * Never:    keeps a key: one that reckond made is in a buffer until it is sent.
 */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/api_admin.h"
#include "front/front.h"

#define CSV_MAX ((size_t)64 * 1024 * 1024)
#define OVERLAP_MS (86400u * 1000u)

_Static_assert((int)FRONT_QUOTA_COUNT <= API_QUOTAS_MAX, "each quota has a bit and a place");

int build_usage(struct conn *conn, const struct query *query, struct buf *payload,
		struct err *err)
{
	const char *accept = http_header(&conn->http, "accept");

	conn->wants_csv = query->wants_csv ||
			  (accept != NULL && strcasecmp(accept, "text/csv") == 0);
	if (build_list(conn, query, payload, err) < 0)
		return (int)err->code;
	if (query->from[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_FROM, query->from, err) < 0)
		return (int)err->code;
	if (query->to[0] != '\0')
		return front_pack_text(payload, FRONT_TAG_TO, query->to, err);
	return 0;
}

void take_usage(struct conn *conn, const struct kernel_item *items, size_t count)
{
	cleanup_buf struct buf text = BUF_INIT(CSV_MAX);
	struct err err;

	if (!conn->wants_csv) {
		if (shape_usage(items, count, &text, &err) < 0)
			reply_err(conn, 500, &err);
		else
			reply_json(conn, 200, &text);
		return;
	}
	if (shape_usage_csv(items, count, &text, &err) < 0) {
		reply_err(conn, 500, &err);
		return;
	}
	reply_head(conn, 200, "text/csv; charset=utf-8", text.len,
		   "Content-Disposition: attachment; filename=\"usage.csv\"\r\n");
	conn_write(conn, text.data, text.len);
	conn_finish(conn);
}

static int pack_tenant(const struct conn *conn, const struct api_tenant *body,
		       struct buf *payload, struct err *err)
{
	struct front_quotas quotas = { .given = body->given };

	for (size_t i = 0; i < FRONT_QUOTA_COUNT; i++)
		quotas.value[i] = body->value[i];
	if (build_target(conn, payload, err) < 0 ||
	    (body->name != NULL &&
	     front_pack_text(payload, FRONT_TAG_NAME, body->name, err) < 0) ||
	    (body->state != NULL &&
	     front_pack_text(payload, FRONT_TAG_STATE, body->state, err) < 0))
		return (int)err->code;
	return front_pack(payload, FRONT_TAG_QUOTAS, &quotas, sizeof(quotas), err);
}

int build_tenant(struct conn *conn, const struct query *query, struct buf *payload,
		 struct err *err)
{
	__attribute__((cleanup(api_tenant_done))) struct api_tenant body;
	struct api_quota_kind kinds[FRONT_QUOTA_COUNT];

	(void)query;
	for (size_t i = 0; i < FRONT_QUOTA_COUNT; i++)
		kinds[i] = (struct api_quota_kind){ front_quota_kinds[i].name,
						    front_quota_kinds[i].is_seconds,
						    front_quota_kinds[i].max };
	if (api_tenant_parse(buf_text(&conn->body), conn->body.len,
			     conn->http.verb == HTTP_VERB_PATCH, kinds, FRONT_QUOTA_COUNT, &body,
			     err) < 0)
		return (int)err->code;
	return pack_tenant(conn, &body, payload, err);
}

int build_new_key(struct conn *conn, const struct query *query, struct buf *payload,
		  struct err *err)
{
	__attribute__((cleanup(api_key_done))) struct api_key body;

	(void)query;
	if (api_key_parse(buf_text(&conn->body), conn->body.len, front_scope_names, FRONT_SCOPES,
			  &body, err) < 0 ||
	    build_target(conn, payload, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_SCOPES, body.scopes, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_EXPIRES_MS, body.expires_ms, err) < 0 ||
	    (body.tenant != NULL &&
	     front_pack_text(payload, FRONT_TAG_TENANT, body.tenant, err) < 0))
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_NAME, body.name != NULL ? body.name : "key",
			       err);
}

int build_rotation(struct conn *conn, const struct query *query, struct buf *payload,
		   struct err *err)
{
	uint64_t overlap_ms;

	(void)query;
	if (api_rotate_parse(buf_text(&conn->body), conn->body.len, OVERLAP_MS, &overlap_ms,
			     err) < 0 ||
	    build_target(conn, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_EXPIRES_MS, overlap_ms, err);
}
