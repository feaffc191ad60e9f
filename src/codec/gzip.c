/*
 * gzip.c - gzip by zlib.
 *
 * Runs in:  processes that speak HTTP, tests.
 * Reads:    bytes of any client.
 * Never:    writes more than fits the caller's buffer; the caller bounds the total.
 */
#include "codec/gzip.h"

#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST /* lets the input be const */
#include <zlib.h>

#define WINDOW_GZIP (MAX_WBITS + 16) /* zlib's flag for gzip format only */
#define MEMORY_LEVEL 8

struct gunzip {
	z_stream stream;
	size_t left; /* bytes not yet given to `stream` */
	bool is_over;
};

struct gzip {
	z_stream stream;
	bool is_last, is_over;
};

static unsigned most(size_t len)
{
	return len > UINT_MAX ? UINT_MAX : (unsigned)len;
}

/* ---- unpacking ------------------------------------------------------------------------------ */

struct gunzip *gunzip_new(const char *bytes, size_t len)
{
	struct gunzip *ret = calloc(1, sizeof(*ret));

	if (ret == NULL || inflateInit2(&ret->stream, WINDOW_GZIP) != Z_OK) {
		free(ret);
		return NULL;
	}
	ret->stream.next_in = (const Bytef *)bytes;
	ret->left = len;
	return ret;
}

void gunzip_free(struct gunzip *gunzip)
{
	if (gunzip == NULL)
		return;
	(void)inflateEnd(&gunzip->stream);
	free(gunzip);
}

static void refill(struct gunzip *gunzip)
{
	if (gunzip->stream.avail_in > 0)
		return;
	gunzip->stream.avail_in = most(gunzip->left);
	gunzip->left -= gunzip->stream.avail_in;
}

static bool is_empty(struct gunzip *gunzip)
{
	refill(gunzip);
	return gunzip->stream.avail_in == 0;
}

int gunzip_read(struct gunzip *gunzip, char *ret, size_t size, size_t *ret_len, struct err *err)
{
	z_stream *stream = &gunzip->stream;

	stream->next_out = (Bytef *)ret;
	stream->avail_out = most(size);
	while (!gunzip->is_over && stream->avail_out > 0) {
		int code;

		refill(gunzip);
		code = inflate(stream, Z_NO_FLUSH);
		if (code == Z_STREAM_END) {
			/* A file may have several members: their contents are concatenated. */
			gunzip->is_over = is_empty(gunzip);
			if (!gunzip->is_over && inflateReset(stream) != Z_OK)
				return err_set(err, ERR_INVALID, "gzip: no further member");
		} else if (code == Z_BUF_ERROR && is_empty(gunzip)) {
			return err_set(err, ERR_INVALID, "gzip: the data is cut off");
		} else if (code == Z_MEM_ERROR) {
			return err_set(err, ERR_LIMIT, "gzip: no memory");
		} else if (code != Z_OK && code != Z_BUF_ERROR) {
			return err_set(err, ERR_INVALID, "gzip: %s",
				       stream->msg != NULL ? stream->msg : "the data is damaged");
		}
	}
	*ret_len = most(size) - stream->avail_out;
	return *ret_len > 0;
}

/* ---- packing -------------------------------------------------------------------------------- */

struct gzip *gzip_new(void)
{
	struct gzip *ret = calloc(1, sizeof(*ret));

	if (ret == NULL || deflateInit2(&ret->stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_GZIP,
					MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(ret);
		return NULL;
	}
	return ret;
}

void gzip_free(struct gzip *gzip)
{
	if (gzip == NULL)
		return;
	(void)deflateEnd(&gzip->stream);
	free(gzip);
}

void gzip_feed(struct gzip *gzip, const char *bytes, size_t len, bool is_last)
{
	gzip->stream.next_in = (const Bytef *)bytes;
	gzip->stream.avail_in = most(len);
	gzip->is_last = is_last;
}

int gzip_read(struct gzip *gzip, char *ret, size_t size, size_t *ret_len)
{
	z_stream *stream = &gzip->stream;

	*ret_len = 0;
	if (gzip->is_over || (stream->avail_in == 0 && !gzip->is_last))
		return 0;
	stream->next_out = (Bytef *)ret;
	stream->avail_out = most(size);
	gzip->is_over = deflate(stream, gzip->is_last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
	*ret_len = most(size) - stream->avail_out;
	return *ret_len > 0;
}
