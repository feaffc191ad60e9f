/*
 * test_wire_agent.c - frames of an agent that may be captured, and what it may ask.
 *
 * Runs in:  the unit suite.
 * Reads:    socketpairs of its own.
 * Never:    expects a descriptor to stay open.
 */
#include "unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/agent.h"

static void the_monitor_table_is_closed(void **state)
{
	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		assert_int_equal(agent_may_send(AGENT_STATE_STARTING, (uint16_t)type),
				 type == AGENT_READY || type == AGENT_DONE);
		assert_int_equal(agent_may_send(AGENT_STATE_THINKING, (uint16_t)type),
				 (type >= AGENT_TEXT && type <= AGENT_DONE) || type == AGENT_PAGE);
		assert_int_equal(agent_may_send(AGENT_STATE_LISTING, (uint16_t)type),
				 type == AGENT_MODELS || type == AGENT_DONE);
		assert_false(agent_may_send(AGENT_STATE_IDLE, (uint16_t)type));
		assert_false(agent_may_send(AGENT_STATE_RUNNING, (uint16_t)type));
	}
}

static int check(uint16_t type, const struct kernel_item *items, size_t count)
{
	struct err err;

	return agent_check(type, items, count, &err);
}

static void a_frame_holds_what_the_table_says(void **state)
{
	static char bytes[AGENT_CODE_MAX + 1];
	static const uint64_t stuck = AGENT_STOP_STUCK, none = AGENT_STOP_COUNT_;
	const struct kernel_item text = { AGENT_TAG_TEXT, 5, bytes };
	const struct kernel_item code = { AGENT_TAG_CODE, AGENT_CODE_MAX, bytes };
	const struct kernel_item long_code = { AGENT_TAG_CODE, AGENT_CODE_MAX + 1, bytes };
	const struct kernel_item usage = { AGENT_TAG_USAGE, sizeof(struct agent_usage), bytes };
	const struct kernel_item short_usage = { AGENT_TAG_USAGE, 8, bytes };
	const struct kernel_item stop = { AGENT_TAG_STOP, 8, (const char *)&stuck };
	const struct kernel_item no_stop = { AGENT_TAG_STOP, 8, (const char *)&none };
	const struct kernel_item key = { AGENT_TAG_KEY, 1, bytes };
	const struct kernel_item unknown = { 1000, 1, bytes };

	(void)state;
	assert_int_equal(check(AGENT_READY, NULL, 0), 0);
	assert_int_equal(check(AGENT_TEXT, &text, 1), 0);
	assert_int_equal(check(AGENT_EXECUTE, &code, 1), 0);
	assert_int_equal(check(AGENT_DONE, (struct kernel_item[]){ stop, usage, text }, 3), 0);
	assert_int_equal(check(AGENT_READY, &text, 1), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_TEXT, NULL, 0), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_TEXT, (struct kernel_item[]){ text, text }, 2), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_TEXT, (struct kernel_item[]){ text, key }, 2), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_TEXT, &unknown, 1), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_EXECUTE, &long_code, 1), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_TURN, &short_usage, 1), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_DONE, (struct kernel_item[]){ no_stop, usage }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(AGENT_DONE, (struct kernel_item[]){ stop }, 1), ERR_PROTOCOL);
	assert_int_equal(check(AGENT_RESULT, NULL, 0), ERR_PROTOCOL);
	assert_int_equal(check(0, NULL, 0), ERR_PROTOCOL);
}

static void a_page_is_asked_for_in_words(void **state)
{
	static const struct agent_part lines = { AGENT_UNIT_LINES, 1, 5, 0 };
	static const struct agent_part none = { AGENT_UNIT_COUNT_, 1, 5, 0 };
	static const char *const handles[] = { "../x", "out 1", "out\n", "", NULL };
	const struct kernel_item good = { AGENT_TAG_HANDLE, 5, "out_1" };
	const struct kernel_item part = { AGENT_TAG_PART, sizeof(lines), (const char *)&lines };
	const struct kernel_item no_part = { AGENT_TAG_PART, sizeof(none), (const char *)&none };
	const struct kernel_item needle = { AGENT_TAG_TEXT, 3, "a b" };
	const struct kernel_item two = { AGENT_TAG_TEXT, 3, "a\nb" };

	(void)state;
	assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ good, part }, 2), 0);
	assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ good, part, needle }, 3), 0);
	assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ good, part, two }, 3),
			 ERR_PROTOCOL);
	assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ good, no_part }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ good }, 1), ERR_PROTOCOL);
	for (size_t i = 0; handles[i] != NULL; i++) {
		const struct kernel_item bad = { AGENT_TAG_HANDLE, (uint32_t)strlen(handles[i]),
						 handles[i] };

		assert_int_equal(check(AGENT_PAGE, (struct kernel_item[]){ bad, part }, 2),
				 ERR_PROTOCOL);
	}
	assert_int_equal(check(AGENT_PAGE - 1, NULL, 0), ERR_PROTOCOL);
}

static void frames_travel_and_descriptors_do_not(void **state)
{
	cleanup_buf struct buf payload = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	struct kernel_head head;
	struct err err;
	int ends[2], fds = unit_open_fds();

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_ok(&err, agent_pack_text(&payload, AGENT_TAG_CODE, "1", &err));
	assert_ok(&err, agent_send(ends[0], AGENT_EXECUTE, 7, &payload, &err));
	assert_int_equal(agent_recv(ends[1], &head, &got, &err), 1);
	assert_int_equal(head.type, AGENT_EXECUTE);
	assert_int_equal(head.id, 7);
	assert_int_equal(got.len, payload.len);
	assert_ok(&err, kernel_send(ends[0], (enum kernel_type)AGENT_TEXT, 0, NULL, ends, 1, &err));
	assert_err(&err, ERR_PROTOCOL, agent_recv(ends[1], &head, &got, &err));
	close(ends[0]);
	assert_int_equal(agent_recv(ends[1], &head, &got, &err), 0);
	close(ends[1]);
	assert_int_equal(unit_open_fds(), fds);
}

static void every_end_has_a_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < AGENT_STOP_COUNT_; i++) {
		assert_true(agent_stop_name((enum agent_stop)i)[0] != '\0');
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(agent_stop_name((enum agent_stop)i),
						agent_stop_name((enum agent_stop)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_monitor_table_is_closed),
		cmocka_unit_test(a_frame_holds_what_the_table_says),
		cmocka_unit_test(a_page_is_asked_for_in_words),
		cmocka_unit_test(frames_travel_and_descriptors_do_not),
		cmocka_unit_test(every_end_has_a_name),
	};

	return cmocka_run_group_tests_name("wire_agent", tests, NULL, NULL);
}
