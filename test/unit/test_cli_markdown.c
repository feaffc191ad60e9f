/*
 * test_cli_markdown.c - answers in Markdown as a terminal shows them: at several widths, in pieces
 * of every size, and from hostile models.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    asks a terminal for anything.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/markdown/markdown.h"
#include "cli/term/width.h"

#define DRAWN_MAX ((size_t)64 * 1024 * 1024)

static struct err err;

/* The caller frees the result. */
static char *draw(const char *text, size_t len, size_t width, size_t piece, markdown_image_fn *image)
{
	struct markdown *markdown = markdown_new(image, NULL);
	struct buf drawn = BUF_INIT(DRAWN_MAX);

	markdown_set_width(markdown, width);
	for (size_t at = 0; at < len; at += piece)
		assert_ok(&err, markdown_add(markdown, text + at,
					     len - at < piece ? len - at : piece, &drawn, &err));
	assert_ok(&err, markdown_end(markdown, &drawn, &err));
	markdown_free(markdown);
	return drawn.data != NULL ? drawn.data : mem_strdup("");
}

/* Removes the renderer's own escape sequences: colours and hyperlinks. */
static void strip(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0';) {
		const char *end = NULL;

		if (strncmp(at, "\x1b[", 2) == 0)
			end = strchr(at, 'm') + 1;
		else if (strncmp(at, "\x1b]8;;", 5) == 0)
			end = strstr(at, "\x1b\\") + 2;
		if (end != NULL)
			at = end;
		else
			*to++ = *at++;
	}
	*to = '\0';
}

static void expect_plain(size_t width, const char *text, const char *expected)
{
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		char *drawn = draw(text, strlen(text), width, piece, NULL);

		strip(drawn);
		if (strcmp(drawn, expected) != 0)
			fail_msg("pieces of %zu:\n%s\ninstead of\n%s", piece, drawn, expected);
		free(drawn);
	}
}

static void expect(const char *text, const char *expected)
{
	char *drawn = draw(text, strlen(text), 80, strlen(text), NULL);

	assert_string_equal(drawn, expected);
	free(drawn);
}

UNIT_TEST(paragraphs_are_wrapped)
{
	expect_plain(30, "One paragraph that is longer than a line of the terminal, and\nhas "
			 "a line of its own.\n\nAnother.",
		     "One paragraph that is longer\nthan a line of the terminal,\nand has a line of "
		     "its own.\n\nAnother.\n");
	expect_plain(20, "averyveryverylongwordthatfitsnowhere x", "averyveryverylongwor\n"
								  "dthatfitsnowhere x\n");
	expect_plain(30, "hard  \nbreak\\\nthere", "hard\nbreak\nthere\n");
	expect_plain(30, "", "");
	expect_plain(30, "\n\n\n", "");
	expect_plain(30, "a\r\nb\r\n\r\nc", "a b\n\nc\n");
}

UNIT_TEST(wide_characters_take_two_columns)
{
	expect_plain(20, "日本語のテキストは幅が二倍です。折り返しも正しく。",
		     "日本語のテキストは幅\nが二倍です。折り返し\nも正しく。\n");
	/* Closing punctuation does not begin a line. */
	expect_plain(21, "日本語日本語日本語日。本語", "日本語日本語日本語\n日。本語\n");
	expect_plain(20, "é́ e\xcc\x81 eeeeeeeeeeeeeeee e", "é́ e\xcc\x81 eeeeeeeeeeeeeeee\ne\n");
}

UNIT_TEST(spans_have_their_styles)
{
	expect("**b** *i* _i_ `c` ~~s~~ ***bi***\n",
	       "\x1b[0;1mb\x1b[0m \x1b[0;3mi\x1b[0m \x1b[0;3mi\x1b[0m \x1b[0;36mc\x1b[0m "
	       "\x1b[0;9ms\x1b[0m \x1b[0;1;3mbi\x1b[0m\n");
	expect("# One\n## Two\n### Three\n",
	       "\x1b[0;1;4mOne\x1b[0m\n\x1b[0;1mTwo\x1b[0m\n\x1b[0;1;3mThree\x1b[0m\n");
	expect("snake_case and 2 * 3 * 4\n", "snake_case and 2 * 3 * 4\n");
	expect("`*a*` \\*b\\* &amp; &lt; &#27;\n",
	       "\x1b[0;36m*a*\x1b[0m *b* & < &#27;\n");
	expect("Setext\n===\n", "\x1b[0;1;4mSetext\x1b[0m\n");
}

