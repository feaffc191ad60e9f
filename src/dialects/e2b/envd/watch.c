/*
 * watch.c - WatchDir: changes of files as a stream, and what watcher.c shares with it.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients; events of reckond, with file names that hostile programs chose.
 * Never:    continues after changes were lost, or without some of the folders: E2B has no message
 *           for this, so the watch ends with an error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/envd/watch.h"
#include "dialects/events.h"

#define BEAT "{\"keepalive\":{}}"

/* ---- events --------------------------------------------------------------------------------- */

bool watch_take(struct e2b *e2b, const struct json_value *message, struct watch *watch,
		 struct api_watch_in *in)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	bool is_recursive = false;

	if (!e2b_path_of(e2b_rpc_text(message, "path"), path)) {
		e2b_rpc_refuse(e2b->request, 400, e2b_path_remedy);
		return false;
	}
	if (path->inside == NULL) {
		e2b_rpc_refuse(e2b->request, 400,
			       "folders below /home/user (which is /mnt/data) can be watched");
		return false;
	}
	*watch = (struct watch){ .e2b = e2b, .root = path->whole };
	(void)json_read_bool(json_read_member(message, "recursive"), &is_recursive);
	(void)json_read_bool(json_read_member(message, "includeEntry"), &watch->has_entry);
	*in = (struct api_watch_in){ .session = e2b->target.session,
				     .path = path->inside[0] != '\0' ? path->inside : NULL,
				     .has_recursive = true,
				     .recursive = is_recursive };
	return true;
}

void watch_refuse(const struct watch *watch, const struct api_failure *failure)
{
	const bool is_file = failure->error == API_ERR_DENIED;
	char message[E2B_PATH_SIZE + 64];

	if (failure->error != API_ERR_NOT_FOUND && !is_file) {
		call_refuse(watch->e2b->request, failure);
		return;
	}
	(void)snprintf(message, sizeof(message), "path %s %s", watch->root,
		       is_file ? "not a directory" : "not found");
	e2b_rpc_refuse(watch->e2b->request, is_file ? 400 : 404, message);
}

int watch_write_change(const struct watch *watch, struct json_writer *json, const char *type,
			const char *name)
{
	cleanup_buf struct buf whole = BUF_INIT(2 * E2B_PATH_SIZE);
	const bool is_there = strcmp(type, "REMOVE") != 0 && strcmp(type, "RENAME") != 0;
	char text[32];
	struct err ignored;
	int code = 0;

	(void)snprintf(text, sizeof(text), "EVENT_TYPE_%s", type);
	json_write_object_begin(json);
	json_write_member_string(json, "name", name);
	json_write_member_string(json, "type", text);
	if (watch->has_entry && is_there &&
	    buf_addf(&whole, &ignored, "%s/%s", watch->root, name) == 0)
		code = entry_add(watch->e2b, whole.data, json);
	json_write_object_end(json);
	return code;
}

size_t watch_changes_of(const char *event, const struct json_value *value,
			struct watch_change ret[2])
{
	static const struct {
		const char *event, *type;
	} known[] = {
		{ "create", "CREATE" }, { "write", "WRITE" }, { "remove", "REMOVE" },
		{ "attrib", "CHMOD" },	{ "end", "REMOVE" },
	};
	const char *path = e2b_rpc_text(value, "path");

	if (strcmp(event, "rename") == 0) {
		ret[0] = (struct watch_change){ "RENAME", e2b_rpc_text(value, "from") };
		ret[1] = (struct watch_change){ "CREATE", path };
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].event, event) != 0)
			continue;
		ret[0] = (struct watch_change){ known[i].type, path[0] != '\0' ? path : "." };
		return 1;
	}
	return 0;
}

const char *watch_error_of(const char *event, const struct json_value *value,
			    const char **ret_code)
{
	bool is_limited = false;

	(void)json_read_bool(json_read_member(value, "limited"), &is_limited);
	if (is_limited || strcmp(event, "limit") == 0) {
		*ret_code = "resource_exhausted";
		return WATCH_LIMITED;
	}
	*ret_code = "internal";
	return strcmp(event, "overflow") == 0 ? WATCH_MISSED : NULL;
}

