/*
 * answer_key.c - create, rotate, list and revoke API keys.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests of keys with the scope admin.
 * Never:    tells a key's text but once, to whoever made it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "host/host.h"

#define LIST_DEFAULT 100u
#define OVERLAP_MS (86400u * 1000u) /* how long a rotated key goes on */

static void describe_time(uint64_t ms, char ret[CLOCK_RFC3339_SIZE])
{
	const time_t seconds = (time_t)(ms / 1000u);
	struct tm tm;
	size_t used;

	ret[0] = '\0';
	if (gmtime_r(&seconds, &tm) == NULL)
		return;
	used = strftime(ret, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret + used, CLOCK_RFC3339_SIZE - used, ".%03uZ", (unsigned)(ms % 1000u));
}

static int pack_key(const struct host *host, struct buf *payload, const struct key *key,
		    const char *text, struct err *err)
{
	const struct db_key *row = &key->row;
	char expires[CLOCK_RFC3339_SIZE] = "";

	if (row->expires_ms != 0)
		describe_time(row->expires_ms, expires);
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_ID, row->id },
		{ FRONT_TAG_TENANT, row->tenant },
		{ FRONT_TAG_NAME, row->name },
		{ FRONT_TAG_STATUS, key_is_expired(host, key) ? "expired" : "active" },
		{ FRONT_TAG_CREATED_AT, row->created_at },
		{ FRONT_TAG_EXPIRES_AT, expires },
		{ FRONT_TAG_USED_AT, row->used_at },
		{ FRONT_TAG_KEY_TEXT, text != NULL ? text : "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].text[0] != '\0' &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_SCOPES, row->scopes, err);
}

/* With what becomes of the one whose place it takes, if there is one. */
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

/* False: it was answered with an error. */
static bool make(struct host *host, const struct asked *asked, struct db_key *row,
		 const struct db_key *old)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	char text[KEY_TEXT_SIZE];
	struct err err;
	const struct key *key = make_audited(host, row, old, text, &err);

	if (key == NULL)
		peer_fail(host, asked->id,
			  err.code == ERR_LIMIT ? FRONT_ERR_LIMIT : FRONT_ERR_INTERNAL, err.text, "",
			  err.remedy, 0);
	else if (pack_key(host, &payload, key, text, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, asked->id, &payload, -1);
	explicit_bzero(text, sizeof(text));
	if (payload.len > 0)
		explicit_bzero(payload.data, payload.len);
	return key != NULL;
}

static struct key *named(struct host *host, const struct asked *asked)
{
	char id[ID_SIZE] = "", message[96];
	struct key *key;

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	key = key_find(host, id);
	(void)snprintf(message, sizeof(message), "there is no key %s", id);
	if (key == NULL)
		peer_fail(host, asked->id, FRONT_ERR_KEY_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/keys", 0);
	return key;
}

/* The same rights for as long again; the old one goes on for the time that it takes to change. */
static void rotate(struct host *host, const struct asked *asked)
{
	struct key *old = named(host, asked);
	const uint64_t now = strict_now(&host->strict);
	const uint64_t end = now + front_u64(asked->items, asked->count, FRONT_TAG_EXPIRES_MS,
					     OVERLAP_MS);
	struct db_key row, ends;

	if (old == NULL)
		return;
	row = ends = old->row;
	if (row.expires_ms != 0)
		row.expires_ms = now + (row.lifetime_ms != 0 ? row.lifetime_ms : OVERLAP_MS);
	row.used_at[0] = '\0';
	if (ends.expires_ms == 0 || ends.expires_ms > end)
		ends.expires_ms = end;
	if (make(host, asked, &row, &ends))
		old->row.expires_ms = ends.expires_ms;
}

void answer_key_create(struct host *host, const struct asked *asked)
{
	struct db_key row = { .name = "" };
	const struct tenant *tenant;
	uint64_t lifetime;

	if (front_find(asked->items, asked->count, FRONT_TAG_ID) != NULL) {
		rotate(host, asked);
		return;
	}
	tenant = tenant_asked(host, asked);
	if (tenant == NULL)
		return;
	(void)snprintf(row.tenant, sizeof(row.tenant), "%s", tenant->row.id);
	(void)front_text(asked->items, asked->count, FRONT_TAG_NAME, row.name, sizeof(row.name));
	row.scopes = (uint32_t)front_u64(asked->items, asked->count, FRONT_TAG_SCOPES, 0) &
		     FRONT_SCOPES_ALL;
	lifetime = front_u64(asked->items, asked->count, FRONT_TAG_EXPIRES_MS, 0);
	if (row.scopes == 0 || lifetime > KEY_LIFETIME_MAX_MS) {
		peer_fail(host, asked->id, FRONT_ERR_INVALID, "a key needs scopes", "", "", 0);
		return;
	}
	row.lifetime_ms = lifetime;
	row.expires_ms = lifetime != 0 ? strict_now(&host->strict) + lifetime : 0;
	(void)make(host, asked, &row, NULL);
}

void answer_key_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	const bool names = front_find(asked->items, asked->count, FRONT_TAG_TENANT) != NULL;
	const struct tenant *tenant = tenant_asked(host, asked);
	uint64_t limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, LIST_DEFAULT);
	char before[ID_SIZE];
	const bool has_before = front_text(asked->items, asked->count, FRONT_TAG_BEFORE, before,
					   sizeof(before));
	struct err err;

	if (tenant == NULL)
		return;
	if (limit > FRONT_LIST_MAX)
		limit = FRONT_LIST_MAX;
	for (const struct key *at = key_newest(host); at != NULL && limit > 0; at = at->next) {
		if ((names && at->tenant != tenant) ||
		    (has_before && strcmp(at->row.id, before) >= 0))
			continue;
		if (pack_key(host, &payload, at, NULL, &err) < 0) {
			peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", "", 0);
			return;
		}
		limit--;
	}
	peer_reply(host, asked->id, &payload, -1);
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

void answer_key_delete(struct host *host, const struct asked *asked)
{
	struct key *key = named(host, asked);
	struct err err;

	if (key == NULL)
		return;
	if ((key->row.scopes & FRONT_SCOPE_ADMIN) != 0 && !key_admin_left(host, key, NULL)) {
		peer_fail(host, asked->id, FRONT_ERR_LAST_ADMIN_KEY,
			  "this is the last admin key: nobody could make another one", "",
			  "create or rotate an admin key first", 0);
		return;
	}
	if (revoke_audited(host, key, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
	else
		peer_reply(host, asked->id, NULL, -1);
}
