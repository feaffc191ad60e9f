/*
 * messages.c - messages of threads: add, list, show, change and delete them.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client.
 * Never:    shows a message of another thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/openai/files/files_read.h"
#include "dialects/openai/assistants/threads.h"

#define ATTACHMENTS_MAX 20u

/* ---- content -------------------------------------------------------------------------------- */

static void write_text(struct json_writer *json, const char *text, size_t len)
{
	json_write_object_begin(json);
	json_write_member_string(json, "type", "text");
	json_write_key(json, "text");
	json_write_object_begin(json);
	json_write_member_text(json, "value", text, len);
	json_write_key(json, "annotations");
	json_write_raw(json, "[]", 2);
	json_write_object_end(json);
	json_write_object_end(json);
}

static int write_part(struct json_writer *json, const struct json_value *part, struct err *err)
{
	const char *type = json_get_text(part, "type");
	size_t len;
	const char *text = json_read_text(json_read_member(part, "text"), &len);

	if (text != NULL)
		write_text(json, text, len);
	else if (type != NULL &&
		 (strcmp(type, "image_file") == 0 || strcmp(type, "image_url") == 0))
		object_write_value(json, part);
	else
		return err_set(err, ERR_INVALID,
			       "content: a part of type '%.60s' is not supported here",
			       type != NULL ? type : "");
	return 0;
}

static int write_content(struct json_writer *json, const struct json_value *content,
			 struct err *err)
{
	size_t len;
	const char *text = json_read_text(content, &len);

	if (text == NULL && json_read_count(content) == 0)
		return err_set(err, ERR_INVALID, "content: it is missing");
	json_write_key(json, "content");
	json_write_array_begin(json);
	if (text != NULL)
		write_text(json, text, len);
	for (size_t i = 0; text == NULL && i < json_read_count(content); i++)
		if (write_part(json, json_read_at(content, i), err) < 0)
			return (int)err->code;
	json_write_array_end(json);
	return 0;
}

static int write_message(struct json_writer *json, const char *id, const char *thread,
			 const struct json_value *body, struct err *err)
{
	static const struct object_member members[] = { { "attachments", "[]" },
							{ "metadata", "{}" } };
	const char *role = json_get_text(body, "role");
	const uint64_t now = clock_wall_ms() / 1000;

	if (json_read_count(json_read_member(body, "attachments")) > ATTACHMENTS_MAX)
		return err_set(err, ERR_INVALID, "attachments: there are at most %u",
			       ATTACHMENTS_MAX);
	if (role == NULL || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
		return err_set(err, ERR_INVALID, "role: it is user or assistant");
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "object", "thread.message");
	json_write_member_uint(json, "created_at", now);
	json_write_member_string(json, "thread_id", thread);
	json_write_member_string(json, "status", "completed");
	json_write_member_string(json, "incomplete_details", NULL);
	json_write_member_uint(json, "completed_at", now);
	json_write_member_string(json, "incomplete_at", NULL);
	json_write_member_string(json, "role", role);
	if (write_content(json, json_read_member(body, "content"), err) < 0)
		return (int)err->code;
	json_write_member_string(json, "assistant_id", NULL);
	json_write_member_string(json, "run_id", NULL);
	object_write_members(json, body, NULL, members, ARRAY_LEN(members));
	json_write_object_end(json);
	return 0;
}

/* Refuses now an image that a run could not read later. Negative: refused. */
static int check_image(struct request *request, const struct json_value *part)
{
	const char *type = json_get_text(part, "type");
	const char *file = json_get_text(json_read_member(part, "image_file"), "file_id");
	const char *url = json_get_text(json_read_member(part, "image_url"), "url");
	struct err err;

	if (type != NULL && strcmp(type, "image_file") == 0)
		return files_check(request, file != NULL ? file : "");
	if (type == NULL || strcmp(type, "image_url") != 0 ||
	    (url != NULL && strncmp(url, "data:image/", 11) == 0))
		return 0;
	(void)err_set(&err, ERR_INVALID, "image_url: only data URLs (data:image/png;base64,…) are "
		      "taken: there is no network here");
	answer_refuse_invalid(request, &err);
	return -1;
}

static int check_images(struct request *request, const struct json_value *content)
{
	for (size_t i = 0; i < json_read_count(content); i++)
		if (check_image(request, json_read_at(content, i)) < 0)
			return -1;
	return 0;
}

int thread_message_add(struct request *request, const char *thread, const struct json_value *body,
		       struct buf *ret)
{
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	if (check_images(request, json_read_member(body, "content")) < 0 ||
	    object_id(&thread_message_kind, id) < 0)
		return -1;
	json_write_init(&json, ret);
	if (write_message(&json, id, thread, body, &err) < 0 ||
	    json_write_finish(&json, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return -1;
	}
	return object_put(request, &thread_message_kind, id, thread, ret, NULL);
}

/* ---- a message of a thread ------------------------------------------------------------------ */

static int find(struct request *request, const char *thread, const char *id,
		struct json_value **ret)
{
	const char *in;

	if (object_find(request, &thread_message_kind, id, ret) < 0)
		return -1;
	in = json_get_text(json_read_member(*ret, "object"), "thread_id");
	if (in != NULL && strcmp(in, thread) == 0)
		return 0;
	answer_refuse_simple(request, 404, "not_found", "there is no such message in the thread",
			     NULL);
	return -1;
}

/* Changes its metadata. */
static void change(struct request *request, const char *thread, const char *id,
		   const struct json_value *was)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;
	const struct json_value *value, *metadata;
	struct json_writer json;
	const char *key;
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	metadata = json_read_member(body, "metadata");
	json_write_init(&json, &shown);
	json_write_object_begin(&json);
	for (size_t i = 0; json_read_member_at(was, i, &key, &value); i++)
		object_write_member(&json, key,
				    strcmp(key, "metadata") == 0 && metadata != NULL ? metadata
										    : value);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (object_put(request, &thread_message_kind, id, thread, &shown, NULL) == 0)
		openai_answer(request, &shown);
	json_read_free(body);
}

static void handle_one(struct request *request, const char *thread, const char *id)
{
	const enum http_verb verb = request_head(request)->verb;
	struct json_value *value = NULL;

	if (find(request, thread, id, &value) < 0) {
		json_read_free(value);
		return;
	}
	if (verb == HTTP_VERB_GET)
		object_answer(request, value);
	else if (verb == HTTP_VERB_POST)
		change(request, thread, id, json_read_member(value, "object"));
	else
		object_delete(request, &thread_message_kind, id);
	json_read_free(value);
}

static void add(struct request *request, const char *thread)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;

	if (object_body(request, &body) == 0 &&
	    thread_message_add(request, thread, body, &shown) == 0)
		openai_answer(request, &shown);
	json_read_free(body);
}

void thread_messages_handle(struct request *request, const char *thread, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;

	if (rest[0] == '/')
		handle_one(request, thread, rest + 1);
	else if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		add(request, thread);
	else if (rest[0] == '\0' && verb == HTTP_VERB_GET)
		object_list(request, &thread_message_kind, thread, NULL, NULL);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}
