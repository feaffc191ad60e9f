/*
 * test_codec_envelope.c - messages of Connect streams: whole, cut, too long, with unknown flags.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    accepts an incomplete message.
 */
#include "unit.h"

#include "codec/envelope.h"

UNIT_TEST(test_consecutive_messages_are_read)
{
	static const char bytes[] = "\0\0\0\0\2{}\2\0\0\0\0rest";
	struct envelope envelope;
	struct err err;
	size_t used;

	assert_int_equal(envelope_read(bytes, sizeof(bytes) - 1, 16, &envelope, &used, &err), 1);
	assert_int_equal(used, 7);
	assert_int_equal(envelope.flags, 0);
	assert_memory_equal(envelope.data, "{}", 2);
	assert_int_equal(envelope_read(bytes + 7, sizeof(bytes) - 8, 16, &envelope, &used, &err), 1);
	assert_int_equal(envelope.flags, ENVELOPE_END);
	assert_int_equal(envelope.len, 0);
}

UNIT_TEST(test_an_incomplete_message_needs_more_bytes)
{
	static const char bytes[] = "\0\0\0\0\2{}";
	struct envelope envelope;
	struct err err;
	size_t used;

	for (size_t len = 0; len < 7; len++)
		assert_int_equal(envelope_read(bytes, len, 16, &envelope, &used, &err), 0);
}

UNIT_TEST(test_an_invalid_head_is_refused_before_its_data)
{
	struct envelope envelope;
	struct err err;
	size_t used;

	assert_int_equal(envelope_read("\0\0\0\0\x11", 5, 16, &envelope, &used, &err), ERR_LIMIT);
	assert_int_equal(envelope_read("\0\xff\xff\xff\xff", 5, 16, &envelope, &used, &err), ERR_LIMIT);
	assert_int_equal(envelope_read("\x04", 1, 16, &envelope, &used, &err), ERR_INVALID);
}

UNIT_TEST(test_a_written_head_is_read_back)
{
	char bytes[ENVELOPE_HEAD + 3] = "";
	struct envelope envelope;
	struct err err;
	size_t used;

	envelope_head(ENVELOPE_COMPRESSED, 3, bytes);
	assert_int_equal(envelope_read(bytes, sizeof(bytes), 3, &envelope, &used, &err), 1);
	assert_int_equal(envelope.flags, ENVELOPE_COMPRESSED);
	assert_int_equal(envelope.len, 3);
}
