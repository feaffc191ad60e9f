/*
 * sse.h - server-sent events from a model's server: bounded, one event at a time. Pure.
 *
 * As the HTML standard reads them: lines end with LF, CR or CRLF, a blank line ends an event, a line
 * that begins with ':' is a comment, several data lines are joined with LF, one space after the
 * colon goes away, a byte order mark at the beginning too. Fields but `event` and `data` are ignored.
 * What the stream ends with without a blank line is given out by sse_end(): servers forget it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SSE_NAME_MAX 128u

/* `name` is "" when the event has none; `data` is terminated. Negative codes end the stream. */
typedef int sse_fn(const char *name, const char *data, size_t len, void *arg, struct err *err);

struct sse {
	sse_fn *fn;
	void *arg;
	struct buf line, data;
	char name[SSE_NAME_MAX];
	bool has_data;
	bool after_cr; /* an LF that comes now belongs to the CR before it */
	bool begun;    /* a byte order mark can come no more */
};

void sse_init(struct sse *sse, size_t event_max, sse_fn *fn, void *arg);
void sse_done(struct sse *sse);

/* 0; ERR_LIMIT for a line or an event that is too long; or what `fn` returned. */
int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err);
int sse_end(struct sse *sse, struct err *err);
