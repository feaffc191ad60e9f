/*
 * test_codec_http.c - requests split into pieces of every size, parts of a request, ranges.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    uses a socket; test/e2e/test_serve_http.py tests request smuggling over one.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "codec/http.h"

struct seen {
	char body[256];
	size_t len;
	int heads, dones;
	enum http_step last;
};

static int collect(struct http *http, const char *bytes, size_t len, void *arg)
{
	struct seen *seen = arg;

	(void)http;
	assert_true(seen->len + len < sizeof(seen->body));
	memcpy(seen->body + seen->len, bytes, len);
	seen->len += len;
	return 0;
}

/* Feeds `text` in pieces of `step` bytes until one message ends. */
static size_t feed(struct http *http, const char *text, size_t step, struct seen *seen)
{
	const size_t len = strlen(text);
	size_t at = 0, used;

	memset(seen, 0, sizeof(*seen));
	while (seen->last != HTTP_STEP_DONE && seen->last != HTTP_STEP_BAD) {
		const size_t piece = len - at < step ? len - at : step;

		seen->last = http_feed(http, text + at, piece, &used);
		assert_true(used <= piece);
		at += used;
		if (seen->last == HTTP_STEP_HEAD) {
			seen->heads++;
			http->body_max = 100;
			http->body_fn = collect;
			http->body_arg = seen;
		} else if (seen->last == HTTP_STEP_MORE && piece == 0) {
			break;
		}
	}
	return at;
}

UNIT_TEST(a_request_in_pieces_parses_the_same)
{
	static const char text[] = "POST /a/b?c=d HTTP/1.1\r\nHOST: x:1\r\nX-Y:  v \r\n"
				   "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;e=f\r\ndefg\r\n"
				   "0\r\n\r\nGET / HTTP/1.1\r\n";
	struct http http;
	struct seen seen;

	for (size_t step = 1; step < sizeof(text); step++) {
		http_init(&http);
		assert_int_equal(feed(&http, text, step, &seen), strstr(text, "GET") - text);
		assert_int_equal(seen.last, HTTP_STEP_DONE);
		assert_int_equal(seen.heads, 1);
		assert_int_equal(seen.len, 7);
		assert_memory_equal(seen.body, "abcdefg", 7);
		assert_string_equal(http.path, "/a/b");
		assert_string_equal(http.query, "c=d");
		assert_string_equal(http_header(&http, "host"), "x:1");
		assert_string_equal(http_header(&http, "x-y"), "v");
		assert_null(http_header(&http, "y"));
		assert_int_equal(http.verb, HTTP_VERB_POST);
		assert_true(http.is_chunked && http.has_body && http.keep_alive);
		http_done(&http);
	}
}

UNIT_TEST(a_second_request_on_the_same_connection)
{
	static const char first[] = "PUT /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
	static const char second[] = "GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct http http;
	struct seen seen;

	http_init(&http);
	assert_true(http_is_idle(&http));
	assert_int_equal(feed(&http, first, 999, &seen), strlen(first));
	assert_int_equal(http.length, 2);
	http_reset(&http);
	assert_int_equal(feed(&http, second, 999, &seen), strlen(second));
	assert_int_equal(seen.last, HTTP_STEP_DONE);
	assert_string_equal(http.path, "/2");
	assert_false(http.keep_alive || http.has_body);
	http_done(&http);
}

UNIT_TEST(an_empty_header_value_is_an_empty_text)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nA:\r\nB:  \r\nC: d\r\n\r\n";
	struct http http;
	struct seen seen;

	http_init(&http);
	(void)feed(&http, text, 999, &seen);
	assert_int_equal(seen.last, HTTP_STEP_DONE);
	assert_int_equal(http.header_count, 4);
	assert_string_equal(http_header(&http, "a"), "");
	assert_string_equal(http_header(&http, "b"), "");
	assert_string_equal(http_header(&http, "c"), "d");
	http_done(&http);
}

