/*
 * test_codec_sse.c - server-sent events, with the stream split into pieces of every size.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on how many bytes arrive at once.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "codec/sse.h"

struct seen {
	struct buf text;
	int refuse;
};

static int take(const struct sse_event *event, void *arg, struct err *err)
{
	struct seen *seen = arg;

	if (seen->refuse < 0)
		return err_set(err, (enum err_code)seen->refuse, "refused");
	return buf_addf(&seen->text, err, "[%s|%s|%.*s]", event->id, event->name, (int)event->len,
			event->data);
}

static void expect(const char *stream, const char *events)
{
	const size_t len = strlen(stream);

	for (size_t piece = 1; piece <= len; piece++) {
		struct seen seen = { .text = BUF_INIT(4096) };
		struct sse sse;
		struct err err;

		sse_init(&sse, 4096, take, &seen);
		for (size_t at = 0; at < len; at += piece)
			assert_ok(&err, sse_feed(&sse, stream + at,
						 len - at < piece ? len - at : piece, &err));
		assert_string_equal(buf_text(&seen.text), events);
		sse_done(&sse);
		buf_done(&seen.text);
	}
}

UNIT_TEST(events_come_with_name_and_id)
{
	expect("id: 1\nevent: stream\ndata: {\"a\":1}\n\nid: 2\nevent: done\ndata: {}\n\n",
	       "[1|stream|{\"a\":1}][2|done|{}]");
}

UNIT_TEST(cr_lf_and_crlf_end_a_line)
{
	expect("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "[|message|a][|message|b][|message|c]");
}

UNIT_TEST(comments_and_unknown_fields_are_ignored)
{
	expect(": still running\n\nretry: 5\nfoo\ndata\ndata: x\n\n", "[|message|\nx]");
}

UNIT_TEST(an_id_applies_until_the_next_one)
{
	expect("id: 7\ndata: a\n\ndata: b\n\n", "[7|message|a][7|message|b]");
}

UNIT_TEST(an_id_that_is_not_a_number_is_ignored)
{
	expect("id: 1\\r\nid: a: b\ndata: x\n\n", "[|message|x]");
}

UNIT_TEST(an_incomplete_event_is_not_reported)
{
	expect("data: a\n\ndata: b\n", "[|message|a]");
}

UNIT_TEST(the_end_of_the_stream_reports_an_incomplete_event)
{
	struct seen seen = { .text = BUF_INIT(256) };
	struct sse sse;
	struct err err;

	sse_init(&sse, 64, take, &seen);
	assert_ok(&err, sse_feed(&sse, "event: lost\n\ndata: last", 24, &err));
	assert_ok(&err, sse_end(&sse, &err));
	assert_string_equal(buf_text(&seen.text), "[|message|last]");
	sse_done(&sse);
	buf_done(&seen.text);
}

UNIT_TEST(only_a_byte_order_mark_at_the_start_is_skipped)
{
	expect("\xef\xbb\xbf" "data: 1\n\n\xef\xbb\xbf" "data: 2\n\ndata: 3\n\n", "[|message|1][|message|3]");
}

UNIT_TEST(lines_and_events_that_are_too_long_are_refused)
{
	struct seen seen = { .text = BUF_INIT(4096) };
	struct sse sse;
	struct err err;

	sse_init(&sse, 8, take, &seen);
	assert_err(&err, ERR_LIMIT, sse_feed(&sse, "data: 0123456789\n\n", 18, &err));
	sse_done(&sse);
	sse_init(&sse, 12, take, &seen);
	assert_err(&err, ERR_LIMIT,
		   sse_feed(&sse, "data: 01234\ndata: 01234\ndata: 01234\n", 36, &err));
	sse_done(&sse);
	buf_done(&seen.text);
}

UNIT_TEST(an_error_from_the_callback_is_returned)
{
	struct seen seen = { .text = BUF_INIT(64), .refuse = ERR_DENIED };
	struct sse sse;
	struct err err;

	sse_init(&sse, 64, take, &seen);
	assert_err(&err, ERR_DENIED, sse_feed(&sse, "data: a\n\n", 9, &err));
	sse_done(&sse);
}

UNIT_TEST(a_restart_drops_the_incomplete_event_and_its_id)
{
	struct seen seen = { .text = BUF_INIT(256) };
	struct sse sse;
	struct err err;

	sse_init(&sse, 64, take, &seen);
	assert_ok(&err, sse_feed(&sse, "id: 3\ndata: a\n\nid: 4\nevent: x\ndata: ha", 38, &err));
	assert_string_equal(sse.id, "3");
	sse_restart(&sse);
	assert_ok(&err, sse_feed(&sse, "data: b\n\n", 9, &err));
	assert_string_equal(buf_text(&seen.text), "[3|message|a][3|message|b]");
	sse_done(&sse);
	buf_done(&seen.text);
}
