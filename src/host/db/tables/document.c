/*
 * document.c - the rows of documents: finds, writes and lists them, also by metadata.
 *
 * Runs in:  reckond's loop; writes within the caller's transaction.
 * Reads:    its own tables; JSON of clients, with SQLite's functions.
 * Never:    builds a statement from text.
 *
 * Each entry of a document's metadata has a row in document_label, so a list by metadata does not
 * read the whole collection.
 */
#include "host/db/tables/document.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"

#define LABELS_MAX "16"
#define HEAD "d.tenant, d.number, d.collection, d.id, d.etag, d.created_at, d.changed_at," \
	     " d.expires_ms, d.size, d.metadata"
#define METADATA_MAX (256u * 1024u)

void db_document_init(struct db_document *document)
{
	memset(document, 0, sizeof(*document));
	document->metadata = BUF_INIT(METADATA_MAX);
	document->value = BUF_INIT((size_t)DB_DOCUMENT_MAX * 2);
}

void db_document_done(struct db_document *document)
{
	buf_done(&document->metadata);
	buf_done(&document->value);
}

static int column_json(sqlite3_stmt *row, int column, struct buf *ret, struct err *err)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	buf_clear(ret);
	return text != NULL ? buf_add(ret, text, (size_t)sqlite3_column_bytes(row, column), err)
			    : 0;
}

/* The columns of HEAD, then a value or NULL. */
static int read_row(sqlite3_stmt *row, struct db_document *ret, struct err *err)
{
	ret->number = (uint64_t)sqlite3_column_int64(row, 1);
	db_column_text(row, 2, ret->collection, sizeof(ret->collection));
	db_column_text(row, 3, ret->id, sizeof(ret->id));
	db_column_text(row, 4, ret->etag, sizeof(ret->etag));
	db_column_text(row, 5, ret->created_at, sizeof(ret->created_at));
	db_column_text(row, 6, ret->changed_at, sizeof(ret->changed_at));
	ret->expires_ms = (uint64_t)sqlite3_column_int64(row, 7);
	ret->size = (uint64_t)sqlite3_column_int64(row, 8);
	if (column_json(row, 9, &ret->metadata, err) < 0 ||
	    column_json(row, 10, &ret->value, err) < 0)
		return (int)err->code;
	return 0;
}

static int bind_json(struct db *db, sqlite3_stmt *statement, int index, const char *json,
		     size_t len, struct err *err)
{
	if (sqlite3_bind_text64(statement, index, json, len, SQLITE_STATIC, SQLITE_UTF8) !=
	    SQLITE_OK)
		return db_failed(db, "take a document", err);
	return 0;
}

int db_document_labels(struct db *db, const char *json, size_t len, struct err *err)
{
	cleanup_statement sqlite3_stmt *is_object = NULL, *statement = NULL;

	if (db_prepare(db, "SELECT json_type(CASE WHEN json_valid(?1) THEN ?1 ELSE 'null' END)"
			   " = 'object'", &is_object, err) < 0 ||
	    bind_json(db, is_object, 1, json, len, err) < 0 || db_step(db, is_object, err) < 0)
		return (int)err->code;
	if (sqlite3_column_int(is_object, 0) != 1)
		return 0;
	if (db_prepare(db, "SELECT count(*) <= " LABELS_MAX " AND count(DISTINCT key) = count(*)"
			   " AND coalesce(sum(type <> 'text' OR length(key) NOT BETWEEN 1 AND 64"
			   " OR length(value) > 512 OR instr(value, char(0)) > 0), 0) = 0"
			   " FROM json_each(?1)",
		       &statement, err) < 0 ||
	    bind_json(db, statement, 1, json, len, err) < 0 || db_step(db, statement, err) < 0)
		return (int)err->code;
	return sqlite3_column_int(statement, 0);
}

