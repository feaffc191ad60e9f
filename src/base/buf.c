/*
 * buf.c - bounded, growable bytes.
 *
 * Runs in:  every process.
 * Reads:    nothing; holds bytes of any origin.
 * Never:    grows past its ceiling.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = 0;
	buf->cap = 0;
}

int buf_reserve(struct buf *buf, size_t len, char **ret_space, struct err *err)
{
	size_t need, cap;
	char *grown;

	if (len > buf->max || buf->len > buf->max - len)
		return err_set(err, ERR_LIMIT, "buffer ceiling of %zu bytes reached", buf->max);
	/* A longer buffer would overflow size_t in the terminator or the doubling below. */
	if (len >= SIZE_MAX / 2 || buf->len >= SIZE_MAX / 2 - len)
		return err_set(err, ERR_LIMIT, "no memory for %zu bytes", len);
	need = buf->len + len + 1;
	if (need > buf->cap) {
		cap = buf->cap < 64 ? 64 : buf->cap;
		while (cap < need)
			cap *= 2;
		grown = realloc(buf->data, cap);
		if (grown == NULL)
			return err_set(err, ERR_LIMIT, "no memory for %zu bytes", cap);
		buf->data = grown;
		buf->cap = cap;
	}
	*ret_space = buf->data + buf->len;
	return 0;
}

int buf_add(struct buf *buf, const void *bytes, size_t len, struct err *err)
{
	char *space;

	if (buf_reserve(buf, len, &space, err) < 0)
		return (int)err->code;
	if (len > 0)
		memcpy(space, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int buf_addc(struct buf *buf, char byte, struct err *err)
{
	return buf_add(buf, &byte, 1, err);
}

int buf_adds(struct buf *buf, const char *text, struct err *err)
{
	return buf_add(buf, text, strlen(text), err);
}

int buf_addf(struct buf *buf, struct err *err, const char *fmt, ...)
{
	char *space;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return err_set(err, ERR_INVALID, "bad format");
	if (buf_reserve(buf, (size_t)len, &space, err) < 0)
		return (int)err->code;
	va_start(ap, fmt);
	(void)vsnprintf(space, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)len;
	return 0;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

void buf_consume(struct buf *buf, size_t len)
{
	if (len >= buf->len) {
		buf_clear(buf);
		return;
	}
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
	buf->data[buf->len] = '\0';
}

const char *buf_text(const struct buf *buf)
{
	return buf->data != NULL ? buf->data : "";
}

int buf_add_line(struct buf *buf, const char *text, size_t len, struct err *err)
{
	if (buf->len > 0 && buf_addc(buf, '\n', err) < 0)
		return (int)err->code;
	return buf_add(buf, text, len, err);
}

bool buf_is_blank(const struct buf *buf)
{
	const char *at = buf_text(buf);

	return at[strspn(at, " \t\r\n")] == '\0';
}
