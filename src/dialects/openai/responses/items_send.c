/*
 * items_send.c - functions for all items of a response: numbered events, ids, the end.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    JSON from the other files of items.
 * Never:    sends an event that the client already has.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/responses/items.h"

int items_give_up(const struct items *items)
{
	answer_break_off(items->request);
	return -1;
}

/* ---- events --------------------------------------------------------------------------------- */

void items_event_begin(struct items *items, struct json_writer *json, struct buf *out,
		       const char *type)
{
	json_write_init(json, out);
	json_write_object_begin(json);
	json_write_member_string(json, "type", type);
	json_write_member_uint(json, "sequence_number", items->sequence++);
}

int items_event_end(struct items *items, struct json_writer *json, const char *type)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return items_give_up(items);
	if (items->sequence <= items->order->skips)
		return 0;
	return sse_event(items->request, 0, type, json->out->data, json->out->len);
}

/* The last event is always sent. */
void items_end(struct items *items)
{
	if (items->sequence < items->order->skips)
		items->sequence = items->order->skips;
}

/* Begins an event with the open item's position; `id` NULL: the item has it. */
void items_event_of(struct items *items, struct json_writer *json, struct buf *out,
		    const char *type, const char *id)
{
	items_event_begin(items, json, out, type);
	json_write_member_uint(json, "output_index", items->count);
	if (id != NULL)
		json_write_member_string(json, "item_id", id);
}

int items_send(struct items *items, const char *type, const struct buf *item)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	items_event_of(items, &json, &out, type, NULL);
	json_write_key(&json, "item");
	json_write_raw(&json, buf_text(item), item->len);
	return items_event_end(items, &json, type);
}

static int append(struct buf *list, const struct buf *item, struct err *err)
{
	if (list->len > 0 && buf_addc(list, ',', err) < 0)
		return (int)err->code;
	return buf_add(list, item->data, item->len, err);
}

/* Completes the item. `conversation_item`: its form in a conversation. */
int items_finish(struct items *items, const struct buf *item, const struct buf *conversation_item)
{
	struct err err;

	if (items->is_stream && items_send(items, "response.output_item.done", item) < 0)
		return -1;
	if (append(&items->output, item, &err) < 0 ||
	    (items->order->conversation[0] != '\0' &&
	     append(&items->conversation_output, conversation_item, &err) < 0))
		return items_give_up(items);
	items->count++;
	return 0;
}

void items_id(const struct items *items, const char *prefix, char ret[NAME_SIZE])
{
	char run[NAME_SIZE];

	if (!name_swap(items->run, "run_", "", run, sizeof(run)))
		run[0] = '\0';
	(void)snprintf(ret, NAME_SIZE, "%s%.64s%02u", prefix, run, items->count);
}

void items_container(const struct items *items, char ret[NAME_SIZE])
{
	if (!name_swap(items->session, "se_", OPENAI_CONTAINER, ret, NAME_SIZE))
		(void)snprintf(ret, NAME_SIZE, OPENAI_CONTAINER "0");
}
