/*
 * tags.c - tags of templates: which build a name means.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies and paths from clients.
 * Never:    lets a tag point to a build that is not ready.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/template/template.h"

#define ANSWER_MAX (1u << 20)
#define PATCH_MAX 16384u
#define TAGS_OF_ONE_MAX 1000u

/* Points all these tags to the build; `build` NULL: removes them. */
static int patch(const struct e2b *e2b, const char *name, const struct api_list *tags,
		 const char *build)
{
	cleanup_document struct template_document document = { 0 };
	cleanup_buf struct buf text = BUF_INIT(PATCH_MAX);
	const char *const *items = tags->items;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "tags");
	json_write_object_begin(&json);
	for (size_t i = 0; i < tags->count; i++) {
		json_write_key(&json, items[i]);
		if (build == NULL) {
			json_write_null(&json);
			continue;
		}
		json_write_object_begin(&json);
		json_write_member_string(&json, "build", build);
		json_write_member_uint(&json, "at_ms", clock_wall_ms());
		json_write_object_end(&json);
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return -1;
	}
	return template_patch(e2b, name, buf_text(&text), false, &document);
}

/* Whether the template may get `count` more tags. False: answered with an error. */
static bool is_room(const struct e2b *e2b, const char *name, size_t count)
{
	cleanup_document struct template_document document = { 0 };

	if (template_get(e2b, TEMPLATES, name, &document) < 0)
		return false;
	if (json_read_count(json_read_member(document.value, "tags")) + count <= TAGS_OF_ONE_MAX)
		return true;
	e2b_refuse(e2b, 400, "a template has at most 1000 tags");
	return false;
}

void template_tags_assign(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const char *target = json_get_c_text(body, "target");
	cleanup_buf struct buf answer = BUF_INIT(ANSWER_MAX);
	const char *const *items;
	struct template_name name;
	struct json_writer json;
	struct api_list tags;
	struct build build;
	int code;

	if (body == NULL || !template_take_name(e2b, target, &name) ||
	    !template_take_tags(e2b, json_read_member(body, "tags"), &tags))
		return;
	if (tags.count == 0) {
		e2b_refuse(e2b, 400, "there is no tag to give");
		return;
	}
	code = template_find(e2b, target, &build);
	if (code == 0)
		e2b_refuse(e2b, 404, "there is no such template, or it has not this tag");
	if (code <= 0 || !is_room(e2b, name.name, tags.count) ||
	    patch(e2b, name.name, &tags, build.id) < 0 || template_sweep(e2b, name.name) < 0)
		return;
	items = tags.items;
	json_write_init(&json, &answer);
	json_write_object_begin(&json);
	json_write_member_string(&json, "buildID", build.id);
	json_write_key(&json, "tags");
	json_write_array_begin(&json);
	for (size_t i = 0; i < tags.count; i++)
		json_write_string(&json, items[i]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 201, &json, NULL);
}

/* Removes a template that has no tags and no pending builds. */
static int forget_empty(const struct e2b *e2b, const char *name)
{
	cleanup_document struct template_document document = { 0 };
	const int found = template_get(e2b, TEMPLATES, name, &document);

	if (found > 0 && json_read_count(json_read_member(document.value, "tags")) == 0 &&
	    json_read_count(json_read_member(document.value, "pending")) == 0)
		return template_forget(e2b, TEMPLATES, name, document.etag);
	return found < 0 ? -1 : 0;
}

void template_tags_remove(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const char *given = json_get_c_text(body, "name");
	struct template_name name;
	struct api_list tags;
	int code;

	if (body == NULL || !template_take_name(e2b, given, &name) ||
	    !template_take_tags(e2b, json_read_member(body, "tags"), &tags))
		return;
	if (tags.count == 0) {
		e2b_refuse(e2b, 400, "there is no tag to take away");
		return;
	}
	if (template_settle_all(e2b, name.name) < 0)
		return;
	code = patch(e2b, name.name, &tags, NULL);
	if (code == 0)
		e2b_refuse(e2b, 404, "there is no such template");
	if (code > 0 && template_sweep(e2b, name.name) == 0 && forget_empty(e2b, name.name) == 0)
		e2b_answer_empty(e2b, 204);
}

void template_tags_list(struct e2b *e2b)
{
	cleanup_document struct template_document document = { 0 };
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	const struct json_value *tags, *value;
	struct template_name name;
	struct json_writer json;
	const char *tag;
	int code;

	if (!template_take_name(e2b, e2b->part[1], &name) ||
	    template_settle_all(e2b, name.name) < 0)
		return;
	code = template_get(e2b, TEMPLATES, name.name, &document);
	tags = json_read_member(document.value, "tags");
	if (code == 0 || (code > 0 && json_read_count(tags) == 0))
		e2b_refuse(e2b, 404, "there is no such template");
	if (code <= 0 || json_read_count(tags) == 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; json_read_member_at(tags, i, &tag, &value); i++) {
		int64_t at_ms = 0;

		(void)json_read_int(json_read_member(value, "at_ms"), &at_ms);
		json_write_object_begin(&json);
		json_write_member_string(&json, "tag", tag);
		json_write_member_string(&json, "buildID",
					 json_read_text(json_read_member(value, "build"), NULL));
		e2b_write_moment(&json, "createdAt", at_ms > 0 ? (uint64_t)at_ms : 0);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}
