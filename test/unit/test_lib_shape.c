/*
 * test_lib_shape.c - how the output of programs is shortened for a model.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on time: growth is counted in steps.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lib/shape/shape.h"
#include "lib/record/text.h"

#define ROOM 65536u

/* Shortens `text` to at most `max` bytes. */
static void shape(const char *text, size_t max, const char *handle, struct buf *ret)
{
	const struct shape_source source = { .text = text, .len = strlen(text) };
	struct shape *shaped = shape_new(&source);

	shape_write(shaped, max, handle, ret);
	shape_free(shaped);
}

static void assert_shape(const char *text, size_t max, const char *expected)
{
	cleanup_buf struct buf shown = BUF_INIT(ROOM);

	shape(text, max, NULL, &shown);
	assert_string_equal(buf_text(&shown), expected);
}

UNIT_TEST(repeats_are_shown_once)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct err err;

	assert_shape("a\na\na\nb\n", ROOM, "a\na\na\nb\n");
	assert_shape("a\na\na\na\nb\n", ROOM, "a\n… the line above 3 more times\nb\n");
	assert_shape("a\nb\na\nb\na\nb\na\nb\na\n", ROOM,
		     "a\nb\n… the 2 lines above 3 more times\na\n");
	assert_shape("x\n\n\n\n\n\ny", ROOM, "x\n\n… the empty line above 4 more times\ny\n");
	for (int i = 0; i < 4214; i++)
		assert_ok(&err, buf_adds(&text, "same\n", &err));
	assert_shape(buf_text(&text), ROOM, "same\n… the line above 4,213 more times\n");
	buf_clear(&text);
	for (int i = 0; i < 5; i++)
		assert_ok(&err, buf_adds(&text, "1\n2\n3\n4\n5\n6\n7\n8\n", &err));
	assert_shape(buf_text(&text), ROOM,
		     "1\n2\n3\n4\n5\n6\n7\n8\n… the 8 lines above 4 more times\n");
	/* Nine lines are too long for a block, so they are shown unchanged. */
	buf_clear(&text);
	for (int i = 0; i < 5; i++)
		assert_ok(&err, buf_adds(&text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", &err));
	assert_shape(buf_text(&text), ROOM, buf_text(&text));
}

UNIT_TEST(similar_lines_are_folded_only_if_space_is_short)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	cleanup_buf struct buf shown = BUF_INIT(ROOM);
	struct err err;

	for (int i = 1; i <= 100; i++)
		assert_ok(&err, buf_addf(&text, &err, "epoch %3d: loss 0.%d\n", i, i * 7919 % 1000));
	assert_shape(buf_text(&text), ROOM, buf_text(&text));
	shape(buf_text(&text), 1024, "out_1", &shown);
	assert_string_equal(buf_text(&shown),
			    "epoch   1: loss 0.919\nepoch   2: loss 0.838\nepoch   3: loss 0.757\n"
			    "… lines 4 to 97 are like these, with other numbers …\n"
			    "epoch  98: loss 0.62\nepoch  99: loss 0.981\nepoch 100: loss 0.900\n"
			    "[all 2,188 bytes: reckon output out_1]\n");
}

UNIT_TEST(a_cut_reports_the_omitted_lines)
{
	static const char *const words[] = { "ash", "elm", "fir", "oak", "yew", "box", "bay" };
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	cleanup_buf struct buf shown = BUF_INIT(ROOM);
	struct err err;

	for (unsigned i = 0; i < 1000; i++)
		assert_ok(&err, buf_addf(&text, &err, "%s %s %s\n", words[i * 31 % 7],
					 words[i / 7 * 17 % 7], words[i / 49 % 7]));
	shape(buf_text(&text), 400, "out_1", &shown);
	assert_in_range(shown.len, 330, 400);
	assert_non_null(strstr(buf_text(&shown),
			       "… 975 lines (11,700 bytes) left out; reckon output out_1 --lines 13:987\n"));
	assert_memory_equal(shown.data, text.data, 12 * 12);
	assert_string_equal(shown.data + shown.len - 13 * 12, text.data + text.len - 13 * 12);
}

UNIT_TEST(a_gap_counts_as_omitted_lines)
{
	const char *text = "one\ntwo\n[mark]\nnine\nten\n";
	const struct shape_source source = { .text = text,
					     .len = strlen(text),
					     .gap_at = 8,
					     .gap_size = 7,
					     .gap_bytes = 600,
					     .lines_total = 10 };
	cleanup_buf struct buf shown = BUF_INIT(ROOM);
	struct shape *shaped = shape_new(&source);

	assert_true(shape_is_lossy(shaped, ROOM));
	assert_int_equal(shape_bytes_total(shaped), 617);
	assert_int_equal(shape_lines_total(shaped), 10);
	shape_write(shaped, ROOM, "out_1", &shown);
	shape_free(shaped);
	/* The tail may begin within a line, so the range includes its first line. */
	assert_string_equal(buf_text(&shown),
			    "one\ntwo\n"
			    "… 7 lines (600 bytes) left out; reckon output out_1 --lines 3:9\n"
			    "nine\nten\n");
}