UNIT_TEST(head_and_body_sizes_are_limited)
{
	char *text = calloc(1, 40000);
	struct http http;
	struct seen seen;

	assert_non_null(text);
	http_init(&http);
	strcpy(text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
	memset(text + strlen(text), 'a', 30000);
	(void)feed(&http, text, 1000, &seen);
	assert_int_equal(seen.last, HTTP_STEP_BAD);
	assert_int_equal(http.status, 431);
	http_reset(&http);
	strcpy(text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n");
	memset(text + strlen(text), 'a', 0x65);
	(void)feed(&http, text, 1000, &seen);
	assert_int_equal(seen.last, HTTP_STEP_BAD);
	assert_int_equal(http.status, 413);
	/* After an error the parser refuses all further input. */
	(void)feed(&http, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1000, &seen);
	assert_int_equal(seen.last, HTTP_STEP_BAD);
	http_done(&http);
	free(text);
}

UNIT_TEST(percent_decoding)
{
	static const char *const wrong[] = { "%", "%4", "%zz", "a%00", "%1f", "%7F", "a\nb" };
	char text[8];

	assert_true(http_decode("a%20%2fB+", 9, text, sizeof(text)));
	assert_string_equal(text, "a /B+");
	assert_true(http_decode("1234567", 7, text, sizeof(text)));
	assert_false(http_decode("12345678", 8, text, sizeof(text)));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(http_decode(wrong[i], strlen(wrong[i]), text, sizeof(text)));
}

UNIT_TEST(queries)
{
	const char *at = "a=1&b=%41&c=";
	char name[8], value[8];
	struct err err;

	assert_int_equal(http_query_next(&at, name, 8, value, 8, &err), 1);
	assert_string_equal(name, "a");
	assert_int_equal(http_query_next(&at, name, 8, value, 8, &err), 1);
	assert_string_equal(value, "A");
	assert_int_equal(http_query_next(&at, name, 8, value, 8, &err), 1);
	assert_string_equal(value, "");
	assert_int_equal(http_query_next(&at, name, 8, value, 8, &err), 0);
	at = "novalue";
	assert_err(&err, ERR_INVALID, http_query_next(&at, name, 8, value, 8, &err));
	at = "a=123456789";
	assert_err(&err, ERR_INVALID, http_query_next(&at, name, 8, value, 8, &err));
}

UNIT_TEST(cookies)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nCookie: a=1; bb=2;HttpOnly; c=\r\n"
				   "Cookie: d=3=4; bb=5\r\n\r\n";
	struct http http;
	struct seen seen;
	char value[4];

	http_init(&http);
	(void)feed(&http, text, 1000, &seen);
	assert_int_equal(seen.last, HTTP_STEP_DONE);
	assert_true(http_cookie(&http, "a", value, sizeof(value)));
	assert_string_equal(value, "1");
	assert_true(http_cookie(&http, "bb", value, sizeof(value)));
	assert_string_equal(value, "2");
	assert_true(http_cookie(&http, "c", value, sizeof(value)));
	assert_string_equal(value, "");
	assert_true(http_cookie(&http, "d", value, sizeof(value)));
	assert_string_equal(value, "3=4");
	assert_false(http_cookie(&http, "d", value, 3)); /* the buffer is too small */
	assert_false(http_cookie(&http, "b", value, sizeof(value)));
	assert_false(http_cookie(&http, "HttpOnly", value, sizeof(value)));
	http_done(&http);
}

UNIT_TEST(ranges)
{
	static const struct {
		const char *header;
		uint64_t size;
		int result;
		uint64_t first, length;
	} cases[] = {
		{ "bytes=0-0", 10, 1, 0, 1 },	 { "bytes=2-5", 10, 1, 2, 4 },
		{ "bytes=2-", 10, 1, 2, 8 },	 { "bytes=2-99", 10, 1, 2, 8 },
		{ "bytes=-3", 10, 1, 7, 3 },	 { "bytes=-99", 10, 1, 0, 10 },
		{ "bytes=10-", 10, ERR_INVALID, 0, 0 }, { "bytes=-0", 10, ERR_INVALID, 0, 0 },
		{ "bytes=0-", 0, ERR_INVALID, 0, 0 }, { "bytes=5-2", 10, 0, 0, 0 },
		{ "bytes=a-2", 10, 0, 0, 0 },	 { "bytes=1-2,4-5", 10, 0, 0, 0 },
		{ "lines=1-2", 10, 0, 0, 0 },	 { "bytes=12", 10, 0, 0, 0 },
		{ "bytes=99999999999999999999-", 10, 0, 0, 0 },
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t first = 0, length = 0;

		assert_int_equal(http_range(cases[i].header, cases[i].size, &first, &length, &err),
				 cases[i].result);
		assert_int_equal(first, cases[i].first);
		assert_int_equal(length, cases[i].length);
	}
}
