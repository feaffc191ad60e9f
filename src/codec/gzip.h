/*
 * gzip.h - gzip (RFC 1952) piece by piece: neither side is ever whole in memory. No side effects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct gunzip;
struct gzip;

/* ---- unpacking ------------------------------------------------------------------------------ */

/* Unpacks `bytes`, which must stay valid; one or more members. NULL: no memory. */
struct gunzip *gunzip_new(const char *bytes, size_t len);
void gunzip_free(struct gunzip *gunzip); /* NULL is fine */
/* The next output, at most `size` bytes: 1; 0: the end; ERR_INVALID: damaged or truncated. */
int gunzip_read(struct gunzip *gunzip, char *ret, size_t size, size_t *ret_len, struct err *err);

static inline void gunzip_done(struct gunzip **gunzip)
{
	gunzip_free(*gunzip);
}
#define cleanup_gunzip __attribute__((cleanup(gunzip_done)))

/* ---- packing -------------------------------------------------------------------------------- */

struct gzip *gzip_new(void); /* NULL: no memory */
void gzip_free(struct gzip *gzip);
/* Gives it input, which must stay valid until gzip_read() returns 0; `is_last`: the end of the
 * input. */
void gzip_feed(struct gzip *gzip, const char *bytes, size_t len, bool is_last);
/* The next packed bytes: 1; 0: none yet, or the end. */
int gzip_read(struct gzip *gzip, char *ret, size_t size, size_t *ret_len);

static inline void gzip_done(struct gzip **gzip)
{
	gzip_free(*gzip);
}
#define cleanup_gzip __attribute__((cleanup(gzip_done)))