UNIT_TEST(progress_bars_show_their_last_state)
{
	assert_shape("start\n"
		     "  0%|          | 0/3 [00:00<?, ?it/s]\n"
		     " 33%|###3      | 1/3 [00:00<00:02,  1.00s/it]\n"
		     " 67%|######6   | 2/3 [00:01<00:01,  1.00s/it]\n"
		     "100%|##########| 3/3 [00:03<00:00,  1.00s/it]\nend\n",
		     ROOM, "start\n… 3 earlier states of the bar below\n"
			   "100%|##########| 3/3 [00:03<00:00,  1.00s/it]\nend\n");
	assert_shape("1/3 [==>....] - loss: 0.5\n2/3 [====>..] - loss: 0.4\n3/3 [=======] - loss: 0.3\n",
		     ROOM, "… 2 earlier states of the bar below\n3/3 [=======] - loss: 0.3\n");
	assert_shape("train:  50%|#  | 1/2 [00:01]\nvalid:  50%|#  | 1/2 [00:01]\n"
		     "train: 100%|###| 2/2 [00:02]\nvalid: 100%|###| 2/2 [00:02]\n",
		     ROOM, "… 2 earlier states of the bars below\n"
			   "train: 100%|###| 2/2 [00:02]\nvalid: 100%|###| 2/2 [00:02]\n");
	/* A table with a percentage is not a bar. */
	assert_shape("a| 1%| x\nb| 2%| y\nc| 3%| z\n", ROOM, "a| 1%| x\nb| 2%| y\nc| 3%| z\n");
}

/* Adds random letters of base64, without repeats that could be folded. */
static void add_base64(struct buf *text, size_t len, size_t width)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t seed = 1;
	struct err err;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		assert_ok(&err, buf_addc(text, letters[seed >> 26], &err));
		if (width > 0 && i % width == width - 1)
			assert_ok(&err, buf_addc(text, '\n', &err));
	}
}

UNIT_TEST(blobs_are_replaced_by_their_size)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct err err;

	assert_ok(&err, buf_adds(&text, "key: '", &err));
	add_base64(&text, 4000, 0);
	assert_ok(&err, buf_adds(&text, "==' end\n", &err));
	assert_shape(buf_text(&text), ROOM, "key: '[base64, 4,002 bytes]' end\n");
	buf_clear(&text);
	assert_ok(&err, buf_adds(&text, "<img src=\"data:image/png;base64,", &err));
	add_base64(&text, 100, 0);
	assert_ok(&err, buf_adds(&text, "\">", &err));
	assert_shape(buf_text(&text), ROOM,
		     "<img src=\"data:image/png;base64,[base64, 100 bytes]\">\n");
	buf_clear(&text);
	add_base64(&text, 20 * 76 + 30, 76);
	assert_shape(buf_text(&text), ROOM, "[base64, 1,570 bytes in 21 lines]\n");
	buf_clear(&text);
	for (int i = 0; i < 300; i++)
		assert_ok(&err, buf_addf(&text, &err, "%02x", (i * 7919 + i / 3) % 251));
	assert_shape(buf_text(&text), ROOM, "[hex, 600 bytes]\n");
	/* Neither a token, nor a ruler, nor a long number is a blob. */
	buf_clear(&text);
	add_base64(&text, 300, 0);
	assert_ok(&err, buf_addc(&text, '\n', &err));
	for (int i = 0; i < 700; i++)
		assert_ok(&err, buf_addc(&text, '-', &err));
	assert_ok(&err, buf_addc(&text, '\n', &err));
	for (int i = 0; i < 700; i++)
		assert_ok(&err, buf_addc(&text, (char)('0' + i * 7 % 10), &err));
	assert_ok(&err, buf_addc(&text, '\n', &err));
	assert_shape(buf_text(&text), ROOM, buf_text(&text));
}

UNIT_TEST(long_lines_lose_their_middle)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	cleanup_buf struct buf shown = BUF_INIT(ROOM);
	struct err err;

	for (int i = 0; i < 2000; i++)
		assert_ok(&err, buf_adds(&text, "\xc3\xa9", &err));
	shape(buf_text(&text), ROOM, NULL, &shown);
	assert_int_equal(shown.len, 4001);
	assert_ok(&err, buf_adds(&text, "\xc3\xa9", &err)); /* one more than SHAPE_LINE_MAX */
	buf_clear(&shown);
	shape(buf_text(&text), ROOM, NULL, &shown);
	assert_non_null(strstr(shown.data, " characters … "));
	for (int i = 0; i < 9999; i++)
		assert_ok(&err, buf_adds(&text, "\xc3\xa9", &err));
	buf_clear(&shown);
	shape(buf_text(&text), ROOM, NULL, &shown);
	assert_non_null(strstr(shown.data, "\xc3\xa9 … 10,100 characters … \xc3\xa9"));
	assert_in_range(shown.len, 1900 * 2, 1900 * 2 + 40);
}

