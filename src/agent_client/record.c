/*
 * record.c - makes the model's result of a cell.
 *
 * Runs in:  reckon ask, libreckon.
 * Reads:    records, with output of a box.
 * Never:    decodes an image.
 */
#include "agent_client/record.h"

#include <string.h>

#include "base/cleanup.h"

static bool read_image(const struct json_value *data, struct agent_client_image *ret)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/webp", "image/gif" };

	for (size_t i = 0; i < ARRAY_LEN(mimes); i++) {
		ret->mime = mimes[i];
		ret->bytes = json_read_text(json_read_member(data, mimes[i]), &ret->len);
		ret->is_encoded = true;
		/* An image that is too large for a model is still in `text`, as a line. */
		if (ret->bytes != NULL && ret->len <= AGENT_IMAGE_MAX)
			return true;
	}
	return false;
}

static void read_repeat(const struct json_value *repeat, struct agent_client_result *ret)
{
	static const struct {
		const char *word;
		uint64_t bit;
	} words[] = { { "code", AGENT_SAME_CODE },
		      { "error", AGENT_SAME_ERROR },
		      { "files", AGENT_SAME_FILES } };
	const struct json_value *same = json_read_member(repeat, "unchanged");
	int64_t count;

	if (!json_read_int(json_read_member(repeat, "count"), &count) || count <= 0)
		return;
	ret->repeat = (uint64_t)count;
	for (size_t i = 0; i < json_read_count(same); i++)
		for (size_t j = 0; j < ARRAY_LEN(words); j++) {
			const char *word = json_read_text(json_read_at(same, i), NULL);

			if (word != NULL && strcmp(word, words[j].word) == 0)
				ret->same |= words[j].bit;
		}
}

static void add_handle(const struct json_value *part, struct agent_client_result *ret)
{
	const char *handle = json_read_text(json_read_member(part, "handle"), NULL);

	if (handle != NULL && ret->handle_count < AGENT_CLIENT_HANDLES_MAX)
		ret->handles[ret->handle_count++] = handle;
}

static void read_handles(const struct json_value *record, struct agent_client_result *ret)
{
	const struct json_value *left_out = json_read_member(record, "text_left_out");
	const struct json_value *cut = json_read_member(record, "truncated");

	add_handle(json_read_member(cut, "stdout"), ret);
	add_handle(json_read_member(cut, "stderr"), ret);
	for (size_t i = 0; i < json_read_count(left_out); i++)
		add_handle(json_read_at(left_out, i), ret);
}

void agent_client_result_read(const struct json_value *record, struct agent_client_result *ret)
{
	const struct json_value *results = json_read_member(record, "results");

	memset(ret, 0, sizeof(*ret));
	ret->status = json_read_text(json_read_member(record, "status"), NULL);
	if (ret->status == NULL)
		ret->status = "infra_error";
	ret->text = json_read_text(json_read_member(record, "text"), &ret->len);
	if (ret->text == NULL)
		ret->len = 0;
	read_repeat(json_read_member(record, "repeat"), ret);
	read_handles(record, ret);
	for (size_t i = 0; i < json_read_count(results) && ret->image_count < AGENT_IMAGES_MAX; i++)
		if (read_image(json_read_member(json_read_at(results, i), "data"),
			       &ret->images[ret->image_count]))
			ret->image_count++;
}
