/*
 * refusal.c - what the error of a quota, a scope or a full queue says besides.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    writes JSON by hand.
 */
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
