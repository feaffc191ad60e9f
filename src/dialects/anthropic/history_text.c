/*
 * history_text.c - joins text, or blocks of text, into one text.
 *
 * Runs in:  reckon-front-anthropic and tests.
 * Reads:    messages of any client.
 * Never:    treats a block of another kind as text.
 */
#include <string.h>

#include "base/buf.h"
#include "dialects/anthropic/anthropic.h"

static bool is_text(const struct json_value *block)
{
	const char *type = json_read_text(json_read_member(block, "type"), NULL);

	return type != NULL && strcmp(type, "text") == 0;
}

int history_text(const struct json_value *content, struct buf *ret, struct err *err)
{
	size_t len;
	const char *text = json_read_text(content, &len);

	if (text != NULL)
		return buf_add(ret, text, len, err);
	if (json_read_kind(content) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "Input should be a string or blocks");
	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *block = json_read_at(content, i);

		text = json_read_text(json_read_member(block, "text"), &len);
		if (is_text(block) && text != NULL && buf_add_line(ret, text, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}
