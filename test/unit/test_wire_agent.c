/*
 * test_wire_agent.c - frames of an agent that may be captured, and what it may request.
 *
 * Runs in:  the unit suite.
 * Reads:    socketpairs of its own.
 * Never:    expects a descriptor to stay open.
 */
#include "unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/agent.h"

UNIT_TEST(only_the_listed_types_may_be_sent)
{
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		assert_int_equal(agent_may_send(AGENT_STATE_STARTING, (uint16_t)type),
				 type == AGENT_READY || type == AGENT_DONE);
		assert_int_equal(agent_may_send(AGENT_STATE_THINKING, (uint16_t)type),
				 (type >= AGENT_TEXT && type <= AGENT_DONE) ||
					 (type >= AGENT_PAGE && type <= AGENT_LOOK));
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

UNIT_TEST(a_frame_must_match_the_field_table)
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

UNIT_TEST(a_command_needs_its_code_and_its_call)
{
	static const struct agent_command second = { .index = 1, .count = 2 };
	static const struct agent_command past = { .index = 2, .count = 2 };
	static const struct agent_command many = { .index = 0, .count = AGENT_COMMANDS_MAX + 1 };
	const struct kernel_item code = { AGENT_TAG_CODE, 2, "ls" };
	const struct kernel_item call = { AGENT_TAG_ARGUMENTS, 2, "{}" };
	const struct kernel_item good = { AGENT_TAG_COMMAND, sizeof(second),
					  (const char *)&second };
	const struct kernel_item bad[] = {
		{ AGENT_TAG_COMMAND, sizeof(past), (const char *)&past },
		{ AGENT_TAG_COMMAND, sizeof(many), (const char *)&many },
		{ AGENT_TAG_COMMAND, 8, (const char *)&second },
	};

	assert_int_equal(check(AGENT_EXECUTE, (struct kernel_item[]){ code, good, call }, 3), 0);
	assert_int_equal(check(AGENT_EXECUTE, (struct kernel_item[]){ code, good }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(AGENT_EXECUTE, (struct kernel_item[]){ code, call }, 2),
			 ERR_PROTOCOL);
	assert_int_equal(check(AGENT_EXECUTE, (struct kernel_item[]){ good, call }, 2),
			 ERR_PROTOCOL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(check(AGENT_EXECUTE, (struct kernel_item[]){ code, bad[i], call },
				       3), ERR_PROTOCOL);
}

UNIT_TEST(a_page_request_needs_a_valid_handle_part_and_text)
{
	static const struct agent_part lines = { AGENT_UNIT_LINES, 1, 5, 0 };
	static const struct agent_part none = { AGENT_UNIT_COUNT_, 1, 5, 0 };
	static const char *const handles[] = { "../x", "out 1", "out\n", "", NULL };
	const struct kernel_item good = { AGENT_TAG_HANDLE, 5, "out_1" };
	const struct kernel_item part = { AGENT_TAG_PART, sizeof(lines), (const char *)&lines };
	const struct kernel_item no_part = { AGENT_TAG_PART, sizeof(none), (const char *)&none };
	const struct kernel_item needle = { AGENT_TAG_TEXT, 3, "a b" };
	const struct kernel_item two = { AGENT_TAG_TEXT, 3, "a\nb" };

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

static int check_done(struct agent_checked *checked)
{
	static const uint64_t answered = AGENT_STOP_ANSWER;
	static const char usage[sizeof(struct agent_usage)];
	const struct kernel_item items[] = {
		{ AGENT_TAG_STOP, 8, (const char *)&answered },
		{ AGENT_TAG_USAGE, sizeof(usage), usage },
		{ AGENT_TAG_TEXT, 6, "\xc3\xa4 17." },
		{ AGENT_TAG_CHECKED, sizeof(*checked), (const char *)checked },
	};

	return check(AGENT_DONE, items, 4);
}

UNIT_TEST(claims_lie_within_the_answer)
{
	static const struct {
		uint64_t kind, offset, len;
		int rc;
	} cases[] = {
		{ AGENT_CLAIM_NUMBER, 3, 2, 0 },
		{ AGENT_CLAIM_LINK, 0, 6, 0 },
		{ AGENT_CLAIM_COUNT_, 3, 2, ERR_PROTOCOL },
		{ AGENT_CLAIM_NUMBER, 3, 0, ERR_PROTOCOL },
		{ AGENT_CLAIM_NUMBER, 3, 4, ERR_PROTOCOL },
		{ AGENT_CLAIM_NUMBER, UINT64_MAX, 2, ERR_PROTOCOL },
		{ AGENT_CLAIM_NUMBER, 3, UINT64_MAX, ERR_PROTOCOL },
		{ AGENT_CLAIM_NUMBER, 1, 2, ERR_PROTOCOL }, /* within a character */
	};
	struct agent_checked checked;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		checked = (struct agent_checked){ .is_checked = 1,
						  .numbers = 1,
						  .links = 1,
						  .numbers_unsupported = 1,
						  .listed = 1 };
		checked.claims[0] = (struct agent_claim){ cases[i].kind, cases[i].offset,
							  cases[i].len };
		assert_int_equal(check_done(&checked), cases[i].rc);
	}
	checked.claims[0] = (struct agent_claim){ AGENT_CLAIM_NUMBER, 3, 2 };
	checked.listed = AGENT_CLAIMS_MAX + 1;
	assert_int_equal(check_done(&checked), ERR_PROTOCOL);
	checked.listed = 1;
	checked.numbers_unsupported = 2;
	assert_int_equal(check_done(&checked), ERR_PROTOCOL);
}

UNIT_TEST(frames_arrive_and_descriptors_are_refused)
{
	cleanup_buf struct buf payload = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	struct kernel_head head;
	struct err err;
	int ends[2], fds = unit_open_fds();

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

UNIT_TEST(stop_reasons_have_unique_names)
{
	for (unsigned i = 0; i < AGENT_STOP_COUNT_; i++) {
		assert_true(agent_stop_name((enum agent_stop)i)[0] != '\0');
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(agent_stop_name((enum agent_stop)i),
						agent_stop_name((enum agent_stop)j));
	}
}

static int next_past(const struct kernel_item *items, size_t count, size_t *at,
		     struct agent_past *ret)
{
	struct err err;

	return agent_next_past(items, count, at, ret, &err);
}

UNIT_TEST(past_turns_are_read_in_order_or_refused)
{
	static char bytes[AGENT_CODE_MAX + 1];
	static const uint64_t kinds[] = { AGENT_PAST_QUESTION, AGENT_PAST_CELL, AGENT_PAST_COUNT_ };
	const struct kernel_item question = { AGENT_TAG_PAST, 8, (const char *)&kinds[0] };
	const struct kernel_item cell = { AGENT_TAG_PAST, 8, (const char *)&kinds[1] };
	const struct kernel_item none = { AGENT_TAG_PAST, 8, (const char *)&kinds[2] };
	const struct kernel_item half = { AGENT_TAG_PAST, 4, (const char *)&kinds[0] };
	const struct kernel_item text = { AGENT_TAG_TEXT, 5, bytes };
	const struct kernel_item code = { AGENT_TAG_CODE, 5, bytes };
	const struct kernel_item long_code = { AGENT_TAG_CODE, AGENT_CODE_MAX + 1, bytes };
	const struct kernel_item status = { AGENT_TAG_STATUS, 2, "ok" };
	const struct kernel_item output = { AGENT_TAG_OUTPUT, 5, bytes };
	const struct kernel_item images = { AGENT_TAG_IMAGES, 8, (const char *)&kinds[1] };
	const struct kernel_item key = { AGENT_TAG_KEY, 1, bytes };
	const struct kernel_item good[] = { question, text, cell, text, code, status, output, images };
	const struct {
		struct kernel_item items[6];
		size_t count;
	} bad[] = {
		{ { text }, 1 },	     { { none, text }, 2 },
		{ { half, text }, 2 },	     { { question }, 1 },
		{ { question, text, text }, 3 }, { { question, text, code }, 3 },
		{ { cell, text, code, status }, 4 }, { { cell, text, long_code, status, output }, 5 },
		{ { question, text, key }, 3 },
	};
	struct agent_past past;
	size_t at = 0;

	assert_int_equal(next_past(good, 8, &at, &past), 1);
	assert_int_equal(past.kind, AGENT_PAST_QUESTION);
	assert_null(past.code);
	assert_int_equal(next_past(good, 8, &at, &past), 1);
	assert_int_equal(past.kind, AGENT_PAST_CELL);
	assert_int_equal(past.images, 1);
	assert_ptr_equal(past.output, &good[6]);
	assert_int_equal(next_past(good, 8, &at, &past), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		at = 0;
		assert_int_equal(next_past(bad[i].items, bad[i].count, &at, &past), ERR_PROTOCOL);
	}
}
