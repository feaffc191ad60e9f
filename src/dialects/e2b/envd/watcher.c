/*
 * watcher.c - changes of files for clients that poll: CreateWatcher, GetWatcherEvents,
 *             RemoveWatcher.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients; events of reckond, with file names that hostile programs chose.
 * Never:    hides lost changes: it answers with an error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "dialects/e2b/envd/watch.h"

#define EVENTS_MAX ((size_t)16 << 20) /* of one answer; the next answer has the rest */

/*
 * reckond stores each reader's position under its name. A watcher's id is that name and, if the
 * client wants entries, a colon and the folder. An invented id is harmless: reckond looks for the
 * name only in the sandbox that the client may use anyway.
 */
static bool take_watcher(const struct e2b *e2b, const struct json_value *message,
			 struct watch *watch, struct api_watch_in *in)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
					 "0123456789";
	const char *id = e2b_rpc_text(message, "watcherId");
	const size_t len = strspn(id, characters);

	*watch = (struct watch){ .e2b = e2b };
	if (len == 0 || len >= ID_SIZE || (id[len] != '\0' && id[len] != ':')) {
		e2b_rpc_refuse(e2b->request, 404, "watcher with this id not found");
		return false;
	}
	watch->has_entry = id[len] == ':';
	watch->root = watch->has_entry ? id + len + 1 : "";
	*in = (struct api_watch_in){ .session = e2b->target.session,
				     .reader = arena_text(e2b->arena, id, len),
				     .has_goes_on = true,
				     .goes_on = true };
	return true;
}

static void refuse_watcher(const struct watch *watch, const struct api_watch_in *in,
			   const struct api_failure *failure)
{
	char message[128];

	if (failure->error != API_ERR_NOT_FOUND) {
		call_refuse(watch->e2b->request, failure);
		return;
	}
	(void)snprintf(message, sizeof(message), "watcher with id %s not found", in->reader);
	e2b_rpc_refuse(watch->e2b->request, 404, message);
}

static enum call_status forget_watcher(const struct watch *watch, struct api_watch_in *in,
				       struct call *call)
{
	in->has_goes_on = in->goes_on = true;
	in->has_forget = in->forget = true;
	return call_make(watch->e2b->request, API_WATCH, in, NULL, call);
}

static void refuse_error(const struct watch *watch, const char *code, const char *error)
{
	e2b_rpc_refuse(watch->e2b->request, strcmp(code, "internal") == 0 ? 500 : 429, error);
}

/* Negative: answered with an error, or the client disconnected. */
static int write_events(const struct watch *watch, struct json_writer *json,
			const struct api_events *events)
{
	const struct api_event *event = events->events.items;

	if (events->has_missing && events->missing > 0) {
		refuse_error(watch, "internal", WATCH_MISSED);
		return -1;
	}
	for (size_t i = 0; i < events->events.count; i++, event++) {
		cleanup_json struct json_value *value = NULL;
		struct watch_change changes[2];
		const char *code = "internal", *error = WATCH_MISSED;
		struct err err;
		size_t count;

		if (json_read_parse(event->data.data, event->data.len, WATCH_EVENT_MAX, &value, &err) ==
		    0)
			error = watch_error_of(event->name, value, &code);
		if (error != NULL) {
			refuse_error(watch, code, error);
			return -1;
		}
		count = watch_changes_of(event->name, value, changes);
		for (size_t j = 0; j < count; j++)
			if (watch_write_change(watch, json, changes[j].type, changes[j].name) < 0)
				return -1;
	}
	return 0;
}

/* Whether the first event reports that not all folders can be watched. */
static bool is_limited(const struct api_events *events)
{
	const struct api_event *event = events->events.items;
	cleanup_json struct json_value *value = NULL;
	const char *code;
	struct err err;

	return events->events.count > 0 &&
	       (json_read_parse(event->data.data, event->data.len, WATCH_EVENT_MAX, &value, &err) < 0 ||
		watch_error_of(event->name, value, &code) != NULL);
}

void e2b_watcher_create(struct e2b *e2b, const struct json_value *message)
{
	cleanup_buf struct buf id = BUF_INIT(2 * E2B_PATH_SIZE), body = BUF_INIT(8 * E2B_PATH_SIZE);
	cleanup_call struct call call = CALL_INIT;
	struct api_events events;
	struct api_watch_in in;
	struct json_writer json;
	enum call_status status;
	struct watch watch;
	char name[ID_SIZE];
	struct err err;

	if (!watch_take(e2b, message, &watch, &in))
		return;
	if (id_new(name, "fw", &err) < 0 ||
	    buf_addf(&id, &err, "%s%s%s", name, watch.has_entry ? ":" : "",
		     watch.has_entry ? watch.root : "") < 0) {
		e2b_rpc_refuse(e2b->request, 500, err.text);
		return;
	}
	in.reader = name;
	status = call_make(e2b->request, API_WATCH, &in, &events, &call);
	if (status == CALL_FAILED)
		watch_refuse(&watch, call.failure);
	if (status != CALL_OK)
		return;
	if (is_limited(&events)) {
		if (forget_watcher(&watch, &in, &call) != CALL_GONE)
			refuse_error(&watch, "resource_exhausted", WATCH_LIMITED);
		return;
	}
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "watcherId", id.data);
	json_write_object_end(&json);
	e2b_rpc_answer(e2b, &json);
}

void e2b_watcher_events(struct e2b *e2b, const struct json_value *message)
{
	cleanup_buf struct buf body = BUF_INIT(2 * EVENTS_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;
	struct api_watch_in in;
	struct watch watch;

	if (!take_watcher(e2b, message, &watch, &in))
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "events");
	json_write_array_begin(&json);
	while (body.len < EVENTS_MAX) {
		struct api_events events;
		const enum call_status status =
			call_make(e2b->request, API_WATCH, &in, &events, &call);

		if (status == CALL_FAILED)
			refuse_watcher(&watch, &in, call.failure);
		if (status != CALL_OK || write_events(&watch, &json, &events) < 0)
			return;
		if (events.events.count == 0)
			break;
	}
	json_write_array_end(&json);
	json_write_object_end(&json);
	e2b_rpc_answer(e2b, &json);
}

void e2b_watcher_remove(struct e2b *e2b, const struct json_value *message)
{
	cleanup_call struct call call = CALL_INIT;
	enum call_status status;
	struct api_watch_in in;
	struct watch watch;

	if (!take_watcher(e2b, message, &watch, &in))
		return;
	status = forget_watcher(&watch, &in, &call);
	if (status == CALL_FAILED)
		refuse_watcher(&watch, &in, call.failure);
	else if (status == CALL_OK)
		e2b_rpc_empty(e2b);
}
