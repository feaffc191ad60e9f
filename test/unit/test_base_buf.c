/*
 * test_base_buf.c - size limits, termination and reuse of struct buf.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    relies on the growth policy.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"

UNIT_TEST(empty_buffer_is_empty_text)
{
	cleanup_buf struct buf buf = BUF_INIT(8);

	assert_string_equal(buf_text(&buf), "");
	buf_clear(&buf);
	buf_consume(&buf, 3);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
}

UNIT_TEST(added_bytes_are_appended_and_terminated)
{
	cleanup_buf struct buf buf = BUF_INIT(1024);
	struct err err;

	assert_ok(&err, buf_adds(&buf, "one", &err));
	assert_ok(&err, buf_addc(&buf, ' ', &err));
	assert_ok(&err, buf_add(&buf, "two\0six", 7, &err));
	assert_int_equal(buf.len, 11);
	assert_memory_equal(buf.data, "one two\0six", 12);
	buf_clear(&buf);
	assert_ok(&err, buf_addf(&buf, &err, "%s=%d", "x", 42));
	assert_string_equal(buf_text(&buf), "x=42");
	assert_int_equal(buf.len, 4);
}

UNIT_TEST(adding_nothing_works_on_a_fresh_buffer)
{
	cleanup_buf struct buf buf = BUF_INIT(0);
	struct err err;

	assert_ok(&err, buf_add(&buf, NULL, 0, &err));
	assert_ok(&err, buf_adds(&buf, "", &err));
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
	assert_err(&err, ERR_LIMIT, buf_addc(&buf, 'x', &err));
}

UNIT_TEST(the_limit_is_exact_and_a_failure_changes_nothing)
{
	cleanup_buf struct buf buf = BUF_INIT(5);
	struct err err;

	assert_ok(&err, buf_adds(&buf, "12345", &err));
	assert_err(&err, ERR_LIMIT, buf_addc(&buf, '6', &err));
	assert_err(&err, ERR_LIMIT, buf_addf(&buf, &err, "%d", 7));
	assert_string_equal(buf_text(&buf), "12345");
	buf_consume(&buf, 2);
	assert_err(&err, ERR_LIMIT, buf_adds(&buf, "678", &err));
	assert_ok(&err, buf_adds(&buf, "67", &err));
	assert_string_equal(buf_text(&buf), "34567");
}

UNIT_TEST(a_length_that_would_wrap_is_refused)
{
	cleanup_buf struct buf buf = BUF_INIT(SIZE_MAX);
	char *space = NULL;
	struct err err;

	assert_ok(&err, buf_adds(&buf, "abc", &err));
	buf.max = 64;
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX, &space, &err));
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX - 2, &space, &err));
	assert_null(space);
	assert_string_equal(buf_text(&buf), "abc");
}

/* With the largest limit, too, a size that leaves no room for the terminator is refused. */
UNIT_TEST(the_terminator_cannot_wrap_the_size)
{
	cleanup_buf struct buf buf = BUF_INIT(SIZE_MAX);
	char *space = NULL;
	struct err err;

	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX, &space, &err));
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX / 2 + 2, &space, &err));
	assert_null(space);
}

UNIT_TEST(reserved_space_is_writable_and_not_yet_counted)
{
	cleanup_buf struct buf buf = BUF_INIT(4096);
	struct err err;
	char *space;

	assert_ok(&err, buf_adds(&buf, "ab", &err));
	assert_ok(&err, buf_reserve(&buf, 1000, &space, &err));
	assert_ptr_equal(space, buf.data + 2);
	assert_int_equal(buf.len, 2);
	memset(space, 'z', 1000);
	buf.len += 1000;
	assert_ok(&err, buf_addc(&buf, '!', &err));
	assert_int_equal(buf.len, 1003);
	assert_int_equal(buf.data[1001], 'z');
	assert_int_equal(buf.data[1002], '!');
	assert_int_equal(buf.data[1003], '\0');
}

UNIT_TEST(consume_drops_from_the_front)
{
	cleanup_buf struct buf buf = BUF_INIT(64);
	struct err err;

	assert_ok(&err, buf_adds(&buf, "abcdef", &err));
	buf_consume(&buf, 0);
	assert_string_equal(buf_text(&buf), "abcdef");
	buf_consume(&buf, 4);
	assert_string_equal(buf_text(&buf), "ef");
	buf_consume(&buf, 99);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
}

UNIT_TEST(growth_preserves_every_byte)
{
	cleanup_buf struct buf buf = BUF_INIT(1u << 20);
	struct err err;

	for (int i = 0; i < 100000; i++)
		assert_ok(&err, buf_addc(&buf, (char)('a' + i % 26), &err));
	assert_int_equal(buf.len, 100000);
	for (int i = 0; i < 100000; i++)
		if (buf.data[i] != (char)('a' + i % 26))
			fail_msg("byte %d is wrong", i);
	assert_true(buf.cap > buf.len);
}

UNIT_TEST(a_released_buffer_can_be_used_again)
{
	cleanup_buf struct buf buf = BUF_INIT(16);
	struct err err;

	assert_ok(&err, buf_adds(&buf, "first", &err));
	buf_done(&buf);
	buf_done(&buf);
	assert_string_equal(buf_text(&buf), "");
	assert_int_equal(buf.max, 16);
	assert_ok(&err, buf_adds(&buf, "second", &err));
	assert_string_equal(buf_text(&buf), "second");
}
