/*
 * document.c - calls for documents: store, change under a condition, list, remove.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; the database.
 * Never:    answers before a change is synced, or tells another tenant's document from none.
 *
 * A collection is only a name: it exists while a document is in it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define LIST_DEFAULT 100u
#define LIST_BYTES_MAX (8u * 1024u * 1024u) /* a page ends after the document that exceeds this */
#define CLEAR_MAX 1000u

/* ---- checks --------------------------------------------------------------------------------- */

/* The front replaces an invalid name by "-". */
static bool is_named(struct host *host, const struct request *req, const char *collection,
		     const char *id)
{
	if (strcmp(collection, "-") != 0 && strcmp(id, "-") != 0)
		return true;
	front_fail(host, req->id, API_ERR_INVALID,
		  "collections and ids have 1 to 64 letters, digits, '_', '.' and '-'", "",
		  "choose another name", 0);
	return false;
}

bool document_labels(struct host *host, const struct request *req, const char *json, size_t len)
{
	struct err err;
	const int code = db_document_labels(host->db, json, len, &err);

	if (code < 0)
		front_fail_err(host, req->id, &err);
	else if (code == 0)
		front_fail(host, req->id, API_ERR_INVALID,
			  "metadata must be an object of at most 16 strings", "",
			  "names have 1 to 64 characters, values at most 512", 0);
	return code > 0;
}

static bool expires(struct host *host, const struct request *req, const uint64_t *in_ms,
		    const uint64_t *at_ms, uint64_t *ret)
{
	const uint64_t now = monotonic_now(&host->monotonic);

	if (in_ms != NULL)
		*ret = now + *in_ms;
	else if (at_ms != NULL)
		*ret = *at_ms;
	if (at_ms == NULL || *at_ms > now)
		return true;
	front_fail(host, req->id, API_ERR_INVALID, "expires_at has passed", "", "", 0);
	return false;
}
#define EXPIRES(host, req, in, ret)                                                              \
	expires(host, req, (in)->has_expires_in_ms ? &(in)->expires_in_ms : NULL,                \
		(in)->has_expires_at_ms ? &(in)->expires_at_ms : NULL, ret)

/* Whether a header with entity tags names this one: "a", W/"b", c. */
static bool names_etag(const char *header, const char *etag)
{
	const size_t len = strlen(etag);

	for (const char *at = header; (at = strstr(at, etag)) != NULL; at += len) {
		const char before = at == header ? ' ' : at[-1];

		if (strchr(" ,\"", before) != NULL &&
		    (at[len] == '\0' || strchr(" ,\"", at[len]) != NULL))
			return true;
	}
	return false;
}

static bool check_match(struct host *host, const struct request *req, const char *if_match,
			const char *if_none, const struct db_document *found)
{
	const bool is_there = found->number != 0;
	const char *why = NULL;

	if (if_match != NULL && !is_there)
		why = "there is no such document";
	else if (if_match != NULL && strcmp(if_match, "*") != 0 &&
		 !names_etag(if_match, found->etag))
		why = "the document was changed meanwhile";
	else if (if_none != NULL && is_there &&
		 (strcmp(if_none, "*") == 0 || names_etag(if_none, found->etag)))
		why = "there is such a document";
	if (why != NULL)
		front_fail(host, req->id, API_ERR_PRECONDITION, why, "",
			  "read the document, and use its etag", 0);
	return why == NULL;
}

static void fail_missing(struct host *host, const struct request *req, const char *collection,
			 const char *id)
{
	const bool is_file = collection[0] == '/';
	char message[192];

	(void)snprintf(message, sizeof(message), "there is no %s %s%s%s",
		       is_file ? "file" : "document", id, is_file ? "" : " in ",
		       is_file ? "" : collection);
	front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
		  is_file ? "list them: GET /reckon/v1/files"
			  : "list them: GET /reckon/v1/documents/COLLECTION", 0);
}

