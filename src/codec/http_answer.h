/*
 * http_answer.h - one HTTP/1.1 answer of an untrusted server: strict, bounded.
 *
 * As in http.h, llhttp in strict mode parses the message. Interim answers (100, 103) are skipped.
 *
 *   http_answer_feed() -> HTTP_STEP_MORE | HTTP_STEP_HEAD | HTTP_STEP_DONE | HTTP_STEP_BAD
 *
 * After HTTP_STEP_HEAD the caller may set body_fn, and continues feeding. An answer of 101 ends
 * with its head: the next bytes belong to the other protocol.
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
	uint64_t length; /* of the body, or HTTP_ANSWER_LENGTH_UNKNOWN */
	http_answer_body_fn *body_fn;
	void *body_arg;
	struct err err; /* with HTTP_STEP_BAD */
	struct http_header header[HTTP_ANSWER_HEADERS_MAX];
	size_t header_count;
	struct http_answer_inner *inner;
};

/* `has_no_body`: the answer to a HEAD. */
void http_answer_init(struct http_answer *answer, bool has_no_body);
void http_answer_done(struct http_answer *answer);

/* Parses up to `len` bytes; *ret_used of them belong to this message. */
enum http_step http_answer_feed(struct http_answer *answer, const char *bytes, size_t len,
				size_t *ret_used);
/* The server closed the connection: HTTP_STEP_DONE if that ends the answer correctly. */
enum http_step http_answer_end(struct http_answer *answer);

/* The value of a header (lower-case name), or NULL. */
const char *http_answer_header(const struct http_answer *answer, const char *name);
