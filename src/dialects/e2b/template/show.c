/*
 * show.c - templates: found by name, listed, shown, removed.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths from clients, documents of the tenant.
 * Never:    lists a template whose main build is not ready.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define ANSWER_MAX (4u << 20)
#define LIST_MAX 500u
#define MEMORY_MB 1024u
#define DISK_MB 1024u

static bool is(const struct build *build, const char *status)
{
	return strcmp(build->status, status) == 0;
}

int template_find(const struct e2b *e2b, const char *wanted, struct build *ret)
{
	cleanup_document struct template_document document = { 0 };
	struct template_name name;
	const struct json_value *tag;
	const char *id;
	int code;

	if (!template_name_of(wanted, &name))
		return 0;
	code = template_settle_all(e2b, name.name);
	if (code == 0)
		code = template_get(e2b, TEMPLATES, name.name, &document);
	if (code <= 0)
		return code;
	tag = json_read_member(json_read_member(document.value, "tags"),
			       name.tag[0] != '\0' ? name.tag : TEMPLATE_TAG_DEFAULT);
	id = json_read_text(json_read_member(tag, "build"), NULL);
	code = id != NULL ? build_get(e2b, id, ret) : 0;
	return code > 0 && !is(ret, "ready") ? 0 : code;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* `build` is NULL for a template of the server. */
static void write_one(struct json_writer *json, const char *name, const struct build *build,
		      size_t count)
{
	json_write_member_string(json, "templateID", name);
	json_write_member_string(json, "buildID", build != NULL ? build->id : name);
	json_write_member_bool(json, "public", false);
	for (size_t i = 0; i < 2; i++) {
		json_write_key(json, i == 0 ? "aliases" : "names");
		json_write_array_begin(json);
		json_write_string(json, name);
		json_write_array_end(json);
	}
	json_write_member_uint(json, "cpuCount",
			       build != NULL && build->cpu_count != 0 ? build->cpu_count : 1);
	json_write_member_uint(json, "memoryMB", build != NULL && build->memory_mb != 0
							 ? build->memory_mb
							 : MEMORY_MB);
	json_write_member_uint(json, "diskSizeMB", DISK_MB);
	e2b_write_moment(json, "createdAt", build != NULL ? build->created_ms : 0);
	e2b_write_moment(json, "updatedAt", build != NULL ? build->updated_ms : 0);
	json_write_key(json, "createdBy");
	json_write_null(json);
	json_write_key(json, "lastSpawnedAt");
	json_write_null(json);
	json_write_member_uint(json, "spawnCount", 0);
	json_write_member_uint(json, "buildCount", count);
	json_write_member_string(json, "envdVersion", E2B_ENVD_VERSION);
	json_write_member_string(json, "buildStatus", "ready");
}

/* The build that stands for the template: that of the default tag, else that of the first tag. */
static int main_build(const struct e2b *e2b, const struct json_value *value, struct build *ret)
{
	const struct json_value *tags = json_read_member(value, "tags");
	const struct json_value *tag = json_read_member(tags, TEMPLATE_TAG_DEFAULT);
	const char *key, *id;

	if (tag == NULL)
		(void)json_read_member_at(tags, 0, &key, &tag);
	id = json_read_text(json_read_member(tag, "build"), NULL);
	return id != NULL ? build_get(e2b, id, ret) : 0;
}

static int write_own(const struct e2b *e2b, struct json_writer *json)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_document *at;
	struct api_documents out;

	if (call_or_refuse(e2b->request, API_DOCUMENT_LIST,
			   &(struct api_document_list_in){
				   .collection = TEMPLATES, .has_limit = true, .limit = LIST_MAX },
			   &out, &call) < 0)
		return -1;
	at = out.documents.items;
	for (size_t i = 0; i < out.documents.count; i++, at++) {
		cleanup_json struct json_value *value = NULL;
		struct build build;
		struct err ignored;
		int code = json_read_parse(at->value.data, at->value.len, TEMPLATE_VALUE_MAX,
					   &value, &ignored) == 0
				   ? main_build(e2b, value, &build)
				   : 0;

		if (code < 0)
			return -1;
		if (code == 0 || !is(&build, "ready"))
			continue;
		json_write_object_begin(json);
		write_one(json, at->id, &build, json_read_count(json_read_member(value, "tags")));
		json_write_object_end(json);
	}
	return 0;
}

