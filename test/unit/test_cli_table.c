/*
 * test_cli_table.c - how wide text is, and tables that fit.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on the user's locale.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_read.h"

static size_t width(const char *text)
{
	return term_width(text, strlen(text));
}

UNIT_TEST(the_width_of_text_is_measured)
{
	size_t used;

	assert_int_equal(width(""), 0);
	assert_int_equal(width("plain"), 5);
	assert_int_equal(width("größe"), 5);
	assert_int_equal(width("東京都"), 6);
	assert_int_equal(width("e\xcc\x81"), 1); /* e and a combining acute */
	assert_int_equal(width("한글"), 4);
	assert_int_equal(term_width_fit("東京都", strlen("東京都"), 5, &used), 6);
	assert_int_equal(used, 4);
	assert_int_equal(term_width_fit("abc", 3, 0, &used), 0);
	assert_int_equal(used, 0);
}

static void draw_frame(struct buf *ret, const char *json, size_t columns)
{
	struct json_value *frame;
	struct err err;

	buf_clear(ret);
	assert_ok(&err, json_read_parse(json, strlen(json), strlen(json), &frame, &err));
	assert_ok(&err, term_frame_draw(frame, columns, false, ret, &err));
	json_read_free(frame);
}

#define MIXED                                                                                     \
	"{\"columns\":[{\"name\":\"city\",\"dtype\":\"object\"},"                                 \
	"{\"name\":\"n\",\"dtype\":\"int64\"},{\"name\":\"x\",\"dtype\":\"float64\"},"            \
	"{\"name\":\"day\",\"dtype\":\"datetime64[ns]\"},{\"name\":\"ok\",\"dtype\":\"bool\"}],"  \
	"\"index\":{\"name\":null,\"dtype\":\"int64\",\"values\":[0,1]},"                         \
	"\"data\":[[\"Bonn\",3,1.5,\"2024-01-30T00:00:00\",true],"                                \
	"[\"東京\",12345,null,null,false]],\"rows\":2,\"columns_total\":5}"

UNIT_TEST(a_frame_is_aligned)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	draw_frame(&got, MIXED, 80);
	assert_string_equal(got.data, "   city      n    x  day         ok\n"
				      "0  Bonn      3  1.5  2024-01-30  True\n"
				      "1  東京  12345  NaN  NaT         False\n"
				      "2 rows × 5 columns\n");
}

UNIT_TEST(floats_have_the_decimals_they_need)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	draw_frame(&got, "{\"columns\":[{\"name\":\"a\",\"dtype\":\"float64\"},"
			 "{\"name\":\"b\",\"dtype\":\"float64\"}],\"index\":{\"values\":[\"r\",\"s\"]},"
			 "\"data\":[[1.0,1e-9],[2.125,3.0]]}", 80);
	assert_string_equal(got.data, "       a      b\n"
				      "r  1.000  1e-09\n"
				      "s  2.125      3\n"
				      "2 rows × 2 columns\n");
}

UNIT_TEST(text_is_cut_and_numbers_are_not)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	draw_frame(&got, "{\"columns\":[{\"name\":\"t\",\"dtype\":\"object\"},"
			 "{\"name\":\"n\",\"dtype\":\"int64\"}],\"index\":{\"dtype\":\"int64\","
			 "\"values\":[0]},\"data\":[[\"abcdefghijklmnopqrstuvwxyz\","
			 "123456789012345]]}", 36);
	assert_string_equal(got.data, "   t                               n\n"
				      "0  abcdefghijklmno…  123456789012345\n"
				      "1 row × 2 columns\n");
}

/* No line is wider than the terminal; with 20 columns or more, the last column is shown. */
UNIT_TEST(no_line_is_too_wide)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	for (size_t columns = 1; columns < 60; columns++) {
		const char *line;

		draw_frame(&got, MIXED, columns);
		*strstr(got.data, "2 rows") = '\0';
		for (line = got.data; *line != '\0'; line = strchr(line, '\n') + 1)
			if (term_width(line, strcspn(line, "\n")) > columns)
				fail_msg("at %zu: %s", columns, got.data);
		if (columns >= 20)
			assert_non_null(strstr(got.data, "ok\n"));
		if (columns >= 12 && columns < 30)
			assert_non_null(strstr(got.data, "…"));
	}
}

UNIT_TEST(long_frames_show_both_ends)
{
	cleanup_buf struct buf json = BUF_INIT(1u << 20), got = BUF_INIT(1u << 20);
	struct err err;

	for (int total = 61; total <= 500; total += 439) {
		buf_clear(&json);
		assert_ok(&err, buf_adds(&json, "{\"columns\":[],\"data\":[[]", &err));
		for (int i = 1; i < 61; i++)
			assert_ok(&err, buf_adds(&json, ",[]", &err));
		assert_ok(&err, buf_addf(&json, &err, "],\"rows\":%d,\"index\":{\"dtype\":"
						      "\"int64\",\"values\":[0", total));
		for (int i = 1; i < 61; i++)
			assert_ok(&err, buf_addf(&json, &err, ",%d", i));
		assert_ok(&err, buf_adds(&json, "]}}", &err));
		draw_frame(&got, json.data, 80);
		assert_non_null(strstr(got.data, "\n 9\n"));
		assert_non_null(strstr(got.data, "\n …\n"));
		assert_null(strstr(got.data, "\n30\n"));
		/* If the frame contains only the first 61 of 500 rows, its end is not known. */
		assert_int_equal(strstr(got.data, "\n60\n") != NULL, total == 61);
	}
}

UNIT_TEST(hostile_cells_are_escaped)
{
	cleanup_buf struct buf got = BUF_INIT(1u << 20);

	draw_frame(&got, "{\"columns\":[{\"name\":\"\\u001b[2J\",\"dtype\":\"\\u001b\"}],"
			 "\"data\":[[\"a\\nb\\u009b5n\"]],\"rows\":-5,\"columns_total\":\"x\"}", 80);
	assert_string_equal(got.data, "  \\x1b[2J\n"
				      "  a\\nb\\x9b5n\n"
				      "1 row × 1 column\n");
}

UNIT_TEST(an_invalid_table_is_refused)
{
	static const char *const texts[] = { "{}", "[]", "1", "{\"columns\":[]}",
					     "{\"columns\":{},\"data\":[]}" };
	cleanup_buf struct buf got = BUF_INIT(1u << 20);
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_value *frame;

		assert_ok(&err, json_read_parse(texts[i], strlen(texts[i]), 99, &frame, &err));
		assert_err(&err, ERR_INVALID, term_frame_draw(frame, 80, false, &got, &err));
		assert_int_equal(got.len, 0);
		json_read_free(frame);
	}
}

int main(void)
{
	term_width_locale();
	return unit_run(NULL, NULL);
}
