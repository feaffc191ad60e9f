/*
 * test_codec_page.c - pages of a long output.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    needs a store.
 */
#include "unit.h"

#include <string.h>

#include "base/utf8.h"
#include "codec/page.h"

/* Lines "000001\n" to `count`. */
static void number_lines(struct buf *ret, int count)
{
	struct err err;

	for (int i = 1; i <= count; i++)
		assert_ok(&err, buf_addf(ret, &err, "%06d\n", i));
}

static void assert_page(const struct page_choice *choice, const struct buf *text, const char *first,
			size_t len, const char *expected_notice)
{
	cleanup_buf struct buf page = BUF_INIT(1u << 20);
	cleanup_buf struct buf notice = BUF_INIT(4096);
	struct err err;

	assert_ok(&err,
		  page_choose(choice, buf_text(text), text->len, "out_1", &page, &notice, &err));
	assert_int_equal(page.len, len);
	assert_memory_equal(buf_text(&page), first, strlen(first));
	assert_string_equal(buf_text(&notice), expected_notice);
}

UNIT_TEST(pages_end_at_line_breaks)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct page_choice choice = { 0 };

	number_lines(&text, 5000);
	/* 16384 / 7 = 2340.57 */
	assert_page(&choice, &text, "000001\n", 2340 * 7,
		    "lines 1 to 2340 of 5000; more: reckon output out_1 --lines 2341:5000");
	choice = (struct page_choice){ .has_lines = true, .first = 2341, .last = 5000 };
	assert_page(&choice, &text, "002341\n", 2340 * 7,
		    "lines 2341 to 4680 of 5000; more: reckon output out_1 --lines 4681:5000");
	choice = (struct page_choice){ .has_lines = true, .first = 4681, .last = 99999 };
	assert_page(&choice, &text, "004681\n", 320 * 7, "");
	choice = (struct page_choice){ .head = 2 };
	assert_page(&choice, &text, "000001\n000002\n", 14, "");
	choice = (struct page_choice){ .tail = 2 };
	assert_page(&choice, &text, "004999\n005000\n", 14, "");
	choice = (struct page_choice){ .tail = 3000 };
	assert_page(&choice, &text, "002661\n", 2340 * 7,
		    "lines 2661 to 5000 of 5000; before them: reckon output out_1 --lines 2001:2660");
	choice = (struct page_choice){ .tail = 99999, .is_all = true };
	assert_page(&choice, &text, "000001\n", 5000 * 7, "");
}

UNIT_TEST(a_search_shows_matching_lines_with_their_numbers)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct page_choice choice = { .needle = "99" };

	number_lines(&text, 300);
	assert_page(&choice, &text, "99:000099\n199:000199\n299:000299\n", 10 + 11 + 11, "");
	choice = (struct page_choice){ .needle = "99", .has_lines = true, .first = 100, .last = 200 };
	assert_page(&choice, &text, "199:000199\n", 11, "");
	choice = (struct page_choice){ .needle = "none" };
	assert_page(&choice, &text, "", 0, "none of 300 lines holds that text");
	buf_clear(&text);
	number_lines(&text, 5000);
	choice = (struct page_choice){ .needle = "0" };
	/* 9 * 9 + 90 * 10 + 900 * 11 bytes up to line 999; then 12 bytes for each line */
	assert_page(&choice, &text, "1:000001\n", 10881 + 458 * 12,
		    "1457 of 5000 matching lines; more: the same with --lines 1458:5000");
}

UNIT_TEST(a_line_longer_than_a_page_continues_as_a_range)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	cleanup_buf struct buf page = BUF_INIT(1u << 20);
	cleanup_buf struct buf notice = BUF_INIT(4096);
	struct page_choice choice = { .has_lines = true, .first = 2, .last = 2 };
	struct err err;

	assert_ok(&err, buf_adds(&text, "1\n", &err));
	for (int i = 0; i < 20000; i++)
		assert_ok(&err, buf_adds(&text, "\xe2\x82\xac", &err));
	assert_ok(&err, page_choose(&choice, text.data, text.len, "out_1", &page, &notice, &err));
	assert_int_equal(page.len, 16383);
	assert_true(utf8_is_valid(page.data, page.len));
	assert_string_equal(buf_text(&notice),
			    "line 2 of 2 goes on; more: reckon output out_1 --range 16385-32768");
}

UNIT_TEST(lines_past_the_end_are_refused)
{
	cleanup_buf struct buf page = BUF_INIT(1u << 20);
	cleanup_buf struct buf notice = BUF_INIT(4096);
	struct page_choice choice = { .has_lines = true, .first = 3, .last = 9 };
	struct err err;

	assert_err(&err, ERR_INVALID,
		   page_choose(&choice, "1\n2\n", 4, "out_1", &page, &notice, &err));
	assert_ok(&err, page_choose(&choice, "", 0, "out_1", &page, &notice, &err));
	assert_int_equal(page.len, 0);
}

UNIT_TEST(a_shown_page_is_escaped_text_with_its_notice)
{
	static const struct {
		const char *bytes;
		size_t len;
		struct page_choice choice;
		const char *shown;
	} cases[] = {
		{ "a\nb\n", 4, { 0 }, "a\nb\n" },
		{ "1\n2\n3\n", 6, { .head = 1 }, "1\n" },
		{ "\x1b[31mred\r\n\x7f\x80z", 13, { 0 }, "\\x1b[31mred\\x0d\n\\x7f\xef\xbf\xbdz" },
		{ "a\0b", 3, { 0 }, "[out_1 is not text: 3 bytes]" },
		{ "0123456789", 10, { .has_range = true, .from = 2, .to = 5 },
		  "2345\n[bytes 2 to 5 of 10; more: reckon output out_1 --range 6-16389]" },
		{ "\xe2\x82\xac\xe2\x82\xac", 6, { .has_range = true, .from = 1, .to = 99 },
		  "\xe2\x82\xac" },
		{ "abc", 3, { .has_range = true, .from = 7, .to = 5 },
		  "[there are 3 bytes, none in this range]" },
		{ "1\n2\n3\n4\n", 8, { .page_bytes = 4 },
		  "1\n2\n[lines 1 to 2 of 4; more: reckon output out_1 --lines 3:4]" },
		{ "a\nb\n", 4, { .needle = "c" }, "[none of 2 lines holds that text]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_buf struct buf shown = BUF_INIT(1u << 20);
		struct err err;

		assert_ok(&err, page_show(&cases[i].choice, cases[i].bytes, cases[i].len, "out_1",
					  &shown, &err));
		assert_string_equal(buf_text(&shown), cases[i].shown);
	}
}
