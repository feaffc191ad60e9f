/*
 * test_agent_sse.c - events as the standard reads them, and bounds.
 *
 * Runs in:  the unit suite.
 * Reads:    streams of its own.
 * Never:    expects an event to come in one piece.
 */
#include "unit.h"

#include <string.h>

#include "agent/formats/sse.h"

#define ALL_MAX 65536u

static int note(const char *name, const char *data, size_t len, void *arg, struct err *err)
{
	struct buf *all = arg;

	if (len == 4 && memcmp(data, "stop", 4) == 0)
		return err_set(err, ERR_INVALID, "asked to");
	return buf_addf(all, err, "%s=%s;", name, data);
}

static int feed(const char *text, size_t len, size_t piece, struct buf *ret, struct err *err)
{
	struct sse sse;
	int rc = 0;

	sse_init(&sse, 100, note, ret);
	for (size_t at = 0; at < len && rc == 0; at += piece)
		rc = sse_feed(&sse, text + at, len - at < piece ? len - at : piece, err);
	if (rc == 0)
		rc = sse_end(&sse, err);
	sse_done(&sse);
	return rc;
}

static void events_are_the_same_however_they_are_cut(void **state)
{
	static const char *const cases[][2] = {
		{ "data: a\n\ndata:b\n\n", "=a;=b;" },
		{ "event: x\ndata: 1\ndata: 2\n\n", "x=1\n2;" },
		{ "event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "x=1;=2;" },
		{ "data: 1\r\rdata: 2\r\r", "=1;=2;" },
		{ "\xef\xbb\xbf" "data: 1\n\n", "=1;" },
		{ ": comment\nid: 4\nretry: 1\ndata:  two\n\n", "= two;" },
		{ "event: lost\n\ndata\n\ndata: last", "=;=last;" },
		{ "data: gr\xc3\xbc\xc3\x9f\n\n", "=gr\xc3\xbc\xc3\x9f;" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece <= strlen(cases[i][0]); piece++) {
			cleanup_buf struct buf all = BUF_INIT(ALL_MAX);
			struct err err;

			assert_ok(&err, feed(cases[i][0], strlen(cases[i][0]), piece, &all, &err));
			assert_string_equal(buf_text(&all), cases[i][1]);
		}
}

static void what_is_too_long_ends_it(void **state)
{
	static char line[4096] = "data: ";
	cleanup_buf struct buf all = BUF_INIT(ALL_MAX);
	struct err err;

	(void)state;
	memset(line + 6, 'x', sizeof(line) - 6);
	assert_err(&err, ERR_LIMIT, feed(line, sizeof(line), 7, &all, &err));
	/* Many short lines of one event count together. */
	for (size_t i = 0; i + 9 <= sizeof(line); i += 9)
		memcpy(line + i, "data: xx\n", 9);
	assert_err(&err, ERR_LIMIT, feed(line, sizeof(line), 64, &all, &err));
	assert_int_equal(all.len, 0);
}

static void the_reader_can_end_it(void **state)
{
	static const char text[] = "data: 1\n\ndata: stop\n\ndata: 2\n\n";
	cleanup_buf struct buf all = BUF_INIT(ALL_MAX);
	struct err err;

	(void)state;
	assert_err(&err, ERR_INVALID, feed(text, sizeof(text) - 1, 5, &all, &err));
	assert_string_equal(buf_text(&all), "=1;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_the_same_however_they_are_cut),
		cmocka_unit_test(what_is_too_long_ends_it),
		cmocka_unit_test(the_reader_can_end_it),
	};

	return cmocka_run_group_tests_name("agent_sse", tests, NULL, NULL);
}
