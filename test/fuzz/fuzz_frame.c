/*
 * fuzz_frame.c - any table from a box is drawn within the window, without control characters.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a width, and JSON.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line, size_t len, size_t width, bool is_last)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			abort();
	if (!utf8_is_valid(line, len) || (!is_last && term_width(line, len) > width))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf shown = BUF_INIT((size_t)256 * 1024 * 1024);
	struct json_value *frame = NULL;
	struct err err;
	size_t width;

	if (size < 1)
		return 0;
	width = data[0] > 0 ? data[0] : 1;
	term_width_locale();
	if (json_read_parse((const char *)data + 1, size - 1, size, &frame, &err) < 0)
		return 0;
	if (term_frame_draw(frame, width, false, &shown, &err) == 0) {
		for (const char *line = shown.data; *line != '\0';) {
			const size_t len = strcspn(line, "\n");

			check_line(line, len, width, line[len] == '\0' || line[len + 1] == '\0');
			line += len + (line[len] == '\n');
		}
	} else if (shown.len != 0) {
		abort();
	}
	json_read_free(frame);
	return 0;
}
