/*
 * test_host_metrics.c - the text format of Prometheus, to the byte.
 *
 * Runs in:  the unit suite.
 * Reads:    its own numbers.
 * Never:    parses the output; test_serve_operations.py does, with Prometheus' own parser.
 */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "host/operations/metrics.h"

static struct err err;

UNIT_TEST(a_sample_is_one_line)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	const char *const labels[] = { "one", "a", "two", "b", NULL };
	const char *const empty[] = { NULL };

	assert_ok(&err, metrics_family(&text, "x_total", "counter", "What it is.", &err));
	assert_ok(&err, metrics_sample(&text, "x_total", labels, 7, &err));
	assert_ok(&err, metrics_sample(&text, "x_total", empty, 18446744073709551615ull, &err));
	assert_ok(&err, metrics_sample(&text, "x_total", NULL, 0, &err));
	assert_string_equal(buf_text(&text), "# HELP x_total What it is.\n# TYPE x_total counter\n"
					     "x_total{one=\"a\",two=\"b\"} 7\n"
					     "x_total 18446744073709551615\nx_total 0\n");
}

UNIT_TEST(label_values_are_escaped)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	const char *const labels[] = { "l", "a\"} 1\n\\", NULL };

	assert_ok(&err, metrics_sample(&text, "x", labels, 1, &err));
	assert_string_equal(buf_text(&text), "x{l=\"a\\\"} 1\\n\\\\\"} 1\n");
}

UNIT_TEST(seconds_are_exact)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "x 0\n" },		      { 1, "x 0.000000001\n" },
		{ 1500000000, "x 1.5\n" },    { 1000000000, "x 1\n" },
		{ 10000000000, "x 10\n" },    { 500000, "x 0.0005\n" },
		{ 18446744073709551615ull, "x 18446744073.709551615\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_buf struct buf text = BUF_INIT(256);

		assert_ok(&err, metrics_sample_ns(&text, "x", NULL, cases[i].ns, &err));
		assert_string_equal(buf_text(&text), cases[i].text);
	}
}

UNIT_TEST(a_histogram_adds_up)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 20);
	static struct metrics metrics;
	static const struct metrics_now now = { .version = "0" };
	static const char *const lines[] = {
		/* A value that equals the bound of a bucket belongs to it. */
		"\nreckon_execution_wall_seconds_bucket{le=\"0.001\"} 1\n",
		"\nreckon_execution_wall_seconds_bucket{le=\"0.0025\"} 2\n",
		"\nreckon_execution_wall_seconds_bucket{le=\"120\"} 2\n",
		"\nreckon_execution_wall_seconds_bucket{le=\"+Inf\"} 3\n",
		"\nreckon_execution_wall_seconds_sum 1000.002000001\n",
		"\nreckon_execution_wall_seconds_count 3\n",
		"\nreckon_executions_total{status=\"timeout\"} 1\n",
		"\nreckon_executions_total{status=\"other\"} 1\n",
	};

	metrics_observe(&metrics, METRICS_WALL, 0, 1000000);
	metrics_observe(&metrics, METRICS_WALL, 0, 1000001);
	metrics_observe(&metrics, METRICS_WALL, 0, 1000000000000);
	metrics_add(&metrics, METRICS_EXECUTIONS, metrics_counter_label(METRICS_EXECUTIONS, "timeout"),
		    1);
	metrics_add(&metrics, METRICS_EXECUTIONS, metrics_counter_label(METRICS_EXECUTIONS, "new"), 1);
	assert_ok(&err, metrics_write(&metrics, &now, &text, &err));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(text.data, lines[i]) == NULL)
			fail_msg("no line %s", lines[i]);
}

UNIT_TEST(a_buffer_that_is_full_is_reported)
{
	cleanup_buf struct buf text = BUF_INIT(1000);
	static struct metrics metrics;
	static const struct metrics_now now = { .version = "0" };

	assert_err(&err, ERR_LIMIT, metrics_write(&metrics, &now, &text, &err));
}
