/*
 * test_codec_http_limits.c - message heads: the parsers accept each maximum and refuse one more.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    uses a socket.
 */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "codec/http.h"
#include "codec/http_answer.h"

#define ROOM (256u * 1024u)

static enum http_step feed(const struct buf *text, unsigned *ret_status)
{
	enum http_step step = HTTP_STEP_MORE;
	struct http http;
	size_t at = 0, used;

	http_init(&http);
	while (at < text->len && step == HTTP_STEP_MORE) {
		step = http_feed(&http, text->data + at, text->len - at, &used);
		at += used;
	}
	*ret_status = http.status;
	http_done(&http);
	return step;
}

static enum http_step feed_answer(const struct buf *text)
{
	enum http_step step = HTTP_STEP_MORE;
	struct http_answer answer;
	size_t at = 0, used;

	http_answer_init(&answer, false);
	while (at < text->len && step == HTTP_STEP_MORE) {
		step = http_answer_feed(&answer, text->data + at, text->len - at, &used);
		at += used;
		if (used == 0)
			break;
	}
	http_answer_done(&answer);
	return step;
}

static void add_headers(struct buf *text, size_t count)
{
	struct err err;

	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_addf(text, &err, "H%zu: v\r\n", i));
}

UNIT_TEST(the_headers_of_a_request_are_limited)
{
	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf text = BUF_INIT(ROOM);
		struct err err;
		unsigned status;

		assert_ok(&err, buf_adds(&text, "GET / HTTP/1.1\r\nHost: x\r\n", &err));
		add_headers(&text, HTTP_HEADERS_MAX - 1 + over);
		assert_ok(&err, buf_adds(&text, "\r\n", &err));
		assert_int_equal(feed(&text, &status), over == 0 ? HTTP_STEP_HEAD : HTTP_STEP_BAD);
		assert_int_equal(status, over == 0 ? 0 : 431);
	}
}

UNIT_TEST(the_head_of_a_request_is_limited)
{
	for (size_t over = 0; over < 2; over++) {
		static const char begin[] = "GET / HTTP/1.1\r\nHost: x\r\nX: ", end[] = "\r\n\r\n";
		cleanup_buf struct buf text = BUF_INIT(ROOM);
		const size_t rest = sizeof(begin) - 1 + sizeof(end) - 1;
		struct err err;
		unsigned status;

		assert_ok(&err, buf_adds(&text, begin, &err));
		for (size_t i = 0; i < HTTP_HEAD_MAX + over - rest; i++)
			assert_ok(&err, buf_adds(&text, "x", &err));
		assert_ok(&err, buf_adds(&text, end, &err));
		assert_int_equal(text.len, HTTP_HEAD_MAX + over);
		assert_int_equal(feed(&text, &status), over == 0 ? HTTP_STEP_HEAD : HTTP_STEP_BAD);
		assert_int_equal(status, over == 0 ? 0 : 431);
	}
}

UNIT_TEST(the_headers_of_a_response_are_limited)
{
	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf text = BUF_INIT(ROOM);
		struct err err;

		assert_ok(&err, buf_adds(&text, "HTTP/1.1 200 OK\r\n", &err));
		add_headers(&text, HTTP_ANSWER_HEADERS_MAX + over);
		assert_ok(&err, buf_adds(&text, "\r\n", &err));
		assert_int_equal(feed_answer(&text), over == 0 ? HTTP_STEP_HEAD : HTTP_STEP_BAD);
	}
}

UNIT_TEST(the_head_of_a_response_is_limited)
{
	for (size_t over = 0; over < 2; over++) {
		static const char begin[] = "HTTP/1.1 200 OK\r\nX: ", end[] = "\r\n\r\n";
		cleanup_buf struct buf text = BUF_INIT(ROOM);
		const size_t rest = sizeof(begin) - 1 + sizeof(end) - 1;
		struct err err;

		assert_ok(&err, buf_adds(&text, begin, &err));
		for (size_t i = 0; i < HTTP_ANSWER_HEAD_MAX + over - rest; i++)
			assert_ok(&err, buf_addc(&text, 'x', &err));
		assert_ok(&err, buf_adds(&text, end, &err));
		assert_int_equal(feed_answer(&text), over == 0 ? HTTP_STEP_HEAD : HTTP_STEP_BAD);
	}
}

UNIT_TEST(interim_responses_are_limited)
{
	static const size_t most = 8; /* INTERIM_MAX */

	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf text = BUF_INIT(ROOM);
		struct err err;

		for (size_t i = 0; i < most + over; i++)
			assert_ok(&err, buf_adds(&text, "HTTP/1.1 103 Early Hints\r\n\r\n", &err));
		assert_ok(&err, buf_adds(&text, "HTTP/1.1 204 No Content\r\n\r\n", &err));
		assert_int_equal(feed_answer(&text), over == 0 ? HTTP_STEP_HEAD : HTTP_STEP_BAD);
	}
}
