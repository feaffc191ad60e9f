/*
 * store.c - reads and writes the documents of templates and builds.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    documents of the tenant, which its other clients may have written.
 * Never:    overwrites a build that has changed since it was read.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/template/template.h"

#define LIST_MAX 200u
#define WAITING_S 3600u	      /* lifetime of a build that no client starts */

void template_document_done(struct template_document *document)
{
	json_read_free(document->value);
	document->value = NULL;
}

static int take(const struct e2b *e2b, const struct api_document *out,
		struct template_document *ret)
{
	struct err err;

	if (json_read_parse(out->value.data, out->value.len, TEMPLATE_VALUE_MAX, &ret->value,
			    &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return -1;
	}
	(void)snprintf(ret->etag, sizeof(ret->etag), "%s", out->etag);
	return 1;
}

/* 0: the document does not exist or has another etag; negative: answered with an error, or the
 * client disconnected. */
static int failed(const struct e2b *e2b, enum call_status status, const struct call *call)
{
	if (status == CALL_FAILED && (call->failure->error == API_ERR_NOT_FOUND ||
				      call->failure->error == API_ERR_PRECONDITION))
		return 0;
	if (status == CALL_FAILED)
		call_refuse(e2b->request, call->failure);
	return -1;
}

int template_get(const struct e2b *e2b, const char *collection, const char *id,
		 struct template_document *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_document out;
	const enum call_status status =
		call_make(e2b->request, API_DOCUMENT_GET,
			  &(struct api_document_get_in){ .collection = collection, .id = id }, &out,
			  &call);

	return status == CALL_OK ? take(e2b, &out, ret) : failed(e2b, status, &call);
}

int template_patch(const struct e2b *e2b, const char *name, const char *patch, bool makes,
		   struct template_document *ret)
{
	static const char empty[] = "{}";
	cleanup_call struct call call = CALL_INIT;
	struct api_document out;
	enum call_status status;

	if (makes) {
		status = call_make(e2b->request, API_DOCUMENT_PUT,
				   &(struct api_document_put_in){
					   .collection = TEMPLATES,
					   .id = name,
					   .value = { empty, sizeof(empty) - 1 },
					   .if_none_match = "*" },
				   &out, &call);
		if (status != CALL_OK && failed(e2b, status, &call) < 0)
			return -1;
	}
	status = call_make(e2b->request, API_DOCUMENT_PATCH,
			   &(struct api_document_patch_in){ .collection = TEMPLATES,
							    .id = name,
							    .value = { patch, strlen(patch) } },
			   &out, &call);
	return status == CALL_OK ? template_get(e2b, TEMPLATES, name, ret)
				 : failed(e2b, status, &call);
}

int template_forget(const struct e2b *e2b, const char *collection, const char *id, const char *etag)
{
	cleanup_call struct call call = CALL_INIT;

	return call_make(e2b->request, API_DOCUMENT_DELETE,
			 &(struct api_document_delete_in){ .collection = collection,
							   .id = id,
							   .if_match = etag },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

void template_end_session(const struct e2b *e2b, const char *session)
{
	cleanup_call struct call call = CALL_INIT;

	if (session != NULL)
		(void)call_make(e2b->request, API_SESSION_DELETE,
				&(struct api_session_delete_in){ .session = session }, NULL, &call);
}

/* ---- builds --------------------------------------------------------------------------------- */

static const char *text_of(const struct e2b *e2b, const struct json_value *value, const char *key)
{
	size_t len;
	const char *text = json_read_text(json_read_member(value, key), &len);

	return text != NULL ? arena_text(e2b->arena, text, len) : NULL;
}

static struct api_list list_of(const struct e2b *e2b, const struct json_value *given)
{
	const char **items = arena_new(e2b->arena, json_read_count(given) + 1, sizeof(*items));
	size_t count = 0, len;

	for (size_t i = 0; i < json_read_count(given); i++) {
		const char *text = json_read_text(json_read_at(given, i), &len);

		if (text != NULL)
			items[count++] = arena_text(e2b->arena, text, len);
	}
	return (struct api_list){ items, count };
}

/* Members that are texts, and pointers to them. */
#define TEXTS(build)                                                                          \
	{                                                                                     \
		{ "template", &(build)->template }, { "status", &(build)->status },           \
		{ "uploads", &(build)->uploads }, { "session", &(build)->session },           \
		{ "process", &(build)->process }, { "snapshot", &(build)->snapshot },         \
		{ "workdir", &(build)->workdir }, { "start", &(build)->start },               \
		{ "ready", &(build)->ready }, { "why", &(build)->why },                       \
		{ "step", &(build)->step },                                                   \
	}
#define NUMBERS(build)                                                                        \
	{                                                                                     \
		{ "created_ms", &(build)->created_ms }, { "updated_ms", &(build)->updated_ms }, \
		{ "finishing_ms", &(build)->finishing_ms },                                   \
		{ "memory_mb", &(build)->memory_mb }, { "cpu_count", &(build)->cpu_count },   \
	}
struct text_member {
	const char *key;
	const char **at;
};
struct number_member {
	const char *key;
	uint64_t *at;
};

void build_read(const struct e2b *e2b, const struct json_value *value, const char *etag,
		struct build *ret)
{
	const struct text_member texts[] = TEXTS(ret);
	const struct number_member numbers[] = NUMBERS(ret);

	(void)snprintf(ret->etag, sizeof(ret->etag), "%s", etag);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i].at = text_of(e2b, value, texts[i].key);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i].at = json_get_count(value, numbers[i].key);
	ret->tags = list_of(e2b, json_read_member(value, "tags"));
	ret->env = list_of(e2b, json_read_member(value, "env"));
	if (ret->template == NULL)
		ret->template = "";
	if (ret->status == NULL)
		ret->status = "error";
}

int build_get(const struct e2b *e2b, const char *id, struct build *ret)
{
	cleanup_document struct template_document document = { 0 };
	int found;

	*ret = (struct build){ 0 };
	/* Other texts cannot be the id of a build. */
	if (strlen(id) != TEMPLATE_ID_SIZE - 4 || strspn(id, "0123456789abcdef-") != strlen(id))
		return 0;
	found = template_get(e2b, BUILDS, id, &document);
	if (found <= 0)
		return found;
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	build_read(e2b, document.value, document.etag, ret);
	return 1;
}

static void write_list(struct json_writer *json, const char *key, const struct api_list *list)
{
	const char *const *items = list->items;

	json_write_key(json, key);
	json_write_array_begin(json);
	for (size_t i = 0; i < list->count; i++)
		json_write_string(json, items[i]);
	json_write_array_end(json);
}

static int write_build(struct build *build, struct buf *ret, struct err *err)
{
	const struct text_member texts[] = TEXTS(build);
	const struct number_member numbers[] = NUMBERS(build);
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i].at != NULL)
			json_write_member_string(&json, texts[i].key, *texts[i].at);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (*numbers[i].at != 0)
			json_write_member_uint(&json, numbers[i].key, *numbers[i].at);
	write_list(&json, "tags", &build->tags);
	write_list(&json, "env", &build->env);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static bool is(const struct build *build, const char *status)
{
	return strcmp(build->status, status) == 0;
}

