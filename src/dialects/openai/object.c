/*
 * object.c - objects of OpenAI's API that are documents of the tenant.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; documents, which other clients may have changed.
 * Never:    shows the members of a document outside its object.
 */
#include "dialects/openai/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define NAME_MAX_BYTES 64u /* of a document's name */
#define LIST_MAX 100u
#define LIST_USUAL 20u
#define LIST_BYTES_MAX ((size_t)48 * 1024 * 1024)

const char *object_name(const char *id)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	const size_t len = strlen(id);

	return len > 0 && len <= NAME_MAX_BYTES && strspn(id, letters) == len ? id : "-";
}

int object_id(const struct object_kind *kind, char ret[NAME_SIZE])
{
	char id[ID_SIZE];
	struct err err;

	if (id_new(id, "x", &err) < 0)
		return -1;
	return name_swap(id, "x_", kind->prefix, ret, NAME_SIZE) ? 0 : -1;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void object_write_value(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf dumped = BUF_INIT(OPENAI_OUT_MAX);
	struct err full;

	if (json_read_dump(value, &dumped, &full) == 0)
		json_write_raw(json, buf_text(&dumped), dumped.len);
	else
		json_write_null(json);
}

void object_write_member(struct json_writer *json, const char *key, const struct json_value *value)
{
	json_write_key(json, key);
	object_write_value(json, value);
}

void object_write_members(struct json_writer *json, const struct json_value *body,
			  const struct json_value *was, const struct object_member *members,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_value *value = json_read_member(body, members[i].key);

		if (value == NULL)
			value = json_read_member(was, members[i].key);
		json_write_key(json, members[i].key);
		if (json_read_kind(value) != JSON_KIND_NULL)
			object_write_value(json, value);
		else
			json_write_raw(json, members[i].otherwise, strlen(members[i].otherwise));
	}
}

int object_write(const struct object_kind *kind, const char *id, const struct json_value *body,
		 const struct json_value *was, const struct object_member *members, size_t count,
		 struct buf *ret, struct err *err)
{
	int64_t created = (int64_t)(clock_wall_ms() / 1000);
	struct json_writer json;

	(void)json_read_int(json_read_member(was, "created_at"), &created);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", kind->name);
	json_write_member_uint(&json, "created_at", (uint64_t)created);
	object_write_members(&json, body, was, members, count);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int object_body(struct request *request, struct json_value **ret)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	struct err err;

	if (openai_body(request, &body) < 0)
		return -1;
	if (body.len == 0 && buf_adds(&body, "{}", &err) < 0)
		return -1;
	if (json_read_parse(body.data, body.len, OPENAI_BODY_MAX, ret, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return -1;
	}
	if (json_read_kind(*ret) == JSON_KIND_OBJECT)
		return 0;
	json_read_free(*ret);
	*ret = NULL;
	answer_refuse_simple(request, 400, "invalid", "the body is a JSON object", NULL);
	return -1;
}

/* ---- one object ----------------------------------------------------------------------------- */

static int write_parent(const char *parent, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "in", parent);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static enum call_status put(struct request *request, const struct object_kind *kind, const char *id,
			    const char *parent, const struct buf *shown, const char *more,
			    struct call *call, struct err *err)
{
	cleanup_buf struct buf value = BUF_INIT(OBJECT_MAX), metadata = BUF_INIT(4096);
	struct api_document_put_in in = { .collection = kind->collection, .id = object_name(id) };

