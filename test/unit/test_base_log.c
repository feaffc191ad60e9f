/*
 * test_base_log.c - one event stays one line, whatever is in it.
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
#include "base/fd.h"
#include "base/log.h"

/* Logs with standard error caught in `ret`. */
static void catch_line(struct buf *ret, enum log_level level, const char *msg, const char *value)
{
	cleanup_fd int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	cleanup_fd int caught = memfd_create("unit", MFD_CLOEXEC);
	struct err err;

	assert_int_equal(dup2(caught, STDERR_FILENO), STDERR_FILENO);
	if (value != NULL)
		log_line(level, msg, "key=%s", value);
	else
		log_line(level, msg, NULL);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(lseek(caught, 0, SEEK_SET), 0);
	buf_clear(ret);
	assert_ok(&err, fd_read_all(caught, ret, &err));
}

static void a_line_is_logfmt(void **state)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	(void)state;
	log_init("unit");
	catch_line(&line, LOG_WARN, "session ready", "7");
	assert_string_equal(buf_text(&line), "level=warn from=unit msg=\"session ready\" key=7\n");
	catch_line(&line, LOG_ERROR, "gone", NULL);
	assert_string_equal(buf_text(&line), "level=error from=unit msg=\"gone\"\n");
}

static void the_environment_sets_the_threshold(void **state)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	(void)state;
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

static void control_characters_cannot_forge_a_line(void **state)
{
	cleanup_buf struct buf line = BUF_INIT(4096);

	(void)state;
	log_init("unit");
	catch_line(&line, LOG_ERROR, "text", "a\nlevel=error\r\x1b[2J\x7f\t.");
	assert_string_equal(buf_text(&line),
			    "level=error from=unit msg=\"text\" key=a?level=error??[2J??.\n");
}

static void a_long_line_is_cut_and_still_ends(void **state)
{
	cleanup_buf struct buf line = BUF_INIT(8192);
	char longer[5000];

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_logfmt),
		cmocka_unit_test(the_environment_sets_the_threshold),
		cmocka_unit_test(control_characters_cannot_forge_a_line),
		cmocka_unit_test(a_long_line_is_cut_and_still_ends),
	};

	(void)unsetenv("RECKON_LOG");
	return cmocka_run_group_tests_name("base_log", tests, NULL, NULL);
}
