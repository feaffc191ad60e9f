/*
 * test_base_log.c - an event is always one line, whatever text it contains.
 *
 * Runs in:  the unit suite.
 * Reads:    its own standard error, through a memory file.
 * Never:    leaves standard error redirected.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/log.h"

static int saved = -1, caught = -1;

static void catch_begin(void)
{
	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	caught = memfd_create("unit", MFD_CLOEXEC);
	assert_int_equal(dup2(caught, STDERR_FILENO), STDERR_FILENO);
}

/* Restores standard error; returns the lines since catch_begin(), without their time. */
static void catch_end(struct buf *ret)
{
	cleanup_buf struct buf all = BUF_INIT(1 << 20);
	struct err err;

	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(lseek(caught, 0, SEEK_SET), 0);
	assert_ok(&err, fd_read_all(caught, &all, &err));
	(void)close(saved);
	(void)close(caught);
	buf_clear(ret);
	for (size_t at = 0; at < all.len;) {
		const char *line = all.data + at, *end = strchr(line, '\n');

		assert_non_null(end);
		if (line[0] == '{') {
			assert_memory_equal(line, "{\"time\":\"20", 11);
			assert_ok(&err, buf_addc(ret, '{', &err));
			line += strlen("{\"time\":\"2026-11-22T05:08:47.957Z\",");
		} else {
			assert_memory_equal(line, "time=20", 7);
			line += strlen("time=2026-11-22T05:08:47.957Z ");
		}
		assert_ok(&err, buf_add(ret, line, (size_t)(end - line) + 1, &err));
		at = (size_t)(end - all.data) + 1;
	}
}

/* Logs one line and catches it in `ret`. */
static void catch_line(struct buf *ret, enum log_level level, const char *msg, const char *value)
{
	catch_begin();
	if (value != NULL)
		log_line(level, msg, "key=%s", value);
	else
		log_line(level, msg, NULL);
	catch_end(ret);
}

UNIT_TEST(a_line_is_logfmt)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	catch_line(&line, LOG_WARN, "session ready", "7");
	assert_string_equal(buf_text(&line), "level=warn from=unit msg=\"session ready\" key=7\n");
	catch_line(&line, LOG_ERROR, "gone", NULL);
	assert_string_equal(buf_text(&line), "level=error from=unit msg=\"gone\"\n");
}

UNIT_TEST(the_environment_sets_the_threshold)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	catch_line(&line, LOG_INFO, "quiet", NULL);
	assert_int_equal(line.len, 0);
	assert_int_equal(setenv("RECKON_LOG", "info", 1), 0);
	log_init("unit");
	catch_line(&line, LOG_DEBUG, "quiet", NULL);
	assert_int_equal(line.len, 0);
	catch_line(&line, LOG_INFO, "loud", NULL);
	assert_true(line.len > 0);
	assert_int_equal(setenv("RECKON_LOG", "debug", 1), 0);
	log_init("unit");
	catch_line(&line, LOG_DEBUG, "loud", NULL);
	assert_true(line.len > 0);
	assert_int_equal(unsetenv("RECKON_LOG"), 0);
}

UNIT_TEST(control_characters_cannot_forge_a_line)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	catch_line(&line, LOG_ERROR, "text", "a\nlevel=error\r\x1b[2J\x7f\t.");
	assert_string_equal(buf_text(&line),
			    "level=error from=unit msg=\"text\" key=\"a?level=error??[2J??.\"\n");
}

UNIT_TEST(a_long_line_is_cut_and_still_ends)
{
	cleanup_buf struct buf line = BUF_INIT(8192);
	char longer[5000];

	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	log_init("unit");
	catch_line(&line, LOG_ERROR, "text", longer);
	assert_true(line.len > 500 && line.len < 2000);
	assert_int_equal(line.data[line.len - 1], '\n');
	catch_line(&line, LOG_ERROR, longer, "value");
	assert_true(line.len > 500 && line.len < 2000);
	assert_int_equal(line.data[line.len - 1], '\n');
}

