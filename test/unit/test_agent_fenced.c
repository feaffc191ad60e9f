/*
 * test_agent_fenced.c - fenced code blocks in the text of a model.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    expects a whole text at once.
 */
#include "unit.h"

#include <string.h>

#include "agent/formats/fenced.h"

UNIT_TEST(fenced_blocks_are_found)
{
	static const struct {
		const char *text, *language, *code; /* NULL: none */
		bool complete;
	} cases[] = {
		{ "a\n```python\nx\n```\nb", "python", "x\n", true },
		{ "```py\nx\n```", "python", "x\n", true },
		{ "```\nx\n```", "python", "x\n", true },
		{ "   ~~~ Python3 title\nx\n~~~~\n", "python", "x\n", true },
		{ "````python\n```\nx\n````\n", "python", "```\nx\n", true },
		{ "```json\n{}\n```\n```python\ny\n```\n", "python", "y\n", true },
		{ "```bash\nls\n```\n", "python", NULL, false },
		{ "```sh\nls\n```\n", "bash", "ls\n", true },
		{ "```python\nx", "python", "x", false },
		{ "```python\r\nx\r\n```\r\n", "python", "x\r\n", true },
		{ "```python", "python", "", false },
		{ "see ```python\nx\n```", "python", "", false }, /* the last line opens one */
		{ "    ```python\nx", "python", NULL, false },
		{ "```not a `fence`\nx\n", "python", NULL, false },
		{ "``python\nx\n``\n", "python", NULL, false },
		{ "", "python", NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		struct fenced block;

		if (cases[i].code == NULL) {
			assert_false(fenced_find(text, strlen(text), cases[i].language, &block));
			continue;
		}
		assert_true(fenced_find(text, strlen(text), cases[i].language, &block));
		assert_int_equal(block.complete, cases[i].complete);
		assert_int_equal(block.code_len, strlen(cases[i].code));
		assert_memory_equal(text + block.code, cases[i].code, block.code_len);
		assert_true(block.end <= strlen(text) && block.start <= block.code);
	}
}

UNIT_TEST(the_prose_of_a_growing_text_excludes_code)
{
	static const char text[] = "So: `x`\n  is\n```python\nprint(1)\n```\n";
	size_t before = 0;

	for (size_t len = 0; len < sizeof(text); len++) {
		const size_t prose = fenced_prose(text, len, "python");

		assert_true(prose >= before || prose == 13);
		assert_true(prose <= 13 && prose <= len);
		before = prose;
	}
	assert_int_equal(before, 13);
	assert_int_equal(fenced_prose("a\n``", 4, "python"), 2);
	assert_int_equal(fenced_prose("a\nb", 3, "python"), 3);
}