/* ---- WatchDir ------------------------------------------------------------------------------- */

static int send_change(const struct watch *watch, const struct watch_change *change)
{
	cleanup_buf struct buf text = BUF_INIT(WATCH_EVENT_MAX);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "filesystem");
	if (watch_write_change(watch, &json, change->type, change->name) < 0)
		return -1;
	json_write_object_end(&json);
	return e2b_rpc_send(watch->e2b, &json);
}

static int send_start(const struct watch *watch)
{
	cleanup_buf struct buf text = BUF_INIT(64);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "start");
	json_write_object_begin(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return e2b_rpc_send(watch->e2b, &json);
}

/* Negative: the stream is over. */
static int send_event(const struct watch *watch, const struct api_event *event)
{
	cleanup_json struct json_value *value = NULL;
	struct watch_change changes[2];
	const char *code, *error;
	struct err err;
	size_t count;

	if (json_read_parse(event->data.data, event->data.len, WATCH_EVENT_MAX, &value, &err) < 0) {
		e2b_rpc_end(watch->e2b, "internal", WATCH_MISSED);
		return -1;
	}
	error = watch_error_of(event->name, value, &code);
	if (error != NULL) {
		e2b_rpc_end(watch->e2b, code, error);
		return -1;
	}
	count = watch_changes_of(event->name, value, changes);
	for (size_t i = 0; i < count; i++)
		if (send_change(watch, &changes[i]) < 0)
			return -1;
	return 0;
}

/* Handles what follows the start; negative: the stream is over. It ends without a last message if
 * the sandbox is gone, as a process's stream does. */
static int go_on(const struct watch *watch, const struct next_event *next)
{
	if (next->kind == EVENT_NEXT)
		return send_event(watch, &next->event);
	if (next->kind == EVENT_QUIET)
		return e2b_rpc_beat(watch->e2b, BEAT);
	if (next->kind == EVENT_GAP)
		e2b_rpc_end(watch->e2b, "internal", WATCH_MISSED);
	else if (next->kind == EVENT_FAILED)
		answer_break_off(watch->e2b->request);
	return -1;
}

/* Sends `start`, or the error that reckond gave. Negative: the stream is over. */
static int begin(const struct watch *watch, const struct next_event *next)
{
	if (next->kind == EVENT_FAILED)
		watch_refuse(watch, next->failure);
	if (next->kind != EVENT_NEXT || e2b_rpc_begin(watch->e2b) < 0 || send_start(watch) < 0)
		return -1;
	return send_event(watch, &next->event); /* ends the watch if it is limited */
}

/* How long to wait for the next event; 0: the client's deadline has passed. */
static uint64_t wait_ms(const struct watch *watch, uint64_t end_ms)
{
	const uint64_t ping = e2b_rpc_ping_ms(watch->e2b), now = clock_mono_ns() / 1000000;

	return end_ms == 0 || end_ms > now + ping ? ping : end_ms > now ? end_ms - now : 0;
}

void e2b_watch_dir(struct e2b *e2b, const struct json_value *message)
{
	const uint64_t timeout_ms = e2b_rpc_timeout_ms(e2b);
	const uint64_t end_ms = timeout_ms > 0 ? clock_mono_ns() / 1000000 + timeout_ms : 0;
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;
	struct api_watch_in in;
	struct watch watch;
	uint64_t ms;

	if (!watch_take(e2b, message, &watch, &in))
		return;
	events_open(&reader, e2b->request, API_WATCH, &in);
	(void)events_next(&reader, 0, &call, &next);
	if (begin(&watch, &next) < 0)
		return;
	while ((ms = wait_ms(&watch, end_ms)) > 0) {
		if (events_next(&reader, ms, &call, &next) == EVENT_END) {
			e2b_rpc_end(e2b, NULL, NULL);
			return;
		}
		if (next.kind == EVENT_QUIET && wait_ms(&watch, end_ms) == 0)
			break;
		if (go_on(&watch, &next) < 0)
			return;
	}
	e2b_rpc_end(e2b, "deadline_exceeded", E2B_RPC_LATE);
}
