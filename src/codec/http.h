/*
 * http.h - HTTP/1.1 requests from any client: strict, bounded, one at a time.
 *
 * llhttp in strict mode parses the message; this file also refuses constructs that were used for
 * request smuggling: folded headers, bare CR or LF, no or several Hosts, several Content-Lengths, a
 * Transfer-Encoding other than chunked, trailers. It uses no descriptor and no clock.
 *
 *   http_feed() -> HTTP_STEP_MORE | HTTP_STEP_HEAD (http->… is filled in) | HTTP_STEP_DONE | HTTP_STEP_BAD
 *
 * After HTTP_STEP_HEAD the caller sets body_max and body_fn and feeds on; after HTTP_STEP_DONE it
 * calls http_reset() and feeds the unused bytes. After HTTP_STEP_BAD the caller can only answer
 * with `status` and `err`, and close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define HTTP_HEAD_MAX (16u * 1024u)
#define HTTP_HEADERS_MAX 64u

enum http_step { HTTP_STEP_MORE, HTTP_STEP_HEAD, HTTP_STEP_DONE, HTTP_STEP_BAD };

/* Bits, so that a route can list several. */
enum http_verb {
	HTTP_VERB_GET = 1,
	HTTP_VERB_POST = 2,
	HTTP_VERB_PUT = 4,
	HTTP_VERB_PATCH = 8,
	HTTP_VERB_DELETE = 16,
	HTTP_VERB_OTHER = 32,
	HTTP_VERB_HEAD = 64,
};

struct http_header {
	char *name; /* in lower case */
	char *value;
	size_t name_len;
	size_t value_len;
};

/* NULL when there is none. */
const char *http_headers_find(const struct http_header *headers, size_t count, const char *name);
size_t http_headers_count(const struct http_header *headers, size_t count, const char *name);
/* Lower-cases names, trims white space after values, and terminates both by overwriting
 * separators. */
void http_headers_settle(struct http_header *headers, size_t count);

/* Returns 0, or a negative code to end the message with HTTP_STEP_BAD (status and err set by it). */
struct http;
typedef int http_body_fn(struct http *http, const char *bytes, size_t len, void *arg);

struct http {
	enum http_verb verb;
	const char *method; /* as sent */
	const char *path;  /* as sent, without the query; terminated */
	const char *query; /* "" if there is none */
	unsigned minor;	   /* HTTP/1.minor */
	bool keep_alive;
	bool has_body;	   /* some bytes or chunks will come */
	bool is_chunked;
	uint64_t length; /* Content-Length; 0 if there is none */

	uint64_t body_max;
	uint64_t body_len; /* so far */
	http_body_fn *body_fn;
	void *body_arg;

	unsigned status; /* with HTTP_STEP_BAD */
	struct err err;

	struct http_header header[HTTP_HEADERS_MAX];
	size_t header_count;
	struct http_inner *inner;
};

void http_init(struct http *http);
void http_reset(struct http *http); /* for the next message; drops the last one */
void http_done(struct http *http);

/* Parses up to `len` bytes; *ret_used of them belong to this message. */
enum http_step http_feed(struct http *http, const char *bytes, size_t len, size_t *ret_used);

/* Whether no byte of a message has come yet. */
bool http_is_idle(const struct http *http);

/* The value of a header (lower-case name), or NULL. */
const char *http_header(const struct http *http, const char *name);

/* For a body_fn or a check of the head: sets status and error, returns a negative code. */
int http_refuse(struct http *http, unsigned status, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Decodes %XX in `len` bytes into `ret`; false if it is malformed, contains a control character or
 * does not fit.
 */
bool http_decode(const char *text, size_t len, char *ret, size_t size);

/*
 * The next name=value of a query, decoded; advances *at. 1: found one; 0: the end; ERR_INVALID:
 * malformed.
 */
int http_query_next(const char **at, char *name, size_t name_size, char *value, size_t value_size,
		    struct err *err);

/* The next name=value of a Cookie header's value; advances *at. NULL: the end. */
const char *http_cookie_next(const char **at, size_t *ret_len);
/* The value of the first cookie with this name; false if there is none, or if it does not fit. */
bool http_cookie(const struct http *http, const char *name, char *ret, size_t size);

/*
 * Applies a Range header to `size`: 1, first and length; 0: ignore it, send all; ERR_INVALID:
 * cannot be satisfied.
 */
int http_range(const char *header, uint64_t size, uint64_t *ret_first, uint64_t *ret_length,
	       struct err *err);
