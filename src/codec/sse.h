/*
 * sse.h - parses server-sent events from a stream of bytes, split anywhere.
 *
 * Lines end with \n, \r\n or \r; comments, unknown fields and a byte order mark at the beginning
 * are ignored, as the standard says. A field or event longer than the ceiling is ERR_LIMIT.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SSE_ID_SIZE 32
#define SSE_NAME_SIZE 128

struct sse_event {
	const char *id;	  /* the last id received, or "" */
	const char *name; /* "message" if none was given */
	const char *data; /* terminated; several lines are joined with \n */
	size_t len;
};

/* A negative result ends sse_feed(), which returns it. */
typedef int sse_fn(const struct sse_event *event, void *arg, struct err *err);

struct sse {
	sse_fn *fn;
	void *arg;
	struct buf line, data;
	char id[SSE_ID_SIZE];	  /* of the last complete event */
	char next_id[SSE_ID_SIZE]; /* of the current event */
	char name[SSE_NAME_SIZE];
	bool has_data;
	bool after_cr;	/* a \n that follows belongs to the \r */
	bool has_begun; /* past the place for a byte order mark */
};

void sse_init(struct sse *sse, size_t max, sse_fn *fn, void *arg);
void sse_done(struct sse *sse);
/* Starts a new stream of the same events: drops an incomplete event, but not the last id. */
void sse_restart(struct sse *sse);
int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err);
/* Dispatches an event that no empty line ended before the stream's end: some servers omit it. */
int sse_end(struct sse *sse, struct err *err);
