/*
 * test_base_buf.c - ceilings, termination and reuse of struct buf.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    relies on the growth policy.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"

static void empty_buffer_is_empty_text(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(8);

	(void)state;
	assert_string_equal(buf_text(&buf), "");
	buf_clear(&buf);
	buf_consume(&buf, 3);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
}

static void adds_are_appended_and_terminated(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(1024);
	struct err err;

	(void)state;
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

static void adding_nothing_works_on_a_fresh_buffer(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(0);
	struct err err;

	(void)state;
	assert_ok(&err, buf_add(&buf, NULL, 0, &err));
	assert_ok(&err, buf_adds(&buf, "", &err));
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
	assert_err(&err, ERR_LIMIT, buf_addc(&buf, 'x', &err));
}

static void ceiling_is_exact_and_keeps_the_contents(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(5);
	struct err err;

	(void)state;
	assert_ok(&err, buf_adds(&buf, "12345", &err));
	assert_err(&err, ERR_LIMIT, buf_addc(&buf, '6', &err));
	assert_err(&err, ERR_LIMIT, buf_addf(&buf, &err, "%d", 7));
	assert_string_equal(buf_text(&buf), "12345");
	buf_consume(&buf, 2);
	assert_err(&err, ERR_LIMIT, buf_adds(&buf, "678", &err));
	assert_ok(&err, buf_adds(&buf, "67", &err));
	assert_string_equal(buf_text(&buf), "34567");
}

static void a_length_that_would_wrap_is_refused(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(SIZE_MAX);
	char *space = NULL;
	struct err err;

	(void)state;
	assert_ok(&err, buf_adds(&buf, "abc", &err));
	buf.max = 64;
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX, &space, &err));
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX - 2, &space, &err));
	assert_null(space);
	assert_string_equal(buf_text(&buf), "abc");
}

/* The largest ceiling leaves no room for the terminator, whatever is asked for. */
static void the_terminator_cannot_wrap_the_size(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(SIZE_MAX);
	char *space = NULL;
	struct err err;

	(void)state;
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX, &space, &err));
	assert_err(&err, ERR_LIMIT, buf_reserve(&buf, SIZE_MAX / 2 + 2, &space, &err));
	assert_null(space);
}

static void reserved_space_is_writable_and_not_yet_counted(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(4096);
	struct err err;
	char *space;

	(void)state;
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

static void consume_drops_from_the_front(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(64);
	struct err err;

	(void)state;
	assert_ok(&err, buf_adds(&buf, "abcdef", &err));
	buf_consume(&buf, 0);
	assert_string_equal(buf_text(&buf), "abcdef");
	buf_consume(&buf, 4);
	assert_string_equal(buf_text(&buf), "ef");
	buf_consume(&buf, 99);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf_text(&buf), "");
}

static void growth_keeps_every_byte(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(1u << 20);
	struct err err;

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_ok(&err, buf_addc(&buf, (char)('a' + i % 26), &err));
	assert_int_equal(buf.len, 100000);
	for (int i = 0; i < 100000; i++)
		if (buf.data[i] != (char)('a' + i % 26))
			fail_msg("byte %d is wrong", i);
	assert_true(buf.cap > buf.len);
}

static void a_released_buffer_can_be_used_again(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT(16);
	struct err err;

	(void)state;
	assert_ok(&err, buf_adds(&buf, "first", &err));
	buf_done(&buf);
	buf_done(&buf);
	assert_string_equal(buf_text(&buf), "");
	assert_int_equal(buf.max, 16);
	assert_ok(&err, buf_adds(&buf, "second", &err));
	assert_string_equal(buf_text(&buf), "second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_buffer_is_empty_text),
		cmocka_unit_test(adds_are_appended_and_terminated),
		cmocka_unit_test(adding_nothing_works_on_a_fresh_buffer),
		cmocka_unit_test(ceiling_is_exact_and_keeps_the_contents),
		cmocka_unit_test(a_length_that_would_wrap_is_refused),
		cmocka_unit_test(the_terminator_cannot_wrap_the_size),
		cmocka_unit_test(reserved_space_is_writable_and_not_yet_counted),
		cmocka_unit_test(consume_drops_from_the_front),
		cmocka_unit_test(growth_keeps_every_byte),
		cmocka_unit_test(a_released_buffer_can_be_used_again),
	};

	return cmocka_run_group_tests_name("base_buf", tests, NULL, NULL);
}
