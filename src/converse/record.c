/*
 * record.c - what a model is told of a cell.
 *
 * Runs in:  reckon ask, libreckon.
 * Reads:    records, which hold what a box made.
 * Never:    decodes an image.
 */
#include "converse/record.h"

#include <string.h>

#include "base/cleanup.h"

static bool read_image(const struct json_value *data, struct converse_image *ret)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/webp", "image/gif" };

	for (size_t i = 0; i < ARRAY_LEN(mimes); i++) {
		ret->mime = mimes[i];
		ret->bytes = json_read_text(json_read_member(data, mimes[i]), &ret->len);
		ret->is_encoded = true;
		/* One too large for a model is still in `text`, as a line. */
		if (ret->bytes != NULL && ret->len <= AGENT_IMAGE_MAX)
			return true;
	}
	return false;
}

void converse_result_read(const struct json_value *record, struct converse_result *ret)
{
	const struct json_value *results = json_read_member(record, "results");
	int64_t count;

	memset(ret, 0, sizeof(*ret));
	ret->status = json_read_text(json_read_member(record, "status"), NULL);
	if (ret->status == NULL)
		ret->status = "infra_error";
	ret->text = json_read_text(json_read_member(record, "text"), &ret->len);
	if (ret->text == NULL)
		ret->len = 0;
	if (json_read_int(json_read_member(json_read_member(record, "repeat"), "count"), &count) &&
	    count > 0)
		ret->repeat = (uint64_t)count;
	for (size_t i = 0; i < json_read_count(results) && ret->image_count < AGENT_IMAGES_MAX; i++)
		if (read_image(json_read_member(json_read_at(results, i), "data"),
			       &ret->images[ret->image_count]))
			ret->image_count++;
}