int db_document_find(struct db *db, const char *tenant, const char *collection, const char *id,
		     bool with_value, struct db_document *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db,
		       "SELECT " HEAD ", CASE WHEN ?4 THEN d.value END FROM document d"
		       " WHERE tenant = ?1 AND collection = ?2 AND id = ?3",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, collection);
	db_bind_text(statement, 3, id);
	(void)sqlite3_bind_int(statement, 4, with_value);
	found = db_step(db, statement, err);
	if (found == 1 && read_row(statement, ret, err) < 0)
		return (int)err->code;
	return found;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int add(struct db *db, const char *tenant, struct db_document *document, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db,
		       "INSERT INTO document(tenant, collection, id, etag, created_at, changed_at,"
		       " expires_ms, size, metadata, value, content)"
		       " VALUES(?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, document->collection);
	db_bind_text(statement, 3, document->id);
	db_bind_text(statement, 4, document->etag);
	db_bind_text(statement, 5, document->created_at);
	db_bind_text(statement, 6, document->changed_at);
	(void)sqlite3_bind_int64(statement, 7, (sqlite3_int64)document->expires_ms);
	(void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)document->size);
	db_bind_text(statement, 11, document->content[0] != '\0' ? document->content : NULL);
	if (bind_json(db, statement, 9, buf_text(&document->metadata), document->metadata.len,
		      err) < 0 ||
	    bind_json(db, statement, 10, buf_text(&document->value), document->value.len, err) <
		    0 ||
	    db_step(db, statement, err) < 0)
		return (int)err->code;
	document->number = (uint64_t)sqlite3_last_insert_rowid(db->sqlite);
	return 0;
}

static int change(struct db *db, const struct db_document *document, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db,
		       "UPDATE document SET etag = ?2, changed_at = ?3, expires_ms = ?4, size = ?5,"
		       " metadata = ?6, value = ?7 WHERE number = ?1",
		       &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)document->number);
	db_bind_text(statement, 2, document->etag);
	db_bind_text(statement, 3, document->changed_at);
	(void)sqlite3_bind_int64(statement, 4, (sqlite3_int64)document->expires_ms);
	(void)sqlite3_bind_int64(statement, 5, (sqlite3_int64)document->size);
	if (bind_json(db, statement, 6, buf_text(&document->metadata), document->metadata.len,
		      err) < 0 ||
	    bind_json(db, statement, 7, buf_text(&document->value), document->value.len, err) < 0)
		return (int)err->code;
	return db_step(db, statement, err);
}

static int put_labels(struct db *db, const char *tenant, const struct db_document *document,
		      struct err *err)
{
	cleanup_statement sqlite3_stmt *drop = NULL, *add_all = NULL;

