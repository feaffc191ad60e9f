/*
 * fuzz_gzip.c - unpacked content does not depend on the piece size, and round trips.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a piece size, and a gzip stream.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/gzip.h"

#define ALL_MAX ((size_t)1 << 22)
#define PIECE_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unpacks up to the limit of `ret`; returns 0 if the stream is complete. */
static int unpack(const char *bytes, size_t len, size_t step, struct buf *ret)
{
	static char piece[PIECE_MAX];
	struct gunzip *gunzip = gunzip_new(bytes, len);
	struct err err;
	size_t got = 0;
	int code;

	if (gunzip == NULL)
		abort();
	while ((code = gunzip_read(gunzip, piece, step, &got, &err)) > 0) {
		if (got == 0 || got > step)
			abort();
		if (buf_add(ret, piece, got, &err) < 0)
			break;
	}
	gunzip_free(gunzip);
	return code;
}

static void pack(const struct buf *text, struct buf *ret)
{
	struct gzip *gzip = gzip_new();
	char piece[512];
	struct err err;
	size_t got;

	if (gzip == NULL)
		abort();
	gzip_feed(gzip, buf_text(text), text->len, true);
	while (gzip_read(gzip, piece, sizeof(piece), &got) > 0)
		if (buf_add(ret, piece, got, &err) < 0)
			abort();
	gzip_free(gzip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT(ALL_MAX), pieces = BUF_INIT(ALL_MAX);
	struct buf packed = BUF_INIT(2 * ALL_MAX), again = BUF_INIT(ALL_MAX);
	int code;

	if (size < 1)
		return 0;
	code = unpack((const char *)data + 1, size - 1, PIECE_MAX, &whole);
	if (code == 0) {
		if (unpack((const char *)data + 1, size - 1, data[0] + 1u, &pieces) != 0 ||
		    pieces.len != whole.len ||
		    (whole.len > 0 && memcmp(pieces.data, whole.data, whole.len) != 0))
			abort();
		pack(&whole, &packed);
		if (unpack(buf_text(&packed), packed.len, PIECE_MAX, &again) != 0 ||
		    again.len != whole.len ||
		    (whole.len > 0 && memcmp(again.data, whole.data, whole.len) != 0))
			abort();
	}
	buf_done(&whole);
	buf_done(&pieces);
	buf_done(&packed);
	buf_done(&again);
	return 0;
}
