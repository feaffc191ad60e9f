/*
 * sse.h - server-sent events from a stream of bytes, however it is cut.
 *
 * Lines end with \n, \r\n or \r; comments and unknown fields are passed over, as the standard
 * says, and a byte order mark at the beginning. Bounded: a field or an event that is longer than the ceiling is ERR_LIMIT.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SSE_ID_SIZE 32
#define SSE_NAME_SIZE 128

struct sse_event {
	const char *id;	  /* the last that was given, or "" */
	const char *name; /* "message" when none was given */
	const char *data; /* terminated; several lines are joined with \n */
	size_t len;
};

/* A negative result ends sse_feed(), which returns it. */
typedef int sse_fn(const struct sse_event *event, void *arg, struct err *err);

struct sse {
	sse_fn *fn;
	void *arg;
	struct buf line, data;
	char id[SSE_ID_SIZE];	  /* of the last event that was complete */
	char next_id[SSE_ID_SIZE]; /* of the one that is read */
	char name[SSE_NAME_SIZE];
	bool has_data;
	bool after_cr;	/* a \n that comes next belongs to the \r */
	bool has_begun; /* a byte order mark can come no more */
};

void sse_init(struct sse *sse, size_t max, sse_fn *fn, void *arg);
void sse_done(struct sse *sse);
/* A new stream of the same events: what was incomplete is forgotten, the last id is kept. */
void sse_restart(struct sse *sse);
int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err);
/* Gives out what the stream ended with without an empty line: servers forget it. */
int sse_end(struct sse *sse, struct err *err);
