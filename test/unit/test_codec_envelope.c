/*
 * test_codec_envelope.c - messages of Connect streams: whole, cut, too long, with unknown flags.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    takes what is not whole.
 */
#include "unit.h"

#include "codec/envelope.h"

static void test_one_behind_the_other(void **state)
{
	static const char bytes[] = "\0\0\0\0\2{}\2\0\0\0\0rest";
	struct envelope envelope;
	struct err err;
	size_t used;

	(void)state;
	assert_int_equal(envelope_read(bytes, sizeof(bytes) - 1, 16, &envelope, &used, &err), 1);
	assert_int_equal(used, 7);
	assert_int_equal(envelope.flags, 0);
	assert_memory_equal(envelope.data, "{}", 2);
	assert_int_equal(envelope_read(bytes + 7, sizeof(bytes) - 8, 16, &envelope, &used, &err), 1);
	assert_int_equal(envelope.flags, ENVELOPE_END);
	assert_int_equal(envelope.len, 0);
}

static void test_what_is_cut_waits(void **state)
{
	static const char bytes[] = "\0\0\0\0\2{}";
	struct envelope envelope;
	struct err err;
	size_t used;

	(void)state;
	for (size_t len = 0; len < 7; len++)
		assert_int_equal(envelope_read(bytes, len, 16, &envelope, &used, &err), 0);
}

static void test_what_is_wrong_is_told_at_once(void **state)
{
	struct envelope envelope;
	struct err err;
	size_t used;

	(void)state;
	assert_int_equal(envelope_read("\0\0\0\0\x11", 5, 16, &envelope, &used, &err), ERR_LIMIT);
	assert_int_equal(envelope_read("\0\xff\xff\xff\xff", 5, 16, &envelope, &used, &err), ERR_LIMIT);
	assert_int_equal(envelope_read("\x04", 1, 16, &envelope, &used, &err), ERR_INVALID);
}

static void test_a_head_is_read_again(void **state)
{
	char bytes[ENVELOPE_HEAD + 3] = "";
	struct envelope envelope;
	struct err err;
	size_t used;

	(void)state;
	envelope_head(ENVELOPE_COMPRESSED, 3, bytes);
	assert_int_equal(envelope_read(bytes, sizeof(bytes), 3, &envelope, &used, &err), 1);
	assert_int_equal(envelope.flags, ENVELOPE_COMPRESSED);
	assert_int_equal(envelope.len, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_behind_the_other),
		cmocka_unit_test(test_what_is_cut_waits),
		cmocka_unit_test(test_what_is_wrong_is_told_at_once),
		cmocka_unit_test(test_a_head_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