void template_list(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	cleanup_json struct json_value *all = NULL;
	struct api_template_list_out out;
	struct json_writer json;
	struct err err;

	if (call_or_refuse(e2b->request, API_TEMPLATE_LIST, &(struct api_template_list_in){ 0 },
			   &out, &call) < 0)
		return;
	if (json_read_parse(out.templates.data, out.templates.len, ANSWER_MAX, &all, &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return;
	}
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; i < json_read_count(all); i++) {
		const char *name =
			json_read_text(json_read_member(json_read_at(all, i), "name"), NULL);

		if (name == NULL)
			continue;
		json_write_object_begin(&json);
		write_one(&json, name, NULL, 1);
		json_write_object_end(&json);
	}
	if (write_own(e2b, &json) < 0)
		return;
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* ---- one ------------------------------------------------------------------------------------ */

static int write_builds(const struct e2b *e2b, const struct api_list *list,
			struct json_writer *json)
{
	const char *const *ids = list->items;

	json_write_key(json, "builds");
	json_write_array_begin(json);
	for (size_t i = 0; i < list->count; i++) {
		struct build build;
		const int code = build_get(e2b, ids[i], &build);

		if (code < 0)
			return -1;
		if (code == 0)
			continue;
		json_write_object_begin(json);
		json_write_member_string(json, "buildID", build.id);
		json_write_member_string(json, "status",
					 is(&build, "finishing") ? "building" : build.status);
		e2b_write_moment(json, "createdAt", build.created_ms);
		e2b_write_moment(json, "updatedAt", build.updated_ms);
		json_write_member_uint(json, "cpuCount",
				       build.cpu_count != 0 ? build.cpu_count : 1);
		json_write_member_uint(json, "memoryMB",
				       build.memory_mb != 0 ? build.memory_mb : MEMORY_MB);
		json_write_object_end(json);
	}
	json_write_array_end(json);
	return 0;
}

void template_show(struct e2b *e2b)
{
	cleanup_document struct template_document document = { 0 };
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct template_name name;
	struct json_writer json;
	struct api_list list;
	struct build build;
	int code;

	if (!template_take_name(e2b, e2b->part[1], &name) ||
	    template_settle_all(e2b, name.name) < 0)
		return;
	code = template_get(e2b, TEMPLATES, name.name, &document);
	if (code > 0)
		code = main_build(e2b, document.value, &build);
	if (code == 0)
		e2b_refuse(e2b, 404, "there is no such template");
	if (code <= 0 || build_list(e2b, name.name, NULL, &list) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	write_one(&json, name.name, &build, list.count);
	if (write_builds(e2b, &list, &json) < 0)
		return;
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

void template_remove(struct e2b *e2b)
{
	cleanup_document struct template_document document = { 0 };
	const char *const *ids;
	struct template_name name;
	struct api_list list;
	int code = template_name_of(e2b->part[1], &name) && name.tag[0] == '\0'
			   ? template_get(e2b, TEMPLATES, name.name, &document)
			   : 0;

	if (code == 0)
		e2b_snapshot_remove(e2b);
	if (code <= 0 || template_forget(e2b, TEMPLATES, name.name, NULL) < 0 ||
	    build_list(e2b, name.name, NULL, &list) < 0)
		return;
	ids = list.items;
	for (size_t i = 0; i < list.count; i++) {
		struct build build;

		code = build_get(e2b, ids[i], &build);
		if (code < 0 || (code > 0 && template_drop_build(e2b, &build) < 0))
			return;
	}
	e2b_answer_empty(e2b, 204);
}
