/*
 * volumes.c - /volumes: created, listed, shown, removed; which of them a sandbox mounts.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths and bodies from clients.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define ANSWER_MAX (64u * 1024u)
#define MOUNTS_MAX 4u /* the limit of reckond */

/* ---- in sandboxes --------------------------------------------------------------------------- */

static const char *text_of(const struct json_value *object, const char *name)
{
	size_t len;
	const char *text = json_read_text(json_read_member(object, name), &len);

	return text != NULL && len > 0 && strlen(text) == len ? text : NULL;
}

bool e2b_take_volumes(const struct e2b *e2b, const struct json_value *given, struct api_list *ret)
{
	const size_t count = json_read_count(given);
	struct api_volume_mount *mounts = arena_new(e2b->arena, MOUNTS_MAX, sizeof(*mounts));

	if (given != NULL && json_read_kind(given) != JSON_KIND_NULL &&
	    json_read_kind(given) != JSON_KIND_ARRAY) {
		e2b_refuse(e2b, 400, "volumeMounts is a list");
		return false;
	}
	if (count > MOUNTS_MAX) {
		e2b_refuse(e2b, 400, "a sandbox has at most 4 volumes");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		const struct json_value *mount = json_read_at(given, i);

		mounts[i] = (struct api_volume_mount){ .volume = text_of(mount, "name"),
						       .path = text_of(mount, "path") };
		if (mounts[i].volume == NULL || mounts[i].path == NULL) {
			e2b_refuse(e2b, 400, "each of volumeMounts has a name and a path");
			return false;
		}
	}
	*ret = (struct api_list){ mounts, count };
	return true;
}

void e2b_write_volumes(struct json_writer *json, const struct api_session *session)
{
	const struct api_mounted_volume *volumes = session->volumes.items;

	json_write_key(json, "volumeMounts");
	json_write_array_begin(json);
	for (size_t i = 0; i < session->volumes.count; i++) {
		json_write_object_begin(json);
		json_write_member_string(json, "name", volumes[i].name);
		json_write_member_string(json, "path", volumes[i].path);
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

/* ---- by themselves -------------------------------------------------------------------------- */

static void write_names(struct json_writer *json, const struct api_volume *volume)
{
	json_write_member_string(json, "volumeID", volume->id);
	json_write_member_string(json, "name", volume->name);
}

/* Asks reckond for the volume's token, and answers with both. */
static void answer_one(const struct e2b *e2b, unsigned status, const struct api_volume *volume)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_volume_token_out token;
	struct json_writer json;

	if (call_or_refuse(e2b->request, API_VOLUME_TOKEN,
			   &(struct api_volume_token_in){ .volume = volume->id }, &token,
			   &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	write_names(&json, volume);
	json_write_member_string(&json, "token", token.token);
	json_write_object_end(&json);
	e2b_answer_json(e2b, status, &json, NULL);
}

static void make(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	cleanup_call struct call call = CALL_INIT;
	struct api_volume volume;
	const char *name;

	if (body == NULL)
		return;
	name = text_of(body, "name");
	if (name == NULL) {
		e2b_refuse(e2b, 400, "name is missing");
		return;
	}
	if (call_or_refuse(e2b->request, API_VOLUME_CREATE,
			   &(struct api_volume_create_in){ .name = name }, &volume, &call) == 0)
		answer_one(e2b, 201, &volume);
}

static void show(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_volume volume;

	if (call_or_refuse(e2b->request, API_VOLUME_SHOW,
			   &(struct api_volume_show_in){ .volume = e2b->part[1] }, &volume,
			   &call) == 0)
		answer_one(e2b, 200, &volume);
}

static void drop(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;

	if (call_or_refuse(e2b->request, API_VOLUME_DELETE,
			   &(struct api_volume_delete_in){ .volume = e2b->part[1] }, NULL,
			   &call) == 0)
		e2b_answer_empty(e2b, 204);
}

static void list(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_volume *volumes;
	struct json_writer json;
	struct api_volumes out;

	if (call_or_refuse(e2b->request, API_VOLUME_LIST, &(struct api_volume_list_in){ 0 }, &out,
			   &call) < 0)
		return;
	volumes = out.volumes.items;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.volumes.count; i++) {
		json_write_object_begin(&json);
		write_names(&json, &volumes[i]);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

void e2b_volumes(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_POST, "volumes", make },
		{ HTTP_VERB_GET, "volumes", list },
		{ HTTP_VERB_GET, "volumes/*", show },
		{ HTTP_VERB_DELETE, "volumes/*", drop },
	};

	e2b_route(e2b, routes, ARRAY_LEN(routes));
}
