/*
 * results.c - drops results of a record.
 *
 * Runs in:  libreckon.
 * Reads:    nothing.
 * Never:    leaves an entry in the order for a result that was dropped.
 */
#include <stdlib.h>

#include "lib/record/state.h"

static void image_done(struct record_image *image)
{
	buf_done(&image->bytes);
	free(image->mime);
	*image = (struct record_image){ 0 };
}

static void images_done(struct record_result *result)
{
	for (size_t i = 0; i < result->image_count; i++)
		image_done(&result->images[i]);
	result->image_count = 0;
	image_done(&result->scaled);
}

void record_result_free(struct record_result *result)
{
	if (result == NULL)
		return;
	buf_done(&result->data);
	buf_done(&result->metadata);
	buf_done(&result->text);
	buf_done(&result->plain);
	buf_done(&result->note);
	images_done(result);
	free(result->display_id);
	free(result);
}

void record_results_drop(struct record *record)
{
	for (size_t i = 0; i < record->result_count; i++)
		record_result_free(record->results[i]);
	record->result_count = 0;
	record->results_size = 0;
	record_order_drop(record, RECORD_OUTPUT_RESULT);
}

void record_clear(struct record *record, bool wait)
{
	record->clear_waits = wait;
	if (!wait)
		record_results_drop(record);
}

void record_clear_waited(struct record *record)
{
	if (record->clear_waits)
		record_clear(record, false);
}