/* Writes words that trigger the various rules, in random order. */
static size_t random_text(uint32_t *seed, char *ret, size_t size)
{
	static const char *const words[] = {
		"a", "\n", "\n", " ", "12", "\xcc\x81", "e\xcc\x81", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
		"\xff", "\xe2\x82", "\r", "\b", "\x1b[1m", "same\n", "same\nother\n", "\xc3\xa9", "%|", "/",
		"50%|##  | 1/2 [00:01]\n", "\xf0\x9f\x8f\xbd", "\t", "word word word word word\n",
	};
	size_t len = 0;

	for (;;) {
		const char *word;
		size_t times, n;

		*seed = *seed * 1664525u + 1013904223u;
		word = words[(*seed >> 16) % (sizeof(words) / sizeof(words[0]))];
		times = *seed >> 30 == 3 ? 20 : 1;
		n = strlen(word);
		for (size_t i = 0; i < times; i++) {
			if (len + n >= size)
				return len;
			memcpy(ret + len, word, n);
			len += n;
		}
	}
}

UNIT_TEST(the_size_limit_is_never_exceeded)
{
	uint32_t seed = 11;

	for (int round = 0; round < 3000; round++) {
		char text[6000];
		const size_t size = 16 + (seed >> 8) % (sizeof(text) - 16);
		const struct shape_source source = { .text = text,
						     .len = random_text(&seed, text, size) };
		const size_t max = (seed >> 10) % 1500;
		cleanup_buf struct buf shown = BUF_INIT(ROOM);
		struct shape *shaped = shape_new(&source);

		shape_write(shaped, max, round % 2 == 0 ? "out_0123456789abcdef0123456789abcdef" : NULL,
			    &shown);
		assert_in_range(shown.len, 0, max);
		assert_true(utf8_is_valid(buf_text(&shown), shown.len));
		assert_null(strpbrk(buf_text(&shown), "\r\b\x1b"));
		if (!shape_is_lossy(shaped, max))
			assert_int_equal(shown.len, shape_size(shaped));
		shape_free(shaped);
	}
}

UNIT_TEST(characters_are_not_split_from_their_marks)
{
	/* e + accent, woman + joiner + microscope, thumb + skin tone */
	static const char text[] = "e\xcc\x81\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac\xf0\x9f\x91\x8d"
				   "\xf0\x9f\x8f\xbdz";
	static const size_t whole[] = { 0, 3, 14, 22, 23 };
	const size_t len = sizeof(text) - 1;

	for (size_t at = 0; at <= len; at++) {
		size_t down = text_boundary_down(text, len, at), up = text_boundary_up(text, len, at);
		bool is_down = false, is_up = false;

		for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
			is_down |= whole[i] == down;
			is_up |= whole[i] == up;
		}
		assert_true(is_down && down <= at);
		assert_true(is_up && up >= at);
	}
}

/* Texts that a naive search for repeats, blobs or bars would scan again and again. */
static size_t hostile_byte(int kind, size_t i)
{
	switch (kind) {
	case 0: /* a block of eight lines that almost repeats */
		return i % 2 == 1 ? '\n' : 'a' + (i / 2 % 8) + (i % 230 == 0 ? 9 : 0);
	case 1: /* one line of almost base64 */
		return i % 511 == 510 ? '.' : (size_t)("aB3"[i % 3]);
	case 2: /* twelve alike lines, then another */
		return i % 4 == 3 ? '\n' : i / 4 % 13 == 12 ? 'x' : '0' + i % 10;
	case 3:
		return '\n';
	case 4: /* nothing but accents */
		return i % 2 == 0 ? 0xcc : 0x81;
	default: /* backspaces */
		return i % 2 == 0 ? 'x' : '\b';
	}
}

UNIT_TEST(hostile_input_takes_linear_time)
{
	for (int kind = 0; kind < 6; kind++) {
		uint64_t work[2];

		for (size_t round = 0; round < 2; round++) {
			const size_t len = ((size_t)1 << 17) << (3 * round);
			char *text = malloc(len);
			const struct shape_source source = { .text = text, .len = len };
			cleanup_buf struct buf shown = BUF_INIT(ROOM);
			struct shape *shaped;

			assert_non_null(text);
			for (size_t i = 0; i < len; i++)
				text[i] = (char)hostile_byte(kind, i);
			shaped = shape_new(&source);
			shape_write(shaped, 4096, NULL, &shown);
			work[round] = shape_work(shaped);
			shape_free(shaped);
			free(text);
		}
		assert_in_range(work[1], 0, 10 * work[0]);
		assert_in_range(work[1], 0, 40u << 20);
	}
}
