/*
 * test_cli_repl.c - the parts of the REPL that need no terminal: history, pads, images.
 *
 * Runs in:  the unit suite.
 * Reads:    its own files, and the output of decoder processes.
 * Never:    touches the user's history.
 */
#include "unit.h"

#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "cli/image/fence.h"
#include "cli/repl/edit.h"
#include "cli/repl/history.h"
#include "cli/term/image.h"

/* ---- history ---- */

UNIT_TEST(cells_are_read_back_unchanged)
{
	static const char *const cells[] = { "for i in x:\n    print(i)\n", "a\\nb\\", "größe\r\n\\" };
	struct history *history;
	char dir[64], path[128];
	struct err err;
	struct stat st;

	(void)close(unit_mkdir(dir));
	(void)snprintf(path, sizeof(path), "%s/new/history", dir);
	assert_ok(&err, history_open(path, &history, &err));
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		history_add(history, cells[i], strlen(cells[i]));
		history_add(history, cells[i], strlen(cells[i])); /* no repetition */
	}
	history_add(history, "", 0);
	history_add(history, "\xff", 1);
	history_add(history, "a\0b", 3);
	history_free(history);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_ok(&err, history_open(path, &history, &err));
	assert_int_equal(history_count(history), ARRAY_LEN(cells));
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		assert_string_equal(history_at(history, i), cells[i]);
	history_free(history);
	unit_rmdir(dir);
}

UNIT_TEST(the_length_of_a_history_is_limited)
{
	struct history *history;
	char dir[64], path[128], text[32];
	struct err err;
	struct stat st;

	(void)close(unit_mkdir(dir));
	(void)snprintf(path, sizeof(path), "%s/history", dir);
	assert_ok(&err, history_open(path, &history, &err));
	for (int i = 0; i < 2 * HISTORY_CELLS_MAX + 10; i++)
		history_add(history, text, (size_t)snprintf(text, sizeof(text), "cell %d", i));
	assert_int_equal(history_count(history), HISTORY_CELLS_MAX);
	history_free(history);
	assert_int_equal(chmod(path, 0644), 0);
	assert_ok(&err, history_open(path, &history, &err)); /* shortens the file */
	assert_int_equal(history_count(history), HISTORY_CELLS_MAX);
	assert_string_equal(history_at(history, HISTORY_CELLS_MAX - 1), text);
	history_add(history, "after", 5);
	history_free(history);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_ok(&err, history_open(path, &history, &err));
	assert_string_equal(history_at(history, HISTORY_CELLS_MAX - 1), "after");
	history_free(history);
	unit_rmdir(dir);
}

UNIT_TEST(a_history_without_a_file_works)
{
	struct history *history;
	char dir[64], path[128];
	struct err err;

	(void)close(unit_mkdir(dir));
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true(history_open(path, &history, &err) < 0); /* links are not followed */
	history_add(history, "kept", 4);
	assert_string_equal(history_at(history, 0), "kept");
	history_free(history);
	unit_rmdir(dir);
}

/* ---- pads ---- */

static void assert_unpads(const wchar_t *line, const char *want)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct err err;

	assert_ok(&err, edit_unpad(line, wcslen(line), &text, &err));
	assert_string_equal(buf_text(&text), want);
}

UNIT_TEST(pads_are_added_and_removed)
{
	static const char *const cells[] = { "", "x", "a\nb", "for:\n    größe\n\n日本\n", "\n\n" };

	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		cleanup_free wchar_t *line = edit_pad(cells[i], strlen(cells[i]), 8);

		assert_non_null(line);
		assert_unpads(line, cells[i]);
	}
	/* A pad that was deleted in part adds nothing to the cell. */
	assert_unpads(L"a\n\x2007\x2007" L"b", "a\nb");
	assert_unpads(L"a\x2007\x2506\x2007" L"b", "ab");
	assert_unpads(L"'\x2506'", "'┆'"); /* typed by the user */
}

UNIT_TEST(the_line_at_a_position_is_found)
{
	cleanup_free wchar_t *line = edit_pad("ab\n  cd\nx", 9, 3);
	const size_t len = wcslen(line);
	struct edit_place place = edit_place_at(line, len, 1, 3);

	assert_int_equal(place.begin, 0);
	assert_int_equal(place.end, 2);
	assert_int_equal(place.pad, 0);
	place = edit_place_at(line, len, 8, 3);
	assert_int_equal(place.begin, 6);
	assert_int_equal(place.end, 10);
	assert_int_equal(place.pad, 3);
	assert_int_equal(edit_indent(line, &place), 2);
	place = edit_place_at(line, len, 4, 3); /* inside the pad: the same line */
	assert_int_equal(place.begin, 6);
	place = edit_place_at(line, len, len, 3);
	assert_int_equal(place.end, len);
}

/* ---- images ---- */

static void make_png(struct buf *ret, uint32_t width, uint32_t height, int format)
{
	cleanup_free unsigned char *pixels = calloc((size_t)width * height, 4);
	png_image image = { .version = PNG_IMAGE_VERSION, .width = width, .height = height };
	png_alloc_size_t size = 0;
	struct err err;
	char *space;

	image.format = (png_uint_32)format;
	for (size_t i = 0; i < (size_t)width * height * PNG_IMAGE_PIXEL_SIZE(image.format); i++)
		pixels[i] = (unsigned char)i;
	assert_true(png_image_write_to_memory(&image, NULL, &size, 0, pixels, 0, NULL));
	assert_ok(&err, buf_reserve(ret, size, &space, &err));
	assert_true(png_image_write_to_memory(&image, space, &size, 0, pixels, 0, NULL));
	ret->len += size;
}

