/*
 * entries.c - the entries of an order: parts of streams, results, the error.
 *
 * Runs in:  libreckon.
 * Reads:    the record.
 * Never:    limits their number: callers do.
 */
#include "base/mem.h"
#include "lib/record/state.h"

void record_entry_append(struct record *record, struct record_output output)
{
	struct record_order *order = &record->order;

	if (order->at == NULL || order->count == order->cap) {
		order->cap = order->cap > 0 ? order->cap * 2 : 16;
		order->at = mem_grow(order->at, order->cap, sizeof(*order->at));
	}
	order->at[order->count++] = output;
}

bool record_output_is_stream(const struct record_output *output)
{
	return output->kind == RECORD_OUTPUT_STDOUT || output->kind == RECORD_OUTPUT_STDERR;
}

void record_order_add(struct record *record, enum record_output_kind kind, size_t index)
{
	record_entry_append(record, (struct record_output){ .kind = kind, .index = index });
}

void record_order_keep(struct record_order *order, size_t *used, const struct record_output *output)
{
	struct record_output *last = *used > 0 ? &order->at[*used - 1] : NULL;

	if (last != NULL && record_output_is_stream(output) && last->kind == output->kind)
		last->end = output->end;
	else
		order->at[(*used)++] = *output;
}

void record_order_drop(struct record *record, enum record_output_kind kind)
{
	struct record_order *order = &record->order;
	size_t used = 0;

	for (size_t i = 0; i < order->count; i++)
		if (order->at[i].kind != kind)
			record_order_keep(order, &used, &order->at[i]);
	order->count = used;
}
