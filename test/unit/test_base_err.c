/*
 * test_base_err.c - setting, wrapping and naming errors.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    depends on the locale's error texts beyond their presence.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

UNIT_TEST(set_overwrites_the_whole_error)
{
	struct err err;

	memset(&err, 'x', sizeof(err));
	assert_int_equal(err_set(&err, ERR_DENIED, "no %s for %d", "bread", 3), ERR_DENIED);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(err.errnum, 0);
	assert_string_equal(err.text, "no bread for 3");
	assert_string_equal(err.remedy, "");
}

UNIT_TEST(sys_stores_errno_and_adds_its_text)
{
	struct err err;

	errno = ENOENT;
	assert_int_equal(err_sys(&err, "open %s", "/x"), ERR_SYSTEM);
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
	assert_string_equal(err.remedy, "");
}

UNIT_TEST(wrap_puts_context_in_front)
{
	struct err err;

	(void)err_set(&err, ERR_LIMIT, "full");
	(void)err_remedy(&err, "raise %s", "--disk");
	assert_int_equal(err_wrap(&err, "file %d", 1), ERR_LIMIT);
	assert_int_equal(err_wrap(&err, "session"), ERR_LIMIT);
	assert_string_equal(err.text, "session: file 1: full");
	assert_string_equal(err.remedy, "raise --disk");
}

UNIT_TEST(wrap_preserves_errno)
{
	struct err err;

	errno = EPERM;
	(void)err_sys(&err, "mount");
	assert_int_equal(err_wrap(&err, "box"), ERR_SYSTEM);
	assert_int_equal(err.errnum, EPERM);
}

/* A hostile name can make a text too long: it is cut and stays terminated. */
UNIT_TEST(long_texts_are_cut)
{
	char longer[1000];
	struct err err;

	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	(void)err_set(&err, ERR_INVALID, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	errno = EIO;
	(void)err_sys(&err, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)err_wrap(&err, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)err_wrap(&err, "front");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "front: aaa", 10);
	(void)err_remedy(&err, "%s", longer);
	assert_int_equal(strlen(err.remedy), sizeof(err.remedy) - 1);
}

UNIT_TEST(clear_sets_success)
{
	struct err err;

	(void)err_set(&err, ERR_LOST, "gone");
	(void)err_remedy(&err, "open a new one");
	err_clear(&err);
	assert_int_equal(err.code, ERR_OK);
	assert_string_equal(err.text, "");
	assert_string_equal(err.remedy, "");
}

UNIT_TEST(every_code_has_its_own_name)
{
	for (int i = 0; i < ERR_CODE_COUNT; i++) {
		const char *name = err_code_name((enum err_code)-i);

		assert_string_not_equal(name, "unknown");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(name, err_code_name((enum err_code)-j));
	}
	assert_string_equal(err_code_name((enum err_code)-ERR_CODE_COUNT), "unknown");
	assert_string_equal(err_code_name((enum err_code)1), "unknown");
	assert_string_equal(err_code_name(ERR_NOT_FOUND), "not_found");
}

/* A child reports an error with one write(), so the struct must not contain pointers. */
UNIT_TEST(an_error_crosses_a_pipe)
{
	struct err sent, got;
	int pipe_fd[2];

	assert_int_equal(pipe(pipe_fd), 0);
	err_clear(&sent);
	errno = EACCES;
	(void)err_sys(&sent, "clone3");
	(void)err_remedy(&sent, "allow user namespaces");
	assert_int_equal(write(pipe_fd[1], &sent, sizeof(sent)), sizeof(sent));
	assert_int_equal(read(pipe_fd[0], &got, sizeof(got)), sizeof(got));
	assert_memory_equal(&sent, &got, sizeof(got));
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
}
