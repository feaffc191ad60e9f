/*
 * test_cli_progress.c - the text of a progress line: amount, rate and remaining time.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    looks at a clock.
 */
#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/term/progress.h"

#define MB UINT64_C(1000000)
#define S UINT64_C(1000000000)

static void check(const char *what, uint64_t done, uint64_t total, uint64_t ns, const char *want)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct err err;

	assert_int_equal(term_progress_text(what, done, total, ns, &text, &err), 0);
	assert_string_equal(buf_text(&text), want);
}

UNIT_TEST(test_progress_shows_amount_rate_and_remaining_time)
{
	check("a.bin", 100 * MB, 300 * MB, 2 * S, "a.bin: 100 MB of 300 MB, 50 MB/s, 5 s left");
	check(NULL, 10 * MB, 0, 1 * S, "10 MB, 10 MB/s");
	check(NULL, 0, 300 * MB, 1 * S, "0 B of 300 MB");
	check(NULL, 300 * MB, 300 * MB, 3 * S, "300 MB of 300 MB, 100 MB/s");
	check(NULL, 1 * MB, 300 * MB, 1 * S, "1 MB of 300 MB, 1 MB/s, 5 min 0 s left");
	check(NULL, 1 * MB, 9000 * MB, 1 * S, "1 MB of 9 GB, 1 MB/s, 2 h 30 min left");
	check("a\033[2J\n", 1, 2, 0, "a\\x1b[2J\\n: 1 B of 2 B");
}
