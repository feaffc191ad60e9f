/*
 * shape.c - fields of a frame as the JSON of the API.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    writes JSON by hand; what is embedded was checked when it came in.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/api.h"
#include "codec/json_write.h"
#include "front/front.h"

static void member_seconds(struct json_writer *json, const char *key, uint64_t ms)
{
	json_write_key(json, key);
	json_write_seconds(json, ms * 1000000u);
}

/* Only what was set; the rest are defaults, which the record of an execution names. */
static void limits(struct json_writer *json, const struct kernel_item *item)
{
	struct front_limits l = { 0 };

	if (item != NULL && item->len == sizeof(l))
		memcpy(&l, item->data, sizeof(l));
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "memory_bytes", l.memory_bytes }, { "disk_bytes", l.disk_bytes },
		{ "files", l.inodes },		    { "file_bytes", l.file_bytes },
		{ "output_bytes", l.output_bytes }, { "processes", l.pids },
		{ "cpu_percent", l.cpu_percent },   { "displays", l.displays },
	};

	json_write_key(json, "limits");
	json_write_object_begin(json);
	if (l.wall_ms != 0)
		member_seconds(json, "wall_s", l.wall_ms);
	if (l.cpu_ms != 0)
		member_seconds(json, "cpu_s", l.cpu_ms);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value != 0)
			json_write_member_uint(json, numbers[i].name, numbers[i].value);
	json_write_object_end(json);
}

/* Of a live session: what a restart did to it, or would. */
static void kept(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	const uint64_t expires = front_u64(items, count, FRONT_TAG_ENDS_MS, 0);
	const uint64_t not_kept = front_u64(items, count, FRONT_TAG_NOT_KEPT, 0);
	char text[CLOCK_RFC3339_SIZE];

	shape_member(json, "kernel", items, count, FRONT_TAG_KERNEL);
	shape_member(json, "restored_at", items, count, FRONT_TAG_RESTORED_AT);
	if (expires != 0) {
		clock_rfc3339(expires, text);
		json_write_member_string(json, "expires_at", text);
	}
	if (not_kept == 0)
		return;
	json_write_key(json, "files_not_kept");
	json_write_object_begin(json);
	json_write_member_uint(json, "count", not_kept);
	shape_member(json, "why", items, count, FRONT_TAG_NOT_KEPT_WHY);
	json_write_object_end(json);
}

static void policy(struct json_writer *json, uint64_t flags)
{
	static const char *const isolate[] = { API_ISOLATE_CPU };

	json_write_key(json, "policy");
	json_write_object_begin(json);
	json_write_member_string(json, "network", "none");
	json_write_key(json, "isolate_cpu");
	json_write_array_begin(json);
	for (size_t i = 0; i < ARRAY_LEN(isolate); i++)
		if ((flags & 1u << i) != 0)
			json_write_string(json, isolate[i]);
	json_write_array_end(json);
	json_write_object_end(json);
}

static void session(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	const struct kernel_item *metadata = front_find(items, count, FRONT_TAG_METADATA);

	json_write_object_begin(json);
	shape_member(json, "id", items, count, FRONT_TAG_SESSION);
	shape_member_or_null(json, "name", items, count, FRONT_TAG_SESSION_NAME);
	shape_member(json, "status", items, count, FRONT_TAG_STATUS);
	shape_member_or_null(json, "template", items, count, FRONT_TAG_TEMPLATE);
	shape_member(json, "language", items, count, FRONT_TAG_LANGUAGE);
	limits(json, front_find(items, count, FRONT_TAG_LIMITS));
	policy(json, front_u64(items, count, FRONT_TAG_POLICY, 0));
	json_write_key(json, "metadata");
	if (metadata != NULL)
		json_write_raw(json, metadata->data, metadata->len);
	else
		json_write_raw(json, "{}", 2);
	member_seconds(json, "idle_timeout_s", front_u64(items, count, FRONT_TAG_IDLE_MS, 0));
	json_write_member_uint(json, "pending", front_u64(items, count, FRONT_TAG_QUEUED, 0));
	shape_member(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	shape_member(json, "ended_at", items, count, FRONT_TAG_ENDED_AT);
	shape_member(json, "why", items, count, FRONT_TAG_WHY);
	kept(json, items, count);
	json_write_object_end(json);
}

static void execution(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	json_write_object_begin(json);
	shape_member(json, "id", items, count, FRONT_TAG_EXECUTION);
	shape_member(json, "session", items, count, FRONT_TAG_SESSION);
	json_write_member_uint(json, "sequence", front_u64(items, count, FRONT_TAG_SEQUENCE, 0));
	shape_member(json, "status", items, count, FRONT_TAG_STATUS);
	shape_member(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	shape_member(json, "ended_at", items, count, FRONT_TAG_ENDED_AT);
	shape_member(json, "why", items, count, FRONT_TAG_WHY);
	shape_member(json, "code", items, count, FRONT_TAG_CODE_HEAD);
	if (front_find(items, count, FRONT_TAG_CODE_BYTES) != NULL)
		json_write_member_uint(json, "code_bytes",
				       front_u64(items, count, FRONT_TAG_CODE_BYTES, 0));
	json_write_object_end(json);
}

int shape_sessions(const struct kernel_item *items, size_t count, struct buf *ret,
		   struct err *err)
{
	return shape_list("sessions", FRONT_TAG_SESSION, true, session, items, count, ret, err);
}

int shape_executions(const struct kernel_item *items, size_t count, struct buf *ret,
		     struct err *err)
{
	return shape_list("executions", FRONT_TAG_EXECUTION, true, execution, items, count, ret, err);
}

int shape_session(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	session(&json, items, count);
	return json_write_finish(&json, err);
}

int shape_execution(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	execution(&json, items, count);
	return json_write_finish(&json, err);
}

int shape_nothing(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	(void)items, (void)count;
	return buf_adds(ret, "{}", err);
}

static int shape_whether(const char *name, const struct kernel_item *items, size_t count,
			 struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_bool(&json, name, front_u64(items, count, FRONT_TAG_COUNT, 0) > 0);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int shape_interrupt(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err)
{
	return shape_whether("interrupted", items, count, ret, err);
}

int shape_cancel(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_whether("cancelled", items, count, ret, err);
}

int shape_error(const char *code, const char *message, const char *cause, const char *remedy,
		struct buf *ret, struct err *err)
{
	return shape_error_more(code, message, cause, remedy, NULL, 0, ret, err);
}

int shape_error_more(const char *code, const char *message, const char *cause, const char *remedy,
		     const struct kernel_item *items, size_t count, struct buf *ret,
		     struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "code", code);
	json_write_member_string(&json, "message", message);
	json_write_member_string(&json, "cause", cause[0] != '\0' ? cause : NULL);
	json_write_member_string(&json, "remedy", remedy[0] != '\0' ? remedy : NULL);
	shape_refusal(&json, items, count);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