	if (db_prepare(db, "DELETE FROM document_label WHERE document = ?", &drop, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(drop, 1, (sqlite3_int64)document->number);
	if (db_step(db, drop, err) < 0 ||
	    db_prepare(db, "INSERT INTO document_label SELECT ?1, ?2, ?3, key, value"
			   " FROM json_each(?4)", &add_all, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(add_all, 1, (sqlite3_int64)document->number);
	db_bind_text(add_all, 2, tenant);
	db_bind_text(add_all, 3, document->collection);
	if (bind_json(db, add_all, 4, buf_text(&document->metadata), document->metadata.len, err) <
	    0)
		return (int)err->code;
	return db_step(db, add_all, err);
}

int db_document_put(struct db *db, const char *tenant, struct db_document *document,
		    struct err *err)
{
	const bool is_new = document->number == 0;

	if (id_new(document->etag, "v", err) < 0)
		return (int)err->code;
	clock_rfc3339_now(document->changed_at);
	if (is_new)
		memcpy(document->created_at, document->changed_at, sizeof(document->created_at));
	document->size = DB_DOCUMENT_ROW + document->metadata.len + document->value.len;
	if ((is_new ? add(db, tenant, document, err) : change(db, document, err)) < 0)
		return (int)err->code;
	return put_labels(db, tenant, document, err);
}

int db_document_merge(struct db *db, const struct buf *object, const char *patch, size_t len,
		      struct buf *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "SELECT json_patch(?1, ?2)", &statement, err) < 0 ||
	    bind_json(db, statement, 1, buf_text(object), object->len, err) < 0 ||
	    bind_json(db, statement, 2, patch, len, err) < 0 || db_step(db, statement, err) < 0)
		return (int)err->code;
	return column_json(statement, 0, ret, err);
}

int db_document_text(struct db *db, const struct buf *object, const char *path, char *ret,
		     size_t size, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "SELECT ?1->>?2", &statement, err) < 0 ||
	    bind_json(db, statement, 1, buf_text(object), object->len, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 2, path);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	db_column_text(statement, 0, ret, size);
	return 0;
}

int db_document_remove(struct db *db, uint64_t number, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM document WHERE number = ?", &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
	return db_step(db, statement, err);
}

int db_document_drop(struct db *db, const char *tenant, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM document WHERE tenant = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	return db_step(db, statement, err);
}

/* ---- lists ---------------------------------------------------------------------------------- */

#define VALUE ", CASE WHEN ?7 THEN d.value END"
#define LIVES " AND (d.expires_ms = 0 OR d.expires_ms > ?5)"
#define ALL                                                                                   \
	"SELECT " HEAD VALUE " FROM document d WHERE d.tenant = ?1 AND d.collection = ?2"     \
	" AND d.number > ?3 AND d.number < ?4" LIVES
/* Selects by the first entry of the filter, then tests the others. */
#define WITH_LABELS                                                                           \
	"SELECT " HEAD VALUE " FROM document_label l JOIN document d ON d.number = l.document" \
	" WHERE l.tenant = ?1 AND l.collection = ?2"                                          \
	" AND l.name = (SELECT key FROM json_each(?8) LIMIT 1)"                               \
	" AND l.value = (SELECT value FROM json_each(?8) LIMIT 1)"                            \
	" AND l.document > ?3 AND l.document < ?4" LIVES                                      \
	" AND NOT EXISTS (SELECT 1 FROM json_each(?8) f WHERE NOT EXISTS"                     \
	" (SELECT 1 FROM document_label m WHERE m.document = d.number AND m.name = f.key"     \
	" AND m.value = f.value))"

static const char *statement_of(const struct db_document_list *list)
{
	const bool has_filter = list->filter != NULL && strchr(list->filter, ':') != NULL;

	if (has_filter)
		return list->is_ascending ? WITH_LABELS " ORDER BY l.document LIMIT ?6"
					  : WITH_LABELS " ORDER BY l.document DESC LIMIT ?6";
	return list->is_ascending ? ALL " ORDER BY d.number LIMIT ?6"
				  : ALL " ORDER BY d.number DESC LIMIT ?6";
}

static int walk(struct db *db, sqlite3_stmt *statement, db_document_fn *fn, void *arg,
		struct err *err)
{
	struct db_document row;
	char tenant[ID_SIZE];
	int found, code = 0;

	db_document_init(&row);
	while (code == 0 && (found = db_step(db, statement, err)) != 0) {
		code = found < 0 ? (int)err->code : read_row(statement, &row, err);
		db_column_text(statement, 0, tenant, sizeof(tenant));
		if (code == 0)
			code = fn(tenant, &row, arg, err);
	}
	db_document_done(&row);
	return code < 0 ? code : 0;
}

int db_document_list(struct db *db, const struct db_document_list *list, db_document_fn *fn,
		     void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const uint64_t before = list->before != 0 ? list->before : INT64_MAX;

	if (db_prepare(db, statement_of(list), &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, list->tenant);
	db_bind_text(statement, 2, list->collection);
	(void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)list->after);
	(void)sqlite3_bind_int64(statement, 4, (sqlite3_int64)before);
	(void)sqlite3_bind_int64(statement, 5, (sqlite3_int64)list->now_ms);
	(void)sqlite3_bind_int64(statement, 6, list->limit);
	(void)sqlite3_bind_int(statement, 7, list->with_values);
	if (sqlite3_bind_parameter_count(statement) >= 8)
		db_bind_text(statement, 8, list->filter);
	return walk(db, statement, fn, arg, err);
}

int db_document_expired(struct db *db, uint64_t now_ms, unsigned limit, db_document_fn *fn,
			void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "SELECT " HEAD ", NULL FROM document d WHERE d.expires_ms > 0"
			   " AND d.expires_ms <= ?1 ORDER BY d.expires_ms LIMIT ?2",
		       &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)now_ms);
	(void)sqlite3_bind_int64(statement, 2, limit);
	return walk(db, statement, fn, arg, err);
}
