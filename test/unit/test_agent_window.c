/*
 * test_agent_window.c - a talk that is shortened where it can be had again.
 *
 * Runs in:  the unit suite.
 * Reads:    talks of its own.
 * Never:    loses a question.
 */
#include "unit.h"

#include <string.h>

#include "agent/loop.h"

static void add_step(struct model_talk *talk, const char *call, size_t len)
{
	static char text[20000];
	struct model_turn *answer = model_talk_add(talk, MODEL_ROLE_MODEL);
	struct model_turn *results;
	struct err err;

	memset(text, 'x', sizeof(text));
	model_call_set_id(model_turn_call(answer, 0), call);
	assert_ok(&err, model_turn_settle(answer, "code", 1, &err));
	results = model_talk_add(talk, MODEL_ROLE_RESULTS);
	assert_ok(&err,
		  model_turn_add_result(results, &answer->calls[0], text, len, false, &err));
	assert_ok(&err, model_turn_add_image(results, "image/png", "AAAA", 4, &err));
}

static void the_oldest_results_go_first(void **state)
{
	struct model_talk talk;
	struct err err;

	(void)state;
	model_talk_init(&talk);
	assert_ok(&err, buf_adds(&model_talk_add(&talk, MODEL_ROLE_USER)->text, "why?", &err));
	add_step(&talk, "a", 20000);
	add_step(&talk, "b", 20000);
	add_step(&talk, "c", 20000);
	assert_true(window_fit(&talk, 1000000));
	assert_int_equal(talk.turns[2]->results[0].text.len, 20000);
	assert_true(window_fit(&talk, window_estimate(&talk) - 1));
	assert_true(talk.turns[2]->results[0].text.len < 700);
	assert_int_equal(talk.turns[2]->image_count, 0);
	assert_non_null(strstr(talk.turns[2]->results[0].text.data, "left out"));
	assert_int_equal(talk.turns[4]->results[0].text.len, 20000);
	/* What the model has not answered yet stays, and so does the question. */
	assert_false(window_fit(&talk, 10));
	assert_true(talk.turns[4]->results[0].text.len < 700);
	assert_int_equal(talk.turns[6]->results[0].text.len, 20000);
	assert_int_equal(talk.turns[6]->image_count, 1);
	assert_string_equal(talk.turns[0]->text.data, "why?");
	model_talk_done(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_results_go_first),
	};

	return cmocka_run_group_tests_name("agent_window", tests, NULL, NULL);
}
