/*
 * threads.c - threads: create, show, change and delete them; maps their paths to handlers.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client.
 * Never:    leaves messages, runs or steps of a deleted thread.
 */
#include "dialects/openai/assistants/threads.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static int write_shown(const char *id, const struct json_value *body, const struct json_value *was,
		       struct buf *ret, struct err *err)
{
	static const struct object_member members[] = { { "metadata", "{}" },
							{ "tool_resources", "{}" } };

	if (assistant_check_resources(body, err) < 0)
		return (int)err->code;
	return object_write(&thread_kind, id, body, was, members, ARRAY_LEN(members), ret, err);
}

/* Creates a thread with its messages. */
static int make(struct request *request, const struct json_value *body, char id[NAME_SIZE],
		struct buf *shown)
{
	const struct json_value *messages = json_read_member(body, "messages");
	struct err err;

	if (object_id(&thread_kind, id) < 0) {
		answer_refuse_simple(request, 500, "internal", "there is no random number", NULL);
		return -1;
	}
	if (write_shown(id, body, NULL, shown, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return -1;
	}
	if (object_put(request, &thread_kind, id, NULL, shown, NULL) < 0)
		return -1;
	for (size_t i = 0; i < json_read_count(messages); i++) {
		cleanup_buf struct buf message = BUF_INIT(OBJECT_MAX);

		if (thread_message_add(request, id, json_read_at(messages, i), &message) < 0)
			return -1;
	}
	return 0;
}

static void create(struct request *request)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;
	char id[NAME_SIZE];

	if (object_body(request, &body) == 0 && make(request, body, id, &shown) == 0)
		openai_answer(request, &shown);
	json_read_free(body);
}

static void create_and_run(struct request *request)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL, *thread = NULL;
	char id[NAME_SIZE];
	struct err err;

	if (object_body(request, &body) == 0 &&
	    make(request, json_read_member(body, "thread"), id, &shown) == 0) {
		if (json_read_parse(buf_text(&shown), shown.len, OBJECT_MAX, &thread, &err) == 0)
			thread_runs_create(request, id, body, thread);
		else
			answer_refuse_simple(request, 500, "internal", err.text, NULL);
	}
	json_read_free(thread);
	json_read_free(body);
}

static void change(struct request *request, const char *id, const struct json_value *value)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX), patch = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	if (write_shown(id, body, json_read_member(value, "object"), &shown, &err) < 0 ||
	    buf_addf(&patch, &err, "{\"object\":%s}", buf_text(&shown)) < 0)
		answer_refuse_invalid(request, &err);
	else if (object_remember(request, &thread_kind, id, buf_text(&patch)) < 0)
		answer_refuse_simple(request, 500, "internal", "it could not be changed", NULL);
	else
		openai_answer(request, &shown);
	json_read_free(body);
}

static void clear_run(struct json_value *value, void *arg)
{
	struct request *request = arg;
	cleanup_call struct call call = CALL_INIT;
	const char *id =
		json_read_text(json_read_member(json_read_member(value, "object"), "id"), NULL);
	const char *part = json_read_text(json_read_member(value, "part"), NULL);

	if (id != NULL && object_clear(request, &thread_step_kind, id) == 0) {
		(void)call_make(request, API_RUN_DELETE, &(struct api_run_delete_in){ .id = id },
				NULL, &call);
		if (part != NULL && strcmp(part, id) != 0)
			(void)call_make(request, API_RUN_DELETE,
					&(struct api_run_delete_in){ .id = part }, NULL, &call);
	}
	json_read_free(value);
}

static void delete(struct request *request, const char *id, const struct json_value *value)
{
	char going[NAME_SIZE];
	const int now = thread_settle(request, value, going);

	if (now == 1)
		answer_refuse_simple(request, 400, "invalid", "a run of this thread goes on",
				     "cancel it first");
	if (now != 0)
		return;
	if (object_each(request, &thread_run_kind, id, 10000, clear_run, request) == 0 &&
	    object_clear(request, &thread_run_kind, id) == 0 &&
	    object_clear(request, &thread_message_kind, id) == 0)
		object_delete(request, &thread_kind, id);
}

/* Handles "", "/messages…", "/runs…" of an existing thread. */
static void handle_one(struct request *request, const char *id, const char *behind)
{
	const enum http_verb verb = request_head(request)->verb;
	struct json_value *value = NULL;
	char going[NAME_SIZE];

	if (call_check_key(request) < 0 || object_find(request, &thread_kind, id, &value) < 0)
		return;
	if (strncmp(behind, "/messages", 9) == 0) {
		if (thread_settle(request, value, going) >= 0)
			thread_messages_handle(request, id, behind + 9);
	} else if (strncmp(behind, "/runs", 5) == 0) {
		if (behind[5] != '\0' || verb != HTTP_VERB_GET ||
		    thread_settle(request, value, going) >= 0)
			thread_runs_handle(request, id, behind + 5);
	} else if (behind[0] != '\0') {
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
	} else if (verb == HTTP_VERB_GET) {
		object_answer(request, value);
	} else if (verb == HTTP_VERB_POST) {
		change(request, id, value);
	} else {
		delete(request, id, value);
	}
	json_read_free(value);
}

void threads_handle(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof(id), "%.*s", (int)len, len > 0 ? rest + 1 : "");
	if (rest[0] == '\0' && verb == HTTP_VERB_POST)
		create(request);
	else if (strcmp(rest, "/runs") == 0 && verb == HTTP_VERB_POST)
		create_and_run(request);
	else if (len > 0)
		handle_one(request, id, rest + 1 + len);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing at this path",
				     NULL);
}
