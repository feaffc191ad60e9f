/*
 * shape_list.c - what all answers share: entries, lists of them, members that may be missing.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    knows what an entry is.
 */
#include "front/front.h"

void shape_member(struct json_writer *json, const char *key, const struct kernel_item *items,
		  size_t count, enum front_tag tag)
{
	const struct kernel_item *item = front_find(items, count, tag);

	if (item != NULL)
		json_write_member_text(json, key, item->data, item->len);
}

void shape_member_or_null(struct json_writer *json, const char *key,
			  const struct kernel_item *items, size_t count, enum front_tag tag)
{
	shape_member(json, key, items, count, tag);
	if (front_find(items, count, tag) == NULL)
		json_write_member_string(json, key, NULL);
}

int shape_one(shape_one_fn *one, const struct kernel_item *items, size_t count, struct buf *ret,
	      struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	one(&json, items, count);
	return json_write_finish(&json, err);
}

size_t shape_entry(const struct kernel_item *items, size_t count, enum front_tag first)
{
	size_t n = 1;

	while (n < count && items[n].tag != (uint32_t)first)
		n++;
	return n;
}

int shape_list(const char *key, enum front_tag first, bool has_next, shape_one_fn *one,
	       const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	const struct kernel_item *last = NULL;
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, key);
	json_write_array_begin(&json);
	for (size_t i = 0, n; i < count; i += n) {
		n = shape_entry(items + i, count - i, first);
		last = &items[i];
		one(&json, items + i, n);
	}
	json_write_array_end(&json);
	if (has_next && last != NULL)
		json_write_member_text(&json, "next", last->data, last->len);
	else if (has_next)
		json_write_member_string(&json, "next", NULL);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