UNIT_TEST(a_value_cannot_forge_a_key)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	catch_begin();
	log_line(LOG_ERROR, "text", "why=\"%s\" more=%s at=%s:%d n=%llu x=%.3s", "a\" b=\"c\\", "p q",
		 "file", -7, 18446744073709551615ull, "abcdef");
	catch_end(&line);
	assert_string_equal(buf_text(&line),
			    "level=error from=unit msg=\"text\" why=\"a\\\" b=\\\"c\\\\\" more=\"p q\""
			    " at=file:-7 n=18446744073709551615 x=abc\n");
}

UNIT_TEST(json_lines_have_escaped_strings_and_numbers)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	log_set(LOG_INFO, LOG_JSON, 0);
	catch_begin();
	log_line(LOG_INFO, "a \"b\"", "n=%d word=%s why=\"%s\" none=%s", 7, "7", "\xff\x01\\ \xc3\xa4",
		 "");
	catch_end(&line);
	log_set(LOG_WARN, LOG_LOGFMT, 0);
	assert_string_equal(buf_text(&line),
			    "{\"level\":\"info\",\"from\":\"unit\",\"msg\":\"a \\\"b\\\"\",\"n\":7,"
			    "\"word\":\"7\",\"why\":\"\\ufffd\\u0001\\\\ \xc3\xa4\",\"none\":\"\"}\n");
}

UNIT_TEST(a_json_line_that_was_cut_is_closed)
{
	cleanup_buf struct buf line = BUF_INIT(8192);
	char longer[5000];

	memset(longer, '"', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	log_init("unit");
	log_set(LOG_INFO, LOG_JSON, 0);
	catch_begin();
	log_line(LOG_INFO, "text", "one=%s two=%s three=%s", longer, longer, longer);
	catch_end(&line);
	log_set(LOG_WARN, LOG_LOGFMT, 0);
	assert_true(line.len > 1500 && line.len < 2000);
	assert_string_equal(line.data + line.len - 5, "\\\"\"}\n");
}

UNIT_TEST(the_context_of_a_line_is_logged_once)
{
	static const struct log_context about = { .request = "rq_1", .session = "se_1" };
	cleanup_buf struct buf line = BUF_INIT(4096);

	log_init("unit");
	log_about(&about);
	catch_begin();
	log_line(LOG_ERROR, "text", "session=%s", "se_2");
	log_line(LOG_ERROR, "text", NULL);
	log_about(NULL);
	log_line(LOG_ERROR, "text", NULL);
	catch_end(&line);
	assert_string_equal(buf_text(&line),
			    "level=error from=unit msg=\"text\" session=se_2 request=rq_1\n"
			    "level=error from=unit msg=\"text\" request=rq_1 session=se_1\n"
			    "level=error from=unit msg=\"text\"\n");
}

UNIT_TEST(a_flood_is_limited_and_dropped_lines_are_counted)
{
	cleanup_buf struct buf lines = BUF_INIT(1 << 20);
	unsigned written = 0, dropped = 0;

	log_init("unit");
	log_set(LOG_WARN, LOG_LOGFMT, 3);
	catch_begin();
	for (int i = 0; i < 1000; i++)
		log_line(LOG_WARN, "flood", NULL);
	/* Errors have a limit of their own; in the next second the dropped lines are reported. */
	log_line(LOG_ERROR, "error", NULL);
	(void)usleep(1100000);
	log_line(LOG_WARN, "after", NULL);
	catch_end(&lines);
	log_set(LOG_WARN, LOG_LOGFMT, 0);
	for (const char *at = buf_text(&lines); (at = strstr(at, "msg=\"flood\"")) != NULL; at++)
		written++;
	for (const char *at = buf_text(&lines); (at = strstr(at, "were dropped\" count=")) != NULL; at++)
		dropped += (unsigned)strtoul(at + strlen("were dropped\" count="), NULL, 10);
	assert_true(written >= 3 && written <= 9); /* the loop may cross the end of a second */
	assert_int_equal(written + dropped, 1000);
	assert_non_null(strstr(buf_text(&lines), "msg=\"error\""));
	assert_non_null(strstr(buf_text(&lines), "msg=\"after\""));
}

int main(void)
{
	(void)unsetenv("RECKON_LOG");
	return unit_run(NULL, NULL);
}
