/*
 * test_cli_ask.c - sandbox links in answers become local paths.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    looks for a file.
 */
#include "unit.h"

#include <string.h>

#include "cli/journal/form.h"

UNIT_TEST(links_are_replaced_wherever_the_text_is_cut)
{
	static const char *const cases[][3] = {
		{ "[a](sandbox:/mnt/data/a b.pdf)", "out", "[a](out/a b.pdf)" },
		{ "sandbox:/mnt/data/sandbox:/mnt/data/x", "o/", "o/o/x" },
		{ "ssandbox:/mnt/data/x", "o", "so/x" },
		{ "sandbox:/mnt/datasandbox:/mnt/data/x", "o", "sandbox:/mnt/datao/x" },
		{ "sandbox:/mnt/dat", "o", "sandbox:/mnt/dat" },
		{ "sandbox:/mnt/data/x", NULL, "sandbox:/mnt/data/x" },
		{ "sssand", "o", "sssand" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece <= strlen(cases[i][0]); piece++) {
			cleanup_buf struct buf shown = BUF_INIT(4096);
			struct ask_link link = { .folder = cases[i][1] };
			const size_t len = strlen(cases[i][0]);
			struct err err;

			for (size_t at = 0; at < len; at += piece)
				assert_ok(&err, ask_link_add(&link, cases[i][0] + at,
							     len - at < piece ? len - at : piece,
							     &shown, &err));
			assert_ok(&err, ask_link_end(&link, &shown, &err));
			assert_string_equal(buf_text(&shown), cases[i][2]);
		}
}