int build_put(const struct e2b *e2b, struct build *build)
{
	cleanup_buf struct buf value = BUF_INIT(TEMPLATE_VALUE_MAX);
	const uint64_t seconds = is(build, "waiting") ? WAITING_S : TEMPLATE_RETENTION_S;
	const bool is_over = is(build, "error") || is(build, "ready");
	cleanup_call struct call call = CALL_INIT;
	struct api_document out;
	enum call_status status;
	char metadata[160];
	struct err err;

	build->updated_ms = clock_wall_ms();
	if (write_build(build, &value, &err) < 0) {
		e2b_refuse(e2b, 400, "variables, commands and tags of a build are longer than 1 MiB");
		return -1;
	}
	(void)snprintf(metadata, sizeof(metadata), "{\"template\":\"%.63s\",\"state\":\"%.10s\"}",
		       build->template, is(build, "waiting") ? "waiting"
					: is_over	     ? "over"
							     : "building");
	status = call_make(e2b->request, API_DOCUMENT_PUT,
			   &(struct api_document_put_in){
				   .collection = BUILDS,
				   .id = build->id,
				   .value = { value.data, value.len },
				   .metadata = { metadata, strlen(metadata) },
				   .has_expires_in_ms =
					   !is(build, "ready") || build->snapshot == NULL,
				   .expires_in_ms = seconds * 1000,
				   .if_none_match = build->etag[0] == '\0' ? "*" : NULL,
				   .if_match = build->etag[0] != '\0' ? build->etag : NULL },
			   &out, &call);
	if (status != CALL_OK)
		return failed(e2b, status, &call) == 0 ? 1 : -1;
	(void)snprintf(build->etag, sizeof(build->etag), "%s", out.etag);
	return 0;
}

int build_list(const struct e2b *e2b, const char *template, const char *state, struct api_list *ret)
{
	const char **ids = arena_new(e2b->arena, LIST_MAX, sizeof(*ids));
	cleanup_call struct call call = CALL_INIT;
	const struct api_document *at;
	struct api_documents out;
	char metadata[160];

	(void)snprintf(metadata, sizeof(metadata), "{%s%.63s%s%s%s%.10s%s}",
		       template != NULL ? "\"template\":\"" : "", template != NULL ? template : "",
		       template != NULL ? "\"" : "", template != NULL && state != NULL ? "," : "",
		       state != NULL ? "\"state\":\"" : "", state != NULL ? state : "",
		       state != NULL ? "\"" : "");
	if (call_or_refuse(e2b->request, API_DOCUMENT_LIST,
			   &(struct api_document_list_in){ .collection = BUILDS,
							   .metadata = metadata,
							   .has_limit = true,
							   .limit = LIST_MAX,
							   .has_values = true,
							   .values = false },
			   &out, &call) < 0)
		return -1;
	at = out.documents.items;
	for (size_t i = 0; i < out.documents.count && i < LIST_MAX; i++, at++)
		ids[i] = arena_text(e2b->arena, at->id, strlen(at->id));
	*ret = (struct api_list){ ids, out.documents.count };
	return 0;
}