	err_clear(err);
	if (buf_adds(&value, "{\"object\":", err) < 0 ||
	    buf_add(&value, buf_text(shown), shown->len, err) < 0 ||
	    buf_adds(&value, more != NULL ? more : "", err) < 0 || buf_addc(&value, '}', err) < 0 ||
	    (parent != NULL && write_parent(parent, &metadata, err) < 0))
		return CALL_FAILED;
	in.value = (struct api_bytes){ value.data, value.len };
	if (parent != NULL)
		in.metadata = (struct api_bytes){ metadata.data, metadata.len };
	return call_make(request, API_DOCUMENT_PUT, &in, NULL, call);
}

int object_put(struct request *request, const struct object_kind *kind, const char *id,
	       const char *parent, const struct buf *shown, const char *more)
{
	cleanup_call struct call call = CALL_INIT;
	struct err err;
	const enum call_status status = put(request, kind, id, parent, shown, more, &call, &err);

	if (status == CALL_FAILED && call.failure != NULL)
		call_refuse(request, call.failure);
	else if (status == CALL_FAILED)
		answer_refuse_invalid(request, &err);
	return status == CALL_OK ? 0 : -1;
}

int object_store(struct request *request, const struct object_kind *kind, const char *id,
		 const char *parent, const struct buf *shown, const char *more)
{
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	return put(request, kind, id, parent, shown, more, &call, &err) == CALL_OK ? 0 : -1;
}

int object_remember(struct request *request, const struct object_kind *kind, const char *id,
		    const char *patch)
{
	cleanup_buf struct buf value = BUF_INIT(OBJECT_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (buf_adds(&value, patch, &err) < 0)
		return -1;
	return call_make(request, API_DOCUMENT_PATCH,
			 &(struct api_document_patch_in){ .collection = kind->collection,
							  .id = object_name(id),
							  .value = { value.data, value.len } },
			 NULL, &call) == CALL_OK
		       ? 0
		       : -1;
}

int object_look(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_document_get_in in = { .collection = kind->collection,
						.id = object_name(id) };
	struct api_document document;
	struct err err;
	const enum call_status status = call_make(request, API_DOCUMENT_GET, &in, &document, &call);

	if (status == CALL_GONE)
		return -1;
	if (status != CALL_OK && call.failure->error == API_ERR_NOT_FOUND)
		return 0;
	if (status != CALL_OK) {
		call_refuse(request, call.failure);
		return -1;
	}
	if (json_read_parse(document.value.data, document.value.len, OBJECT_MAX, ret, &err) == 0)
		return 1;
	answer_refuse_simple(request, 500, "internal", err.text, NULL);
	return -1;
}

int object_find(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret)
{
	const int found = object_look(request, kind, id, ret);
	char message[NAME_SIZE + 64];

	if (found != 0)
		return found < 0 ? -1 : 0;
	(void)snprintf(message, sizeof(message), "No %s found with id '%s'.", kind->name, id);
	answer_refuse_simple(request, 404, "not_found", message, NULL);
	return -1;
}

void object_answer(struct request *request, const struct json_value *value)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct err err;

	if (json_read_dump(json_read_member(value, "object"), &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
}

void object_show(struct request *request, const struct object_kind *kind, const char *id)
{
	struct json_value *value = NULL;

	if (object_find(request, kind, id, &value) == 0)
		object_answer(request, value);
	json_read_free(value);
}

void object_answer_deleted(struct request *request, const struct object_kind *kind, const char *id)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct json_writer json;
	char name[80];
	struct err err;

	(void)snprintf(name, sizeof(name), "%s.deleted", kind->name);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "object", name);
	json_write_member_bool(&json, "deleted", true);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
}

void object_delete(struct request *request, const struct object_kind *kind, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *value = NULL;

	if (object_find(request, kind, id, &value) == 0 &&
	    call_or_refuse(request, API_DOCUMENT_DELETE,
			   &(struct api_document_delete_in){ .collection = kind->collection,
							     .id = object_name(id) },
			   NULL, &call) == 0)
		object_answer_deleted(request, kind, id);
	json_read_free(value);
}

int object_clear(struct request *request, const struct object_kind *kind, const char *parent)
{
	cleanup_buf struct buf filter = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct api_cleared out = { .more = true };
	struct err err;

	if (write_parent(parent, &filter, &err) < 0)
		return -1;
	while (out.more)
		if (call_or_refuse(request, API_DOCUMENT_CLEAR,
				   &(struct api_document_clear_in){ .collection = kind->collection,
								    .metadata = buf_text(&filter) },
				   &out, &call) < 0)
			return -1;
	return 0;
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct page {
	struct api_document_list_in in;
	char before[NAME_SIZE], after[NAME_SIZE];
	struct buf filter;
};

static int read_page(struct request *request, const char *parent, struct page *ret)
{
	struct list list;
	struct err err;
	const char *after, *before;

	if (list_read(request, LIST_USUAL, LIST_MAX, &list) < 0)
		return -1;
	/* "after" refers to the list's order, which may be newest first. */
	after = list.is_ascending ? list.after : list.before;
	before = list.is_ascending ? list.before : list.after;
	if (after[0] != '\0')
		(void)snprintf(ret->after, sizeof(ret->after), "%s", object_name(after));
	if (before[0] != '\0')
		(void)snprintf(ret->before, sizeof(ret->before), "%s", object_name(before));
	ret->in.has_limit = true;
	ret->in.limit = list.limit;
	ret->in.order = list.is_ascending ? API_DOCUMENT_LIST_IN_ORDER_ASC
					  : API_DOCUMENT_LIST_IN_ORDER_DESC;
	ret->in.after = ret->after[0] != '\0' ? ret->after : NULL;
	ret->in.before = ret->before[0] != '\0' ? ret->before : NULL;
	if (parent != NULL && write_parent(parent, &ret->filter, &err) < 0)
		return -1;
	ret->in.metadata = parent != NULL ? buf_text(&ret->filter) : NULL;
	return 0;
}

static struct json_value *value_of(const struct api_document *document)
{
	struct json_value *value = NULL;
	struct err err; /* changed by another client: do not show it */

	if (json_read_parse(document->value.data, document->value.len, OBJECT_MAX, &value, &err) <
	    0)
		return NULL;
	return value;
}

static void write_page(struct json_writer *json, const struct api_documents *out,
		       object_write_fn *write, const void *arg)
{
	const struct api_document *documents = out->documents.items;
	const size_t count = out->documents.count;

	for (size_t i = 0; i < count; i++) {
		struct json_value *value = value_of(&documents[i]);
		const struct json_value *object = json_read_member(value, "object");

		if (object != NULL && write != NULL)
			write(json, object, arg);
		else if (object != NULL)
			object_write_value(json, object);
		json_read_free(value);
	}
	list_end(json, count > 0 ? documents[0].id : NULL,
		 count > 0 ? documents[count - 1].id : NULL, out->next != NULL);
}

void object_list(struct request *request, const struct object_kind *kind, const char *parent,
		 object_write_fn *write, const void *arg)
{
	cleanup_buf struct buf body = BUF_INIT(LIST_BYTES_MAX);
	struct page page = { .in = { .collection = kind->collection }, .filter = BUF_INIT(4096) };
	cleanup_call struct call call = CALL_INIT;
	struct api_documents out;
	struct json_writer json;
	struct err err;

	if (read_page(request, parent, &page) == 0 &&
	    call_or_refuse(request, API_DOCUMENT_LIST, &page.in, &out, &call) == 0) {
		list_begin(&json, &body);
		write_page(&json, &out, write, arg);
		if (json_write_finish(&json, &err) < 0)
			answer_refuse_simple(request, 500, "internal", err.text, NULL);
		else
			openai_answer(request, &body);
	}
	buf_done(&page.filter);
}

struct newest {
	struct json_value **values; /* newest first */
	size_t count;
};

/* Reads the newest `max` documents. Leaves out those that another client has made invalid; they
 * count. */
static int take_newest(struct request *request, struct api_document_list_in *in, size_t max,
		       struct newest *ret)
{
	char before[NAME_SIZE] = "";

	for (size_t seen = 0; seen < max;) {
		cleanup_call struct call call = CALL_INIT;
		struct api_documents out;

		in->before = before[0] != '\0' ? before : NULL;
		if (call_or_refuse(request, API_DOCUMENT_LIST, in, &out, &call) < 0)
			return -1;
		for (size_t i = 0; i < out.documents.count && seen < max; i++, seen++) {
			struct json_value *value =
				value_of(&((const struct api_document *)out.documents.items)[i]);

			if (value == NULL)
				continue;
			ret->values = mem_grow(ret->values, ret->count + 1, sizeof(*ret->values));
			ret->values[ret->count++] = value;
		}
		if (out.next == NULL)
			break;
		(void)snprintf(before, sizeof(before), "%s", out.next);
	}
	return 0;
}

int object_each(struct request *request, const struct object_kind *kind, const char *parent,
		size_t max, object_each_fn *fn, void *arg)
{
	cleanup_buf struct buf filter = BUF_INIT(4096);
	struct api_document_list_in in = { .collection = kind->collection,
					   .order = API_DOCUMENT_LIST_IN_ORDER_DESC,
					   .has_limit = true,
					   .limit = LIST_MAX };
	struct newest newest = { 0 };
	struct err err;
	int rc;

	if (write_parent(parent, &filter, &err) < 0)
		return -1;
	in.metadata = buf_text(&filter);
	rc = take_newest(request, &in, max, &newest);
	while (newest.count > 0) {
		struct json_value *value = newest.values[--newest.count];

		if (rc == 0)
			fn(value, arg);
		else
			json_read_free(value);
	}
	free(newest.values);
	return rc;
}
