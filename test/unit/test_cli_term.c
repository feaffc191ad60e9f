/*
 * test_cli_term.c - what a terminal gets to see of a box's text.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    prints the sequences it tests.
 */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/term.h"

/* Sends `text` in pieces of `step` bytes. */
static void filter_in(struct buf *ret, const char *text, size_t len, size_t step, bool escape)
{
	struct term_filter filter = { .escape = escape };
	struct err err;

	buf_clear(ret);
	for (size_t at = 0; at < len; at += step) {
		const size_t n = len - at < step ? len - at : step;

		assert_ok(&err, term_filter_add(&filter, text + at, n, ret, &err));
	}
	assert_ok(&err, term_filter_end(&filter, ret, &err));
}

/* However the text is cut, a terminal sees the same. */
static void assert_shown(const char *text, size_t len, const char *want)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	for (size_t step = 1; step <= len; step++) {
		filter_in(&got, text, len, step, true);
		if (strcmp(buf_text(&got), want) != 0)
			fail_msg("in pieces of %zu: %zu bytes, not what was expected", step,
				 got.len);
	}
}

#define assert_shown_text(text, want) assert_shown(text, strlen(text), want)

static void text_and_colours_pass(void **state)
{
	(void)state;
	assert_shown_text("plain\ttext\r\n", "plain\ttext\r\n");
	assert_shown_text("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m");
	assert_shown_text("\x1b[38:2::255:0:0mrgb\x1b[m", "\x1b[38:2::255:0:0mrgb\x1b[m");
	assert_shown_text("Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80",
			  "Gr\xc3\xbc\xc3\x9f" "e \xe4\xb8\xad \xf0\x9f\x98\x80");
}

static void colours_do_not_outlive_the_text(void **state)
{
	(void)state;
	assert_shown_text("\x1b[31mred", "\x1b[31mred\x1b[0m");
	assert_shown_text("\x1b[31m\x1b[00m.", "\x1b[31m\x1b[00m.");
}

static void what_steers_a_terminal_is_shown(void **state)
{
	(void)state;
	assert_shown_text("\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
	assert_shown_text("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H");
	assert_shown_text("\x1b[6n", "\\x1b[6n");
	assert_shown_text("\x1b[?25l", "\\x1b[?25l");
	assert_shown_text("\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\");
	assert_shown_text("\x1b" "c", "\\x1b" "c");
	assert_shown_text("a\bb\x7f", "a\\x08b\\x7f");
	assert_shown_text("\x1b\x1b[31mx\x1b[0m", "\\x1b\x1b[31mx\x1b[0m");
	assert_shown("a\0b", 3, "a\\x00b");
}

/* C1 controls do in one character what ESC does in two. */
static void eight_bit_controls_are_shown(void **state)
{
	(void)state;
	assert_shown_text("\xc2\x9b" "2J", "\\x9b2J");
	assert_shown_text("\xc2\x9d" "0;t\xc2\x9c", "\\x9d0;t\\x9c");
	assert_shown_text("\x9b" "2J", "\\x9b2J");
	assert_shown_text("\xc2\xa0", "\xc2\xa0");
}

static void broken_text_is_shown(void **state)
{
	(void)state;
	assert_shown_text("a\xff" "b", "a\\xffb");
	assert_shown_text("\xe4\xb8", "\\xe4\\xb8");
	assert_shown_text("\x1b", "\\x1b");
	assert_shown_text("\x1b[31", "\\x1b[31");
}

static void a_colour_without_end_is_not_waited_for(void **state)
{
	char text[300] = "\x1b[", want[310] = "\\x1b[";

	(void)state;
	memset(text + 2, '1', 290);
	memset(want + 5, '1', 290);
	assert_shown_text(text, want);
}

static void files_get_every_byte(void **state)
{
	static const char bytes[] = "\x1b]0;t\x07\xff\0\xc2\x9b";
	cleanup_buf struct buf got = BUF_INIT(4096);

	(void)state;
	filter_in(&got, bytes, sizeof(bytes), 1, false);
	assert_int_equal(got.len, sizeof(bytes));
	assert_memory_equal(got.data, bytes, sizeof(bytes));
}

static void a_message_stays_one_line(void **state)
{
	static const char text[] = "a\nreckon: forged\r\t\x1b[31m\xc2\x85\xff\xc3\xbc";
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	(void)state;
	assert_ok(&err, term_escape_line(text, strlen(text), &got, &err));
	assert_string_equal(got.data,
			    "a\\nreckon: forged\\x0d\\x09\\x1b[31m\\x85\\xff\xc3\xbc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_colours_pass),
		cmocka_unit_test(colours_do_not_outlive_the_text),
		cmocka_unit_test(what_steers_a_terminal_is_shown),
		cmocka_unit_test(eight_bit_controls_are_shown),
		cmocka_unit_test(broken_text_is_shown),
		cmocka_unit_test(a_colour_without_end_is_not_waited_for),
		cmocka_unit_test(files_get_every_byte),
		cmocka_unit_test(a_message_stays_one_line),
	};

	return cmocka_run_group_tests_name("cli_term", tests, NULL, NULL);
}
