/*
 * http_answer.h - HTTP/1.1 answers of a server that nobody trusts: strict, bounded, one.
 *
 * As http.h: llhttp in its strict mode reads the message. Interim answers (100, 103) are passed over.
 *
 *   http_answer_feed() -> HTTP_STEP_MORE | HTTP_STEP_HEAD | HTTP_STEP_DONE | HTTP_STEP_BAD
 *
 * After HTTP_STEP_HEAD the caller may set body_fn, and feeds on. An answer of 101 is done with its
 * head: what follows belongs to the other protocol.
 */
#pragma once

#include "codec/http.h"

#define HTTP_ANSWER_HEAD_MAX (64u * 1024u)
#define HTTP_ANSWER_HEADERS_MAX 128u
#define HTTP_ANSWER_LENGTH_UNKNOWN UINT64_MAX

/* Returns a negative number to end the message with HTTP_STEP_BAD. */
typedef int http_answer_body_fn(const char *bytes, size_t len, void *arg);

struct http_answer {
	unsigned status;
	uint64_t length; /* of its body, or HTTP_ANSWER_LENGTH_UNKNOWN */
	http_answer_body_fn *body_fn;
	void *body_arg;
	struct err err; /* with HTTP_STEP_BAD */
	struct http_header header[HTTP_ANSWER_HEADERS_MAX];
	size_t header_count;
	struct http_answer_inner *inner;
};

/* `has_no_body`: it answers a HEAD. */
void http_answer_init(struct http_answer *answer, bool has_no_body);
void http_answer_done(struct http_answer *answer);

/* Takes in up to `len` bytes; *ret_used of them belong to this message. */
enum http_step http_answer_feed(struct http_answer *answer, const char *bytes, size_t len,
				size_t *ret_used);
/* The server has ended the connection: HTTP_STEP_DONE when that is the end of the answer. */
enum http_step http_answer_end(struct http_answer *answer);

/* The value of a header (lower-case name), NULL when it is missing. */
const char *http_answer_header(const struct http_answer *answer, const char *name);