UNIT_TEST(links_show_their_address)
{
	expect_plain(80, "[here](https://x.org/a) <https://y.org> https://z.org.",
		     "here (https://x.org/a) https://y.org https://z.org.\n");
	/* The address that a click opens is visible. */
	expect("[x](https://x.org/a)\n", "x (\x1b[0;34;4m\x1b]8;;https://x.org/a\x1b\\https://x.org/a"
					 "\x1b]8;;\x1b\\\x1b[0m)\n");
	expect("[https://good.org](https://bad.org)\n",
	       "https://good.org (\x1b[0;34;4m\x1b]8;;https://bad.org\x1b\\https://bad.org"
	       "\x1b]8;;\x1b\\\x1b[0m)\n");
	expect("[x](javascript:1) [f](file:///etc/passwd)\n",
	       "x (\x1b[0;34;4mjavascript:1\x1b[0m) f (\x1b[0;34;4mfile:///etc/passwd\x1b[0m)\n");
	/* An address with a control character is escaped and cannot be clicked. */
	expect("[x](<https://x.org/\x01y>)\n", "x (\x1b[0;34;4mhttps://x.org/\\x01y\x1b[0m)\n");
}

UNIT_TEST(lists_keep_their_structure)
{
	expect_plain(30, "- one\n- two that is longer than a line\n  - inner\n    - third\n- last",
		     "• one\n• two that is longer than a\n  line\n  ◦ inner\n    ▪ third\n• last\n");
	expect_plain(30, "3. three\n4. four\n\n\n5. five", "3. three\n4. four\n\n5. five\n");
	expect_plain(30, "0. zero\n1. one", "0. zero\n1. one\n");
	expect_plain(30, "- [ ] open\n- [x] done", "☐ open\n☑ done\n");
	expect_plain(30, "1. a\n\n   b\n\n   ```\n   code\n\n   more\n   ```\n2. c\n\nend",
		     "1. a\n\n   b\n\n   code\n\n   more\n2. c\n\nend\n");
	expect_plain(30, "Text:\n- a\n- b\nText", "Text:\n• a\n• b Text\n");
	expect_plain(30, "- \n- a", "•\n• a\n");
	expect_plain(30, "It began in\n1984. It ended.", "It began in 1984. It ended.\n");
}

UNIT_TEST(blocks_are_separated)
{
	expect_plain(30, "# T\n\ntext\n\n---\n\n> quoted *text* that is longer than a line\n>\n> - x",
		     "T\n\ntext\n\n──────────────────────────────\n\n│ quoted text that is longer\n"
		     "│ than a line\n│\n│ • x\n");
	expect_plain(30, "Code:\n```py\n# no *heading*\n\n\tx = 1\n```\nbehind",
		     "Code:\n  # no *heading*\n\n      x = 1\nbehind\n");
	expect_plain(30, "~~~~\n```\n~~~\n~~~~\n", "  ```\n  ~~~\n");
	expect_plain(30, "```\nnever closed", "  never closed\n");
	expect_plain(30, "    four spaces\n\ntext", "four spaces\n\ntext\n");
}

UNIT_TEST(tables_fit_the_width)
{
	static const char table[] = "| Region | Units | Text |\n|:--|--:|-|\n| north | 1,234 | a "
				    "long text in a cell |\n| 東京都 | 5 | *x* `y` |\n";

	expect_plain(80, table,
		     "Region │ Units │ Text\n───────┼───────┼──────────────────────\n"
		     "north  │ 1,234 │ a long text in a cell\n東京都 │     5 │ x y\n");
	expect_plain(30, table,
		     "Region │ Units │ Text\n───────┼───────┼──────────────\n"
		     "north  │ 1,234 │ a long text\n       │       │ in a cell\n"
		     "東京都 │     5 │ x y\n");
	/* If there is not enough room for a table, each cell starts a line of its own. */
	expect_plain(20, table,
		     "Region: north\nUnits: 1,234\nText:\n  a long text in a\n  cell\n\n"
		     "Region: 東京都\nUnits: 5\nText: x y\n");
	expect_plain(30, "a | b\nno table", "a | b no table\n");
}

UNIT_TEST(control_sequences_of_an_answer_are_escaped)
{
	static const char *const texts[] = {
		"\x1b]0;title\x07 \x1b[31m \x1b[2J\x9b\302\23331m",
		"`\x1b[31m` **\x1b[31m** [\x1b[31m](\x1b]8;;x\x07) ![\x1b[31m](\x1b[31m)",
		"```\x1b[31m\n\x1b[31m\n```\n> \x1b[31m\n- \x1b[31m\n# \x1b[31m",
		"| \x1b[31m |\n|---|\n| \x1b]52;c;x\x07 |\n",
		"\x08\x08\x7f\r\x0b\x0c \xff\xfe \xe2\x80",
		"<https://x.org/\x1b]8;;y\x07>",
		"&#27;[31m &#x1b;[31m &#155;",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *drawn = draw(texts[i], strlen(texts[i]), 40, 3, NULL);

		strip(drawn);
		assert_true(utf8_is_valid(drawn, strlen(drawn)));
		for (const char *at = drawn; *at != '\0'; at++)
			if (((unsigned char)*at < 0x20 && *at != '\n') || *at == 0x7f)
				fail_msg("text %zu: byte %02x in %s", i, (unsigned char)*at, drawn);
		assert_null(strstr(drawn, "\xc2\x9b"));
		free(drawn);
	}
}