int document_find(struct host *host, const struct request *req, const char *collection,
		  const char *id, struct db_document *ret)
{
	struct err err;
	const int found = db_document_find(host->db, req->tenant->row.id, collection, id, true, ret,
					   &err);

	if (found < 0)
		front_fail_err(host, req->id, &err);
	if (found == 1 && ret->expires_ms != 0 &&
	    ret->expires_ms <= monotonic_now(&host->monotonic))
		return 0;
	return found;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* The result points into the document. */
static struct api_document tell(const struct db_document *document, bool with_value)
{
	struct api_document reply = {
		.collection = document->collection,
		.id = document->id,
		.etag = document->etag,
		.created_at = document->created_at,
		.updated_at = document->changed_at,
		.has_expires_at_ms = document->expires_ms != 0,
		.expires_at_ms = document->expires_ms,
		.metadata = { document->metadata.data, document->metadata.len },
	};

	if (with_value)
		reply.value = (struct api_bytes){ document->value.data, document->value.len };
	return reply;
}

static void count(struct tenant *tenant, uint64_t more, uint64_t less)
{
	uint64_t *stored = &tenant->row.stored_bytes;

	*stored += more;
	*stored -= less < *stored ? less : *stored;
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *target_of(const struct db_document *document, char *ret, size_t size)
{
	if (document->collection[0] == '/')
		(void)snprintf(ret, size, "%s", document->id);
	else
		(void)snprintf(ret, size, "%s/%s", document->collection, document->id);
	return ret;
}

static int put_audited(struct host *host, const struct tenant *tenant, const char *action,
		       uint64_t instead_of, struct db_document *document, struct err *err)
{
	char target[DB_DOCUMENT_NAME_SIZE * 2 + 1];
	int code = 0;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	if (instead_of != 0)
		code = db_document_remove(host->db, instead_of, err);
	if (code >= 0)
		code = db_document_put(host->db, tenant->row.id, document, err);
	if (code >= 0)
		code = audit_add(host, action, target_of(document, target, sizeof(target)), "ok",
				 err, "bytes=%zu etag=%s", document->value.len, document->etag);
	return audit_end(host, code, err);
}

int document_put(struct host *host, struct tenant *tenant, const char *action,
		 struct db_document *document, uint64_t old_size, uint64_t instead_of,
		 struct err *err)
{
	if (put_audited(host, tenant, action, instead_of, document, err) < 0)
		return (int)err->code;
	count(tenant, document->size, old_size);
	return 0;
}

/*
 * Stores the document and answers. `old_size`: what the tenant paid for the replaced document;
 * `instead_of`: the row of an expired document with this id, which is removed.
 */
static void store(struct host *host, const struct request *req, uint64_t old_size,
		  uint64_t instead_of, struct db_document *document)
{
	const uint64_t size = DB_DOCUMENT_ROW + document->metadata.len + document->value.len;
	struct api_document reply;
	struct err err;
	bool is_own;

	if (size > old_size && !quota_disk(host, req, size - old_size))
		return;
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (document_put(host, req->tenant, "document.put", document, old_size, instead_of,
			 &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		reply = tell(document, false);
		/*
		 * Sent when the transaction is synced. All calls that store a document have the
		 * same result type.
		 */
		front_reply_call(host, req->id, &api_type_document, &reply);
	}
	transaction_leave(host, is_own, 0);
}

static bool take(struct host *host, const struct request *req, const struct api_bytes *value,
		 const struct api_bytes *metadata, struct db_document *document)
{
	const struct api_bytes none = { "{}", 2 };
	const struct api_bytes *labels = metadata->data != NULL ? metadata : &none;
	struct err err;

	if (!document_labels(host, req, labels->data, labels->len))
		return false;
	buf_clear(&document->value);
	buf_clear(&document->metadata);
	if (buf_add(&document->value, value->data, value->len, &err) == 0 &&
	    buf_add(&document->metadata, labels->data, labels->len, &err) == 0)
		return true;
	front_fail_err(host, req->id, &err);
	return false;
}

static void name(struct db_document *document, const char *collection, const char *id)
{
	(void)snprintf(document->collection, sizeof(document->collection), "%s", collection);
	(void)snprintf(document->id, sizeof(document->id), "%s", id);
}

void handle_document_create(struct host *host, const struct request *req,
			    const struct api_document_create_in *in)
{
	cleanup_document struct db_document document;
	char id[ID_SIZE];
	struct err err;

	db_document_init(&document);
	if (!is_named(host, req, in->collection, "") ||
	    !EXPIRES(host, req, in, &document.expires_ms) ||
	    !take(host, req, &in->value, &in->metadata, &document))
		return;
	if (id_new(id, "doc", &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	name(&document, in->collection, id);
	store(host, req, 0, 0, &document);
}

void handle_document_put(struct host *host, const struct request *req,
			 const struct api_document_put_in *in)
{
	cleanup_document struct db_document document;
	uint64_t old_size, expired = 0;
	int found;

	db_document_init(&document);
	if (!is_named(host, req, in->collection, in->id))
		return;
	found = document_find(host, req, in->collection, in->id, &document);
	if (found < 0)
		return;
	old_size = document.size;
	if (found == 0) {
		expired = document.number;
		document.number = 0;
	}
	document.expires_ms = 0;
	name(&document, in->collection, in->id);
	if (check_match(host, req, in->if_match, in->if_none_match, &document) &&
	    EXPIRES(host, req, in, &document.expires_ms) &&
	    take(host, req, &in->value, &in->metadata, &document))
		store(host, req, old_size, expired, &document);
}

/* Merges a patch into the value or the metadata; without a patch changes nothing. */
static bool merge(struct host *host, const struct request *req, const struct api_bytes *patch,
		  struct buf *object)
{
	cleanup_buf struct buf merged = BUF_INIT(object->max);
	struct err err;

	if (patch->data == NULL)
		return true;
	if (db_document_merge(host->db, object, patch->data, patch->len, &merged, &err) == 0) {
		buf_clear(object);
		if (buf_add(object, merged.data, merged.len, &err) == 0)
			return true;
	}
	front_fail_err(host, req->id, &err);
	return false;
}

void handle_document_patch(struct host *host, const struct request *req,
			   const struct api_document_patch_in *in)
{
	cleanup_document struct db_document document;
	int found;

	db_document_init(&document);
	found = document_find(host, req, in->collection, in->id, &document);
	if (found == 0)
		fail_missing(host, req, in->collection, in->id);
	if (found <= 0 || !check_match(host, req, in->if_match, NULL, &document) ||
	    !EXPIRES(host, req, in, &document.expires_ms) ||
	    !merge(host, req, &in->value, &document.value) ||
	    !merge(host, req, &in->metadata, &document.metadata) ||
	    !document_labels(host, req, buf_text(&document.metadata), document.metadata.len))
		return;
	if (document.value.len > DB_DOCUMENT_MAX)
		front_fail(host, req->id, API_ERR_INVALID,
			  "the document would be larger than 1 MiB", "",
			  "put large data into files", 0);
	else
		store(host, req, document.size, 0, &document);
}

static int remove_audited(struct host *host, const char *action,
			  const struct db_document *document, struct err *err)
{
	char target[DB_DOCUMENT_NAME_SIZE * 2 + 1];
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_document_remove(host->db, document->number, err);
	if (code >= 0)
		code = audit_add(host, action, target_of(document, target, sizeof(target)), "ok",
				 err, "%s", "");
	return audit_end(host, code, err);
}

bool document_remove(struct host *host, const struct request *req, const char *action,
		     const struct db_document *document)
{
	struct err err;
	bool is_own, is_done;

	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return false;
	}
	is_done = remove_audited(host, action, document, &err) >= 0;
	if (is_done) {
		count(req->tenant, 0, document->size);
		reply_done(host, req->id);
	} else {
		front_fail_err(host, req->id, &err);
	}
	transaction_leave(host, is_own, 0);
	return is_done;
}

void handle_document_delete(struct host *host, const struct request *req,
			    const struct api_document_delete_in *in)
{
	cleanup_document struct db_document document;
	int found;

	db_document_init(&document);
	found = document_find(host, req, in->collection, in->id, &document);
	if (found == 0)
		fail_missing(host, req, in->collection, in->id);
	if (found > 0 && check_match(host, req, in->if_match, NULL, &document))
		(void)document_remove(host, req, "document.delete", &document);
}

/* ---- many at once --------------------------------------------------------------------------- */

struct removing {
	uint64_t numbers[CLEAR_MAX], bytes;
	size_t count;
	bool are_more;
};

static int note_one(const char *tenant, const struct db_document *document, void *arg,
		    struct err *err)
{
	struct removing *removing = arg;

	(void)tenant;
	(void)err;
	removing->are_more = removing->count == CLEAR_MAX;
	if (removing->are_more)
		return 1;
	removing->numbers[removing->count++] = document->number;
	removing->bytes += document->size;
	return 0;
}

static int clear_audited(struct host *host, const char *collection,
			 const struct removing *removing, struct err *err)
{
	int code = 0;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < removing->count && code >= 0; i++)
		code = db_document_remove(host->db, removing->numbers[i], err);
	if (code >= 0)
		code = audit_add(host, "document.clear", collection, "ok", err, "documents=%zu",
				 removing->count);
	return audit_end(host, code, err);
}

void handle_document_clear(struct host *host, const struct request *req,
			   const struct api_document_clear_in *in)
{
	const struct db_document_list list = { .tenant = req->tenant->row.id,
					       .collection = in->collection,
					       .filter = in->metadata,
					       .is_ascending = true,
					       .limit = CLEAR_MAX + 1 };
	struct removing removing = { .count = 0 };
	struct err err;
	bool is_own;

	if (in->metadata != NULL && !document_labels(host, req, in->metadata, strlen(in->metadata)))
		return;
	if (db_document_list(host->db, &list, note_one, &removing, &err) < 0 ||
	    transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (removing.count > 0 && clear_audited(host, in->collection, &removing, &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		count(req->tenant, 0, removing.bytes);
		reply_document_clear(host, req->id,
				     &(struct api_cleared){ .deleted = removing.count,
							    .more = removing.are_more });
	}
	transaction_leave(host, is_own, 0);
}

/* ---- reading -------------------------------------------------------------------------------- */

void handle_document_get(struct host *host, const struct request *req,
			 const struct api_document_get_in *in)
{
	cleanup_document struct db_document document;
	struct api_document reply;
	int found;

	db_document_init(&document);
	found = document_find(host, req, in->collection, in->id, &document);
	if (found == 0)
		fail_missing(host, req, in->collection, in->id);
	if (found <= 0)
		return;
	reply = tell(&document, true);
	reply_document_get(host, req->id, &reply);
}

struct page {
	struct arena arena;
	struct api_document *items;
	size_t count, limit, bytes;
	bool are_more, with_values;
};

static const char *copy(struct page *page, const char *text)
{
	return arena_text(&page->arena, text, strlen(text));
}

static struct api_bytes copy_bytes(struct page *page, const struct api_bytes *bytes)
{
	return (struct api_bytes){ arena_text(&page->arena, bytes->data, bytes->len), bytes->len };
}

static int add_one(const char *tenant, const struct db_document *document, void *arg,
		   struct err *err)
{
	struct page *page = arg;
	struct api_document reply = tell(document, page->with_values);

	(void)tenant;
	(void)err;
	page->are_more = page->count == page->limit || page->bytes > LIST_BYTES_MAX;
	if (page->are_more)
		return 1;
	page->bytes += document->metadata.len + document->value.len;
	reply.collection = copy(page, reply.collection);
	reply.id = copy(page, reply.id);
	reply.etag = copy(page, reply.etag);
	reply.created_at = copy(page, reply.created_at);
	reply.updated_at = copy(page, reply.updated_at);
	reply.metadata = copy_bytes(page, &reply.metadata);
	if (page->with_values)
		reply.value = copy_bytes(page, &reply.value);
	page->items[page->count++] = reply;
	return 0;
}

bool document_cursor(struct host *host, const struct request *req, const char *collection,
		     const char *id, uint64_t *ret)
{
	cleanup_document struct db_document document;
	struct err err;
	int found;

	db_document_init(&document);
	if (id == NULL)
		return true;
	found = db_document_find(host->db, req->tenant->row.id, collection, id, false, &document,
				 &err);
	if (found < 0)
		front_fail_err(host, req->id, &err);
	else if (found == 0)
		fail_missing(host, req, collection, id);
	*ret = document.number;
	return found == 1;
}

void handle_document_list(struct host *host, const struct request *req,
			  const struct api_document_list_in *in)
{
	struct page page = { .limit = in->has_limit ? in->limit : LIST_DEFAULT,
			     .with_values = !in->has_values || in->values };
	struct db_document_list list = {
		.tenant = req->tenant->row.id,
		.collection = in->collection,
		.filter = in->metadata,
		.now_ms = monotonic_now(&host->monotonic),
		.is_ascending = in->order == API_DOCUMENT_LIST_IN_ORDER_ASC,
		.with_values = page.with_values,
		.limit = (unsigned)page.limit + 1,
	};
	struct err err;

	if (in->metadata != NULL && !document_labels(host, req, in->metadata, strlen(in->metadata)))
		return;
	if (!document_cursor(host, req, in->collection, in->before, &list.before) ||
	    !document_cursor(host, req, in->collection, in->after, &list.after))
		return;
	page.items = arena_new(&page.arena, page.limit, sizeof(*page.items));
	if (db_document_list(host->db, &list, add_one, &page, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_document_list(host, req->id,
				    &(struct api_documents){
					    .documents = { page.items, page.count },
					    .next = page.are_more ? page.items[page.count - 1].id
								  : NULL });
	arena_done(&page.arena);
}

/* ---- expiry --------------------------------------------------------------------------------- */

static int expire_one(const char *owner, const struct db_document *document, void *arg,
		      struct err *err)
{
	struct host *host = arg;
	struct tenant *tenant = tenant_find(host, owner);

	if (db_document_remove(host->db, document->number, err) < 0)
		return (int)err->code;
	if (tenant != NULL)
		count(tenant, 0, document->size);
	return 0;
}

int document_expire(struct host *host, uint64_t now_ms, unsigned limit, struct err *err)
{
	return db_document_expired(host->db, now_ms, limit, expire_one, host, err);
}
