/*
 * buf.h - bounded, growable bytes: the only type for data whose size others choose.
 *
 * A buffer gets its ceiling when it is made; growing past it is ERR_LIMIT and leaves the contents
 * as they were. A NUL byte that `len` does not count always follows the data, so C functions can
 * take it as text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf {
	char *data;  /* not NULL once anything was added; NUL-terminated */
	size_t len;  /* bytes in use */
	size_t cap;  /* bytes allocated, including the NUL */
	size_t max;  /* ceiling for len */
};

#define BUF_INIT(ceiling) ((struct buf){ .max = (ceiling) })

void buf_done(struct buf *buf); /* releases the memory; the buffer may be used again */
#define cleanup_buf __attribute__((cleanup(buf_done)))

/* Each returns 0, or ERR_LIMIT (ceiling reached or no memory) with *err set. */
int buf_add(struct buf *buf, const void *bytes, size_t len, struct err *err);
int buf_addc(struct buf *buf, char byte, struct err *err);
int buf_adds(struct buf *buf, const char *text, struct err *err);
int buf_addf(struct buf *buf, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Behind a line break, unless the buffer is empty. */
int buf_add_line(struct buf *buf, const char *text, size_t len, struct err *err);
/* Makes room for `len` more bytes and returns where to put them in *ret_space. */
int buf_reserve(struct buf *buf, size_t len, char **ret_space, struct err *err);

void buf_clear(struct buf *buf);			     /* length 0, keeps the memory */
void buf_consume(struct buf *buf, size_t len);		     /* drops the first len bytes */
/* The text, "" when empty. Valid until the next change of the buffer. */
const char *buf_text(const struct buf *buf);
bool buf_is_blank(const struct buf *buf); /* nothing but white space */
