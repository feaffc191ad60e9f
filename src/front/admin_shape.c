/*
 * admin_shape.c - tenants, keys and usage as JSON and CSV; what a refusal says besides.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    writes JSON by hand.
 */
#include <inttypes.h>
#include <string.h>

#include "codec/json_write.h"
#include "front/front.h"

/* Copies what a field of this very size holds; false when there is none. */
static bool take(const struct kernel_item *items, size_t count, enum front_tag tag, void *ret,
		 size_t size)
{
	const struct kernel_item *item = front_find(items, count, tag);

	if (item == NULL || item->len != size)
		return false;
	memcpy(ret, item->data, size);
	return true;
}

static void write_quota(struct json_writer *json, unsigned i, uint64_t value)
{
	json_write_key(json, front_quota_kinds[i].name);
	if (front_quota_kinds[i].is_seconds)
		json_write_seconds(json, value * 1000000u);
	else
		json_write_uint(json, value);
}

static void tenant(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	struct front_quotas quotas = { 0 };
	struct front_usage now = { 0 };

	(void)take(items, count, FRONT_TAG_QUOTAS, &quotas, sizeof(quotas));
	(void)take(items, count, FRONT_TAG_USAGE, &now, sizeof(now));
	json_write_object_begin(json);
	shape_member(json, "id", items, count, FRONT_TAG_TENANT);
	shape_member(json, "name", items, count, FRONT_TAG_NAME);
	shape_member(json, "state", items, count, FRONT_TAG_STATUS);
	shape_member(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	json_write_key(json, "quotas");
	json_write_object_begin(json);
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++)
		if ((quotas.given >> i & 1u) != 0)
			write_quota(json, i, quotas.value[i]);
	json_write_object_end(json);
	json_write_key(json, "now");
	json_write_object_begin(json);
	json_write_member_uint(json, "sessions", now.sessions);
	json_write_member_uint(json, "executions", now.executions);
	json_write_member_uint(json, "disk_bytes", now.disk_bytes);
	json_write_object_end(json);
	json_write_object_end(json);
}

static void key(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	const uint64_t scopes = front_u64(items, count, FRONT_TAG_SCOPES, 0);

	json_write_object_begin(json);
	shape_member(json, "id", items, count, FRONT_TAG_ID);
	shape_member(json, "tenant", items, count, FRONT_TAG_TENANT);
	shape_member(json, "name", items, count, FRONT_TAG_NAME);
	shape_member(json, "state", items, count, FRONT_TAG_STATUS);
	json_write_key(json, "scopes");
	json_write_array_begin(json);
	for (unsigned i = 0; i < FRONT_SCOPES; i++)
		if ((scopes >> i & 1u) != 0)
			json_write_string(json, front_scope_names[i]);
	json_write_array_end(json);
	shape_member(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	shape_member(json, "expires_at", items, count, FRONT_TAG_EXPIRES_AT);
	shape_member(json, "used_at", items, count, FRONT_TAG_USED_AT);
	shape_member(json, "key", items, count, FRONT_TAG_KEY_TEXT);
	json_write_object_end(json);
}

static void usage(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	struct front_usage used = { 0 };

	(void)take(items, count, FRONT_TAG_USAGE, &used, sizeof(used));
	json_write_object_begin(json);
	shape_member(json, "tenant", items, count, FRONT_TAG_TENANT);
	shape_member(json, "day", items, count, FRONT_TAG_DAY);
	json_write_member_uint(json, "sessions", used.sessions);
	json_write_member_uint(json, "executions", used.executions);
	json_write_key(json, "wall_s");
	json_write_seconds(json, used.wall_ms * 1000000u);
	json_write_key(json, "cpu_s");
	json_write_seconds(json, used.cpu_ms * 1000000u);
	json_write_member_uint(json, "memory_mib_s", used.memory_mib_s);
	json_write_member_uint(json, "bytes_in", used.bytes_in);
	json_write_member_uint(json, "bytes_out", used.bytes_out);
	json_write_member_uint(json, "disk_bytes", used.disk_bytes);
	json_write_object_end(json);
}

int shape_tenant(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_one(tenant, items, count, ret, err);
}

int shape_tenants(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("tenants", FRONT_TAG_TENANT, true, tenant, items, count, ret, err);
}

int shape_key(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_one(key, items, count, ret, err);
}

int shape_keys(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("keys", FRONT_TAG_ID, true, key, items, count, ret, err);
}

int shape_usage(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("usage", FRONT_TAG_TENANT, false, usage, items, count, ret, err);
}

/* RFC 4180. Ids and days hold nothing that would have to be quoted. */
int shape_usage_csv(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err)
{
	if (buf_adds(ret, "tenant,day,sessions,executions,wall_s,cpu_s,memory_mib_s,bytes_in,"
			  "bytes_out,disk_bytes\r\n", err) < 0)
		return (int)err->code;
	for (size_t i = 0, n; i < count; i += n) {
		char id[FRONT_ID_MAX + 1] = "", day[16] = "";
		struct front_usage used = { 0 };

		n = shape_entry(items + i, count - i, FRONT_TAG_TENANT);
		(void)front_text(items + i, n, FRONT_TAG_TENANT, id, sizeof(id));
		(void)front_text(items + i, n, FRONT_TAG_DAY, day, sizeof(day));
		(void)take(items + i, n, FRONT_TAG_USAGE, &used, sizeof(used));
		if (buf_addf(ret, err,
			     "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ".%03u,%" PRIu64
			     ".%03u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n",
			     id, day, used.sessions, used.executions, used.wall_ms / 1000,
			     (unsigned)(used.wall_ms % 1000), used.cpu_ms / 1000,
			     (unsigned)(used.cpu_ms % 1000), used.memory_mib_s, used.bytes_in,
			     used.bytes_out, used.disk_bytes) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* In the unit that the quota has. */
static void write_number(struct json_writer *json, const char *member_name,
			 const struct kernel_item *name, uint64_t value)
{
	json_write_key(json, member_name);
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++) {
		const struct front_quota_kind *kind = &front_quota_kinds[i];

		if (kind->is_seconds && strlen(kind->name) == name->len &&
		    memcmp(kind->name, name->data, name->len) == 0) {
			json_write_seconds(json, value * 1000000u);
			return;
		}
	}
	json_write_uint(json, value);
}

void shape_refusal(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	const struct kernel_item *name = front_find(items, count, FRONT_TAG_QUOTA);
	struct front_numbers numbers;
	struct front_queue queue;

	if (name != NULL && take(items, count, FRONT_TAG_NUMBERS, &numbers, sizeof(numbers))) {
		json_write_key(json, "quota");
		json_write_object_begin(json);
		json_write_member_text(json, "name", name->data, name->len);
		write_number(json, "value", name, numbers.value);
		write_number(json, "limit", name, numbers.limit);
		json_write_object_end(json);
	} else if (name != NULL) {
		json_write_member_text(json, "scope", name->data, name->len);
	}
	if (take(items, count, FRONT_TAG_QUEUE, &queue, sizeof(queue))) {
		json_write_key(json, "queue");
		json_write_object_begin(json);
		json_write_member_uint(json, "position", queue.position);
		json_write_key(json, "estimate_s");
		json_write_seconds(json, queue.estimate_ms * 1000000u);
		json_write_object_end(json);
	}
}