UNIT_TEST(excessive_markup_is_drawn)
{
	const size_t len = 300000;
	char *text = mem_new0(len + 1, 1);
	static const char *const units[] = { "> ", "- ", "*a ", "[", "![a](", "`", "|", "<a ", "a",
					     "|a|a\n|-|-\n", "**a_b~~", "&#", "\\", "1. ", "~~~\nx" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t unit = strlen(units[i]);
		char *drawn;

		for (size_t at = 0; at < len; at++)
			text[at] = units[i][at % unit];
		drawn = draw(text, len, 80, 5000, NULL);
		if (drawn[0] == '\0')
			fail_msg("nothing of %s", units[i]);
		free(drawn);
	}
	free(text);
}

static void note_image(const char *path, size_t len, struct buf *ret, void *arg)
{
	(void)arg;
	assert_ok(&err, buf_addf(ret, &err, "<%.*s>\n", (int)len, path));
}

UNIT_TEST(images_follow_their_paragraph)
{
	static const char text[] = "See ![a *b*](sandbox:/mnt/data/x.png) and ![](y.png).\n\nMore\n";
	char *drawn;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		drawn = draw(text, sizeof(text) - 1, 80, piece, note_image);
		strip(drawn);
		assert_string_equal(drawn, "See [image: a b] and [image: ].\n"
					   "<sandbox:/mnt/data/x.png>\n<y.png>\n\nMore\n");
		free(drawn);
	}
}

/* A line is drawn as soon as later text cannot change it. */
UNIT_TEST(lines_are_drawn_before_their_paragraph_ends)
{
	static const char text[] = "The first line of a paragraph is shown as soon as the second";
	struct markdown *markdown = markdown_new(NULL, NULL);
	struct buf drawn = BUF_INIT(DRAWN_MAX);

	markdown_set_width(markdown, 40);
	assert_ok(&err, markdown_add(markdown, text, sizeof(text) - 1, &drawn, &err));
	assert_string_equal(buf_text(&drawn), "The first line of a paragraph is shown\n");
	assert_ok(&err, markdown_add(markdown, " *begins", 8, &drawn, &err));
	assert_ok(&err, markdown_add(markdown, " and may end* where", 19, &drawn, &err));
	assert_ok(&err, markdown_end(markdown, &drawn, &err));
	strip(drawn.data);
	assert_string_equal(drawn.data, "The first line of a paragraph is shown\nas soon as the second "
					"begins and may end\nwhere\n");
	markdown_free(markdown);
	buf_done(&drawn);
}

static void expect_preview(const char *text, size_t lines_max, const char *drawn,
			   const char *preview)
{
	struct markdown *markdown = markdown_new(NULL, NULL);
	struct buf now = BUF_INIT(DRAWN_MAX), later = BUF_INIT(DRAWN_MAX);

	markdown_set_width(markdown, 20);
	assert_ok(&err, markdown_add(markdown, text, strlen(text), &now, &err));
	assert_ok(&err, markdown_preview(markdown, lines_max, &later, &err));
	if (now.len > 0)
		strip(now.data);
	if (later.len > 0)
		strip(later.data);
	assert_string_equal(now.len > 0 ? now.data : "", drawn);
	assert_string_equal(later.len > 0 ? later.data : "", preview);
	markdown_free(markdown);
	buf_done(&now);
	buf_done(&later);
}

UNIT_TEST(the_preview_shows_text_that_is_not_drawn_yet)
{
	expect_preview("A wo", 9, "", "A wo");
	expect_preview("A word.\n\n**An", 9, "A word.\n", "\n**An");
	expect_preview("A word.\n\n**An** o", 9, "A word.\n", "\nAn o");
	expect_preview("One line is drawn and *this", 9, "One line is drawn\n", "and *this");
	expect_preview("- a\n- b c", 9, "", "• a\n• b c");
	expect_preview("# T\nx\n```\ndone\ncod", 9, "T\nx\n  done\n", "  cod");
	expect_preview("```\ndone\n``", 9, "  done\n", "  ``");
	expect_preview("```\ndone\n```", 9, "  done\n", "");
	expect_preview("|a|b|\n|-|-|\n|c|", 9, "", "a │ b\n──┼──\nc │ ");
	expect_preview("|a|b|\n|-|-|\n|c|", 2, "", "");
	expect_preview("", 9, "", "");
	expect_preview("x\n\n", 9, "x\n", "");
	expect_preview("ab\xe6\x97", 9, "", "ab");
}

int main(void)
{
	term_width_locale();
	return unit_run(NULL, NULL);
}
