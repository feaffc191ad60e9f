/*
 * fuzz_shape.c - any output, shortened for a model, keeps its size limit and is readable.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: one for the size limit, one for a gap, then what was printed.
 * Never:    accepts a shape that takes more steps than its source allows.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lib/shape/shape.h"

#define STEPS_PER_BYTE 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct buf *shown, size_t max)
{
	const char *text = buf_text(shown);

	if (shown->len > max || !utf8_is_valid(text, shown->len) || strlen(text) != shown->len)
		abort();
	for (size_t i = 0; i < shown->len; i++)
		if ((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shape_source source = { 0 };
	struct shape *shape;
	size_t room;

	if (size < 2)
		return 0;
	room = (size_t)data[0] * 16;
	source.text = (const char *)data + 2;
	source.len = size - 2;
	if (data[1] & 0x80) {
		source.gap_at = source.len * (data[1] & 7) / 8;
		source.gap_size = (source.len - source.gap_at) / 2;
		source.gap_bytes = 1000;
		source.lines_total = data[1] & 0x70;
	}
	shape = shape_new(&source);
	for (int round = 0; round < 3; round++) {
		const size_t max = round == 0 ? room : round == 1 ? shape_size(shape) : room / 7;
		cleanup_buf struct buf shown = BUF_INIT(1u << 24);

		shape_write(shape, max, data[0] & 1 ? "out_0123456789abcdef0123456789abcdef" : NULL,
			    &shown);
		check(&shown, max);
		if (!shape_is_lossy(shape, max) && shown.len != shape_size(shape))
			abort();
	}
	if (shape_work(shape) > STEPS_PER_BYTE * (uint64_t)(size + 16))
		abort();
	shape_free(shape);
	return 0;
}