UNIT_TEST(a_png_becomes_pixels)
{
	const int before = unit_open_fds();
	cleanup_buf struct buf png = BUF_INIT(1u << 24);
	struct image image = { 0 };
	struct err err;

	make_png(&png, 5, 3, PNG_FORMAT_RGBA);
	assert_ok(&err, image_decode_png(png.data, png.len, &image, &err));
	assert_int_equal(image.width, 5);
	assert_int_equal(image.height, 3);
	for (int i = 0; i < 60; i++)
		assert_int_equal(image.rgba[i], i);
	image_done(&image);
	buf_clear(&png);
	make_png(&png, 2, 1, PNG_FORMAT_GRAY);
	assert_ok(&err, image_decode_png(png.data, png.len, &image, &err));
	assert_memory_equal(image.rgba, "\0\0\0\xff\1\1\1\xff", 8);
	image_done(&image);
	buf_clear(&png);
	make_png(&png, IMAGE_SIDE_MAX, 300, PNG_FORMAT_RGB);
	assert_ok(&err, image_decode_png(png.data, png.len, &image, &err));
	assert_int_equal(image.width, IMAGE_SIDE_MAX);
	image_done(&image);
	assert_int_equal(unit_open_fds(), before);
}

/* For each changed byte and each shorter length, the decoder returns an image or an error. */
UNIT_TEST(a_damaged_png_becomes_an_image_or_an_error)
{
	cleanup_buf struct buf png = BUF_INIT(1u << 20);
	struct image image = { 0 };
	struct err err;

	make_png(&png, 4, 4, PNG_FORMAT_RGBA);
	for (size_t i = 0; i < png.len; i++) {
		cleanup_free char *copy = malloc(png.len);

		memcpy(copy, png.data, png.len);
		copy[i] = (char)~copy[i];
		if (image_decode_png(copy, png.len, &image, &err) == 0)
			assert_true(image.width <= IMAGE_SIDE_MAX && image.height <= IMAGE_SIDE_MAX);
		image_done(&image);
		if (i < png.len - 12) /* IEND is not needed */
			assert_true(image_decode_png(png.data, i, &image, &err) < 0);
		image_done(&image);
	}
	make_png(&png, 4, 4, PNG_FORMAT_RGBA);
	buf_clear(&png);
	make_png(&png, IMAGE_SIDE_MAX + 1, 1, PNG_FORMAT_GRAY);
	assert_err(&err, ERR_PROTOCOL, image_decode_png(png.data, png.len, &image, &err));
}

UNIT_TEST(invalid_output_of_the_decoder_is_refused)
{
	static const struct {
		struct image_head head;
		size_t pixels;
		int want;
	} rows[] = {
		{ { IMAGE_MAGIC, 2, 2 }, 16, 0 },
		{ { IMAGE_MAGIC, 2, 2 }, 15, ERR_PROTOCOL },
		{ { IMAGE_MAGIC + 1, 2, 2 }, 16, ERR_PROTOCOL },
		{ { IMAGE_MAGIC, 0, 2 }, 16, ERR_PROTOCOL },
		{ { IMAGE_MAGIC, 1, IMAGE_SIDE_MAX + 1 }, 16, ERR_PROTOCOL },
		{ { IMAGE_MAGIC, UINT32_MAX, UINT32_MAX }, 16, ERR_PROTOCOL },
	};
	const char pixels[16] = "";

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image image = { 0 };
		struct err err = { .text = "" };
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		assert_ok(&err, fd_write_full(ends[1], &rows[i].head, sizeof(rows[i].head), &err));
		assert_ok(&err, fd_write_full(ends[1], pixels, rows[i].pixels, &err));
		assert_int_equal(close(ends[1]), 0);
		assert_int_equal(image_receive(ends[0], clock_mono_ns() + UINT64_C(60000000000),
					       &image, &err), rows[i].want);
		image_done(&image);
		assert_int_equal(close(ends[0]), 0);
	}
}

UNIT_TEST(a_silent_decoder_times_out)
{
	struct image image = { 0 };
	struct err err;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_err(&err, ERR_TIMEOUT, image_receive(ends[0], clock_mono_ns(), &image, &err));
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
}

UNIT_TEST(the_image_mode_of_a_terminal_is_detected)
{
	static const struct {
		const char *name, *value;
		enum term_image_mode mode;
	} signs[] = {
		{ "TERM", "dumb", TERM_IMAGE_NONE },
		{ "TERM", "xterm-256color", TERM_IMAGE_BLOCKS },
		{ "TERM", "xterm-kitty", TERM_IMAGE_KITTY },
		{ "TERM_PROGRAM", "WezTerm", TERM_IMAGE_ITERM2 },
		{ "KITTY_WINDOW_ID", "1", TERM_IMAGE_KITTY },
		{ "TMUX", "/tmp/x,1,0", TERM_IMAGE_BLOCKS },
	};
	static const char *const names[] = { "TERM", "TERM_PROGRAM",    "KITTY_WINDOW_ID",
					     "TMUX", "STY",		"COLORTERM",
					     "TERM_NAME", "TERMINAL_NAME" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(unsetenv(names[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (i > 2)
			assert_int_equal(setenv("TERM", "xterm-256color", 1), 0);
		assert_int_equal(setenv(signs[i].name, signs[i].value, 1), 0);
		if (term_image_detect() != signs[i].mode)
			fail_msg("%s=%s: %d", signs[i].name, signs[i].value, term_image_detect());
	}
}
