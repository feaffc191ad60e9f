/*
 * test_base_id.c - identifiers are well formed, unique and sorted by time; format of times.
 *
 * Runs in:  the unit suite.
 * Reads:    the clock.
 * Never:    expects a duration, only an order.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"

UNIT_TEST(an_id_is_prefix_and_crockford_digits)
{
	struct err err;
	char id[ID_SIZE];

	assert_ok(&err, id_new(id, "se", &err));
	assert_int_equal(strlen(id), 29);
	assert_memory_equal(id, "se_", 3);
	assert_int_equal(strspn(id + 3, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
	/* 48 bits of time in 50: the first digit is at most 7. */
	assert_true(id[3] <= '7');
	assert_ok(&err, id_new(id, "out", &err));
	assert_int_equal(strlen(id), 30);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

UNIT_TEST(ids_do_not_repeat)
{
	enum { COUNT = 20000 };
	char (*ids)[ID_SIZE] = calloc(COUNT, sizeof(*ids));
	struct err err;

	assert_non_null(ids);
	for (int i = 0; i < COUNT; i++)
		assert_ok(&err, id_new(ids[i], "ex", &err));
	qsort(ids, COUNT, sizeof(*ids), compare);
	for (int i = 1; i < COUNT; i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
	free(ids);
}

UNIT_TEST(later_ids_sort_later)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	char before[ID_SIZE], after[ID_SIZE];
	struct err err;

	assert_ok(&err, id_new(before, "ex", &err));
	for (int i = 0; i < 20; i++) {
		(void)nanosleep(&pause, NULL);
		assert_ok(&err, id_new(after, "ex", &err));
		assert_true(strcmp(before, after) < 0);
		memcpy(before, after, sizeof(before));
	}
}

/* Decodes the digits with code of its own and expects the current time. */
UNIT_TEST(an_id_contains_its_time)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	struct err err;
	char id[ID_SIZE];
	uint64_t ms = 0;
	time_t before = time(NULL), after;

	assert_ok(&err, id_new(id, "ex", &err));
	after = time(NULL);
	for (int i = 3; i < 13; i++)
		ms = ms * 32 + (uint64_t)(strchr(digits, id[i]) - digits);
	assert_true(ms / 1000 + 1 >= (uint64_t)before);
	assert_true(ms / 1000 <= (uint64_t)after + 1);
}

UNIT_TEST(monotonic_time_never_goes_back)
{
	uint64_t last = clock_mono_ns();

	for (int i = 0; i < 100000; i++) {
		uint64_t now = clock_mono_ns();

		if (now < last)
			fail_msg("the clock went back");
		last = now;
	}
	assert_true(last > 0);
}

UNIT_TEST(a_time_is_rfc3339_with_milliseconds)
{
	static const char format[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	char text[CLOCK_RFC3339_SIZE];

	memset(text, '#', sizeof(text));
	clock_rfc3339_now(text);
	assert_int_equal(strlen(text), strlen(format));
	for (size_t i = 0; format[i] != '\0'; i++)
		if (format[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != format[i])
			fail_msg("%s", text);
}

UNIT_TEST(a_name_is_letters_digits_and_three_signs)
{
	static const char *const good[] = { "a", "A.b-c_9", "-", "..", "se", "sex", "se-1",
					    "012345678901234567890123456789012345678901234567890123456789012" };
	static const char *const bad[] = { "", "a b", "a/b", "\xc3\xbc", "a\n", "se_", "se_x", "a:b",
					   "0123456789012345678901234567890123456789012345678901234567890123" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(id_is_name(good[i], strlen(good[i]), "se"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(id_is_name(bad[i], strlen(bad[i]), "se"));
	assert_false(id_is_name("a\0b", 3, "se"));
}

UNIT_TEST(the_time_of_an_id_can_be_compared)
{
	char id[ID_SIZE], before[ID_TIME_SIZE], after[ID_TIME_SIZE], zero[ID_TIME_SIZE];
	struct timespec now;
	uint64_t ms;
	struct err err;

	assert_ok(&err, id_new(id, "ex", &err));
	(void)clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	id_time(ms - 3600 * 1000, before);
	id_time(ms + 3600 * 1000, after);
	assert_true(strncmp(before, id + 3, ID_TIME_SIZE - 1) < 0);
	assert_true(strncmp(after, id + 3, ID_TIME_SIZE - 1) > 0);
	id_time(0, zero);
	assert_string_equal(zero, "0000000000");
	id_time(32 * 32 + 31, zero);
	assert_string_equal(zero, "000000010Z");
}
