/*
 * test_lib_pipes.c - draining pipes, stray pipes of earlier cells, feeding input.
 *
 * Runs in:  the unit suite.
 * Reads:    its own pipes.
 * Never:    blocks.
 */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/execution/pipes.h"

struct got {
	size_t bytes;
	int refill; /* written to when something was read: a program that never stops */
};

static void take(const char *bytes, size_t len, void *arg)
{
	struct got *got = arg;
	char chunk[4096];

	(void)bytes;
	got->bytes += len;
	memset(chunk, 'x', sizeof(chunk));
	if (got->refill >= 0)
		assert_int_equal(write(got->refill, chunk, sizeof(chunk)), sizeof(chunk));
}

UNIT_TEST(test_drain)
{
	struct got got = { .refill = -1 };
	struct err err;
	int ours, theirs;

	assert_ok(&err, pipe_new_from_box(&ours, &theirs, &err));
	assert_int_equal(pipe_drain(ours, take, &got), 1);
	assert_int_equal(got.bytes, 0);
	assert_int_equal(write(theirs, "hello", 5), 5);
	assert_int_equal(pipe_drain(ours, take, &got), 1);
	assert_int_equal(got.bytes, 5);
	/* Bytes that are written during a drain wait for the next one, so a program that writes
	 * without a pause cannot block the reader. */
	got.refill = theirs;
	assert_int_equal(write(theirs, "hello", 5), 5);
	assert_int_equal(pipe_drain(ours, take, &got), 1);
	assert_int_equal(got.bytes, 10);
	got.refill = -1;
	(void)close(theirs);
	assert_int_equal(pipe_drain(ours, take, &got), 1);
	assert_int_equal(got.bytes, 10 + 4096);
	assert_int_equal(pipe_drain(ours, take, &got), 0);
	(void)close(ours);
}

UNIT_TEST(test_strays)
{
	struct stray_set set = { .count = 0 };
	int theirs[STRAYS_MAX + 4];
	struct err err;

	for (int i = 0; i < STRAYS_MAX + 4; i++) {
		int ours;

		assert_ok(&err, pipe_new_from_box(&ours, &theirs[i], &err));
		assert_int_equal(write(theirs[i], "0123456789", 10), 10);
		stray_add(&set, ours);
	}
	/* The oldest pipes were closed; their bytes do not count. */
	assert_int_equal(set.count, STRAYS_MAX);
	stray_drain(&set);
	assert_int_equal(stray_take_bytes(&set), 10 * STRAYS_MAX);
	assert_int_equal(stray_take_bytes(&set), 0);
	for (int i = 0; i < STRAYS_MAX + 4; i++)
		(void)close(theirs[i]);
	stray_drain(&set);
	assert_int_equal(set.count, 0);
	stray_done(&set);
}

UNIT_TEST(test_feed)
{
	struct pollfd polled[2];
	struct feed feed;
	char text[32];
	struct err err;
	int source[2];

	assert_int_equal(pipe(source), 0);
	assert_ok(&err, feed_open(&feed, source[0], &err));
	assert_int_equal(write(source[1], "abc", 3), 3);
	for (int i = 0; i < 4; i++) {
		size_t count = feed_poll(&feed, polled);

		if (poll(polled, count, 0) > 0)
			feed_move(&feed, polled, count);
	}
	assert_int_equal(read(feed.theirs, text, sizeof(text)), 3);
	(void)close(source[1]);
	for (int i = 0; i < 4; i++) {
		size_t count = feed_poll(&feed, polled);

		if (poll(polled, count, 0) > 0)
			feed_move(&feed, polled, count);
	}
	assert_int_equal(read(feed.theirs, text, sizeof(text)), 0);
	assert_int_equal(feed_poll(&feed, polled), 0);
	feed_close(&feed);
	(void)close(source[0]);
}

UNIT_TEST(test_without_input_the_pipe_is_at_its_end)
{
	struct feed feed;
	struct err err;
	char byte;

	assert_ok(&err, feed_open(&feed, -1, &err));
	assert_int_equal(read(feed.theirs, &byte, 1), 0);
	feed_close(&feed);
}
