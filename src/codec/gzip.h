/*
 * gzip.h - gzip (RFC 1952), piece by piece: neither side is ever whole in memory. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct gunzip;
struct gzip;

/* ---- unpacking ------------------------------------------------------------------------------ */

/* Of `bytes`, which have to stay; one or more members. NULL: no memory. */
struct gunzip *gunzip_new(const char *bytes, size_t len);
void gunzip_free(struct gunzip *gunzip); /* NULL is fine */
/* What comes next, at most `size` bytes: 1; 0: that was the end; ERR_INVALID: it is damaged or cut. */
int gunzip_read(struct gunzip *gunzip, char *ret, size_t size, size_t *ret_len, struct err *err);

static inline void gunzip_done(struct gunzip **gunzip)
{
	gunzip_free(*gunzip);
}
#define cleanup_gunzip __attribute__((cleanup(gunzip_done)))

/* ---- packing -------------------------------------------------------------------------------- */

struct gzip *gzip_new(void); /* NULL: no memory */
void gzip_free(struct gzip *gzip);
/* Gives bytes to pack, which have to stay until gzip_read() is 0; `is_last`: there are no others. */
void gzip_feed(struct gzip *gzip, const char *bytes, size_t len, bool is_last);
/* What is packed of them: 1; 0: nothing yet, or no more. */
int gzip_read(struct gzip *gzip, char *ret, size_t size, size_t *ret_len);

static inline void gzip_done(struct gzip **gzip)
{
	gzip_free(*gzip);
}
#define cleanup_gzip __attribute__((cleanup(gzip_done)))
