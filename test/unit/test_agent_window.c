/*
 * test_agent_window.c - a conversation is shortened to fit the context of the model.
 *
 * Runs in:  the unit suite.
 * Reads:    conversations of its own, some of them random.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/formats/provider.h"
#include "agent/conversation/window.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "codec/json_read.h"

#define ROUNDS 400
#define BODY_MAX ((size_t)64 * 1024 * 1024)

static const struct provider *const providers[] = { &provider_chat, &provider_responses,
						     &provider_messages, &provider_gemini };

static struct model_turn *add_call(struct model_conversation *conv, unsigned calls, size_t code)
{
	struct model_turn *turn = model_conversation_add(conv, MODEL_ROLE_MODEL);
	char id[32], text[4096];
	struct err err;

	memset(text, 'c', sizeof(text));
	for (unsigned i = 0; i < calls; i++) {
		struct model_call *call = model_turn_call(turn, i);

		(void)snprintf(id, sizeof(id), "id_%zu_%u", conv->count, i);
		model_call_set_id(call, id);
		model_call_set_name(call, "python");
		model_call_add(call, text, code % sizeof(text));
	}
	assert_ok(&err, model_turn_settle(turn, "code", 1, &err));
	return turn;
}

static void add_results(struct model_conversation *conv, const struct model_turn *turn, const char *text,
			size_t len)
{
	struct model_turn *results = model_conversation_add(conv, MODEL_ROLE_RESULTS);
	struct err err;

	for (size_t i = 0; i < turn->call_count; i++)
		assert_ok(&err, model_turn_add_result(results, &turn->calls[i], text, len, i == 1,
						      &err));
	if (turn->call_count == 0)
		assert_ok(&err, model_turn_add_result(results, NULL, text, len, false, &err));
}

/* A step whose output is `lines` lines "NNNNN MARK". */
static void add_step(struct model_conversation *conv, const char *mark, unsigned lines)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct err err;

	for (unsigned i = 1; i <= lines; i++)
		assert_ok(&err, buf_addf(&text, &err, "%05u %s\n", i, mark));
	add_results(conv, add_call(conv, 1, 10), buf_text(&text), text.len);
}

static void begin(struct model_conversation *conv)
{
	struct err err;

	model_conversation_init(conv);
	assert_ok(&err, buf_adds(&conv->system, "system", &err));
	assert_ok(&err, buf_adds(&model_conversation_add(conv, MODEL_ROLE_USER)->text, "why?", &err));
}

static const char *result_text(const struct model_conversation *conv, size_t turn)
{
	return buf_text(&conv->turns[turn]->results[0].text);
}

UNIT_TEST(the_oldest_results_are_shortened_first_and_can_be_read)
{
	struct model_conversation conv;
	struct err err;

	begin(&conv);
	add_step(&conv, "first", 1000);
	assert_ok(&err, model_turn_add_image(conv.turns[2], "image/png", "AAAA", 4, &err));
	add_step(&conv, "second", 1000);
	add_step(&conv, "third", 1000);
	assert_true(window_fit(&conv, 1000000));
	assert_null(strstr(result_text(&conv, 2), "left out"));
	/* A little too long: only the oldest result is shortened. */
	assert_true(window_fit(&conv, window_estimate(&conv) - 100));
	assert_non_null(strstr(result_text(&conv, 2), "\n00033 first\n[11"));
	assert_non_null(strstr(result_text(&conv, 2),
			       "bytes of this older output were left out: reckon output result_1 "
			       "--lines 34:984]\n00985 first\n"));
	assert_non_null(strstr(result_text(&conv, 2), "\n01000 first\n\n[no longer shown of this output: 1 image]"));
	assert_int_equal(conv.turns[2]->image_count, 0);
	assert_null(strstr(result_text(&conv, 4), "left out"));
	assert_int_equal(window_find(&conv, "result_1")->len, 12000);
	assert_int_equal(window_find(&conv, "result_3")->len, 12000);
	assert_null(window_find(&conv, "result_4"));
	assert_null(window_find(&conv, "result_0"));
	assert_null(window_find(&conv, "result_"));
	assert_null(window_find(&conv, "out_1"));
	/* The last result stays whole while older ones can be shortened. */
	assert_true(window_fit(&conv, 4300));
	assert_non_null(strstr(result_text(&conv, 2), "[an older output of 1000 lines, 12000 bytes, "
						      "begins \"00001 first\"; all of it: "));
	assert_null(strstr(result_text(&conv, 6), "left out"));
	assert_int_equal(conv.count, 7);
	/* Then whole steps are dropped, and the question notes how many. */
	assert_true(window_fit(&conv, 4050));
	assert_int_equal(conv.count, 3);
	assert_non_null(strstr(conv.turns[0]->text.data, "why?\n\n[The first 2 steps"));
	assert_null(window_find(&conv, "result_1"));
	/* Finally the last result is shortened to the room that is left. */
	assert_true(window_fit(&conv, 2000));
	assert_non_null(strstr(result_text(&conv, 2), "00001 third"));
	assert_non_null(strstr(result_text(&conv, 2), "01000 third"));
	assert_int_equal(window_find(&conv, "result_3")->len, 12000);
	assert_false(window_fit(&conv, 10));
	assert_int_equal(conv.count, 3);
	model_conversation_done(&conv);
}

UNIT_TEST(earlier_questions_are_dropped_before_the_current_one)
{
	struct model_conversation conv;
	struct err err;

	begin(&conv);
	for (unsigned i = 0; i < 20; i++) {
		struct model_turn *answer;

		add_step(&conv, "x", 20);
		answer = model_conversation_add(&conv, MODEL_ROLE_MODEL);
		for (unsigned j = 0; j < 50; j++)
			assert_ok(&err, buf_addf(&answer->text, &err, "answer %u; ", i));
		assert_ok(&err, buf_addf(&model_conversation_add(&conv, MODEL_ROLE_USER)->text, &err,
					 "question %u", i));
	}
	assert_true(window_fit(&conv, 1000));
	assert_int_equal(conv.turns[0]->role, MODEL_ROLE_USER);
	assert_non_null(strstr(conv.turns[0]->text.data, "earlier questions and their answers"));
	assert_string_equal(conv.turns[conv.count - 1]->text.data, "question 19");
	assert_true(window_fit(&conv, 60));
	assert_int_equal(conv.count, 1);
	assert_string_equal(conv.turns[0]->text.data, "question 19\n\n[20 earlier questions and their "
						      "answers were left out here.]");
	model_conversation_done(&conv);
}

UNIT_TEST(the_memory_for_whole_results_is_limited)
{
	static char text[4 << 20];
	struct model_conversation conv;

	begin(&conv);
	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < 8; i++)
		add_results(&conv, add_call(&conv, 1, 1), text, sizeof(text) - 1);
	add_results(&conv, add_call(&conv, 1, 1), "end", 3);
	assert_true(window_fit(&conv, 10000));
	assert_int_equal(window_find(&conv, "result_8")->len, sizeof(text) - 1);
	assert_int_equal(window_find(&conv, "result_5")->len, sizeof(text) - 1);
	/* Of older results only a shortened text remains. */
	assert_true(window_find(&conv, "result_4")->len < 2000);
	assert_true(window_find(&conv, "result_1")->len < 2000);
	model_conversation_done(&conv);
}

/* ---- random conversations ---- */

static void assert_pairs(const struct model_conversation *conv)
{
	for (size_t i = 0; i < conv->count; i++) {
		const struct model_turn *turn = conv->turns[i];

		if (turn->role == MODEL_ROLE_RESULTS)
			assert_true(i > 0 && conv->turns[i - 1]->role == MODEL_ROLE_MODEL);
		if (turn->role == MODEL_ROLE_MODEL && turn->call_count > 0) {
			const struct model_turn *results = conv->turns[i + 1];

			assert_true(i + 1 < conv->count);
			assert_int_equal(results->role, MODEL_ROLE_RESULTS);
			assert_int_equal(results->result_count, turn->call_count);
			for (size_t j = 0; j < turn->call_count; j++)
				assert_string_equal(results->results[j].call_id, turn->calls[j].id);
		}
		for (size_t j = 0; j < turn->result_count; j++)
			assert_true(utf8_is_valid(buf_text(&turn->results[j].text),
						  turn->results[j].text.len));
		/* Some providers refuse consecutive turns of one role. */
		if (i > 0)
			assert_true(turn->role == MODEL_ROLE_MODEL ||
				    conv->turns[i - 1]->role == MODEL_ROLE_MODEL);
	}
}

/* In the request of each protocol every call has its result: its id occurs twice. */
static void assert_sent(const struct model_conversation *conv)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
		cleanup_buf struct buf again = BUF_INIT(BODY_MAX);
		struct provider_request request;
		enum json_kind kind;
		struct err err;

		provider_request_init(&request);
		request.base_url = "http://localhost";
		request.model = "m";
		request.key = "";
		request.answer_tokens = 1;
		assert_ok(&err, providers[i]->request(conv, &request, &err));
		assert_ok(&err, json_read_compact(buf_text(&request.body), request.body.len,
						  BODY_MAX, &again, &kind, &err));
		for (size_t j = 0; j < conv->count; j++)
			for (size_t k = 0; k < conv->turns[j]->call_count; k++) {
				const char *id = conv->turns[j]->calls[k].id;
				const char *first = strstr(again.data, id);

				assert_non_null(first);
				assert_non_null(strstr(first + strlen(id), id));
			}
		provider_request_done(&request);
	}
}

static size_t at_most(unsigned *seed, unsigned max)
{
	return (size_t)rand_r(seed) % (max + 1);
}

static void random_conversation(struct model_conversation *conv, unsigned *seed)
{
	static const char *const pieces[] = { "word ", "\xe2\x82\xac", "\n", "12.5, ", "\xf0\x9f\x98\x80",
					      "\n\n", "a longer piece of a line than the others " };
	const size_t exchanges = 1 + at_most(seed, 3);

	model_conversation_init(conv);
	for (size_t i = 0; i < exchanges; i++) {
		const size_t steps = at_most(seed, 6);
		struct err err;

		assert_ok(&err, buf_addf(&model_conversation_add(conv, MODEL_ROLE_USER)->text, &err,
					 "question %zu", i));
		for (size_t j = 0; j < steps; j++) {
			cleanup_buf struct buf text = BUF_INIT(1u << 20);
			struct model_turn *turn =
				add_call(conv, (unsigned)at_most(seed, 3), at_most(seed, 3000));
			const size_t length = at_most(seed, 40000) >> at_most(seed, 8);

			while (text.len < length)
				assert_ok(&err, buf_adds(&text, pieces[at_most(seed, 6)], &err));
			assert_ok(&err, buf_adds(&turn->text, "I say", &err));
			add_results(conv, turn, buf_text(&text), text.len);
		}
		if (i + 1 < exchanges)
			assert_ok(&err, buf_adds(&model_conversation_add(conv, MODEL_ROLE_MODEL)->text,
						 "so it is", &err));
	}
}

/* The least size that must fit: the question and the last step with shortened results. */
static uint64_t floor_of(const struct model_conversation *conv)
{
	const struct model_turn *last = conv->turns[conv->count - 1];
	uint64_t bytes = 400 + last->result_count * 1800;

	if (last->role == MODEL_ROLE_RESULTS)
		for (size_t i = 0; i < conv->turns[conv->count - 2]->call_count; i++)
			bytes += conv->turns[conv->count - 2]->calls[i].args.len + 100;
	return bytes / 3 + 100;
}

UNIT_TEST(random_conversations_fit_and_stay_well_formed)
{
	unsigned seed = 20261122;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model_conversation conv;
		const struct model_turn *last;
		enum model_role role;
		char question[32];
		uint64_t max;

		random_conversation(&conv, &seed);
		last = conv.turns[conv.count - 1];
		role = last->role;
		for (size_t j = 0; j < conv.count; j++)
			if (conv.turns[j]->role == MODEL_ROLE_USER)
				(void)snprintf(question, sizeof(question), "%.20s",
					       conv.turns[j]->text.data);
		/* The conversation is fitted repeatedly, after it has grown. */
		for (unsigned j = 0; j < 3; j++) {
			bool has_question = false;

			max = floor_of(&conv) + at_most(&seed, 8000);
			assert_true(window_fit(&conv, max));
			assert_true(window_estimate(&conv) <= max);
			assert_ptr_equal(conv.turns[conv.count - 1], last);
			assert_int_equal(last->role, role);
			for (size_t k = 0; k < conv.count; k++)
				has_question |= conv.turns[k]->role == MODEL_ROLE_USER &&
					    strncmp(conv.turns[k]->text.data, question,
						    strlen(question)) == 0;
			assert_true(has_question);
			assert_pairs(&conv);
			if (i % 10 == 0)
				assert_sent(&conv);
			if (role == MODEL_ROLE_RESULTS && j < 2) {
				add_results(&conv, add_call(&conv, 2, at_most(&seed, 500)),
					    "some output\n", 12);
				last = conv.turns[conv.count - 1];
			}
		}
		model_conversation_done(&conv);
	}
}

UNIT_TEST(room_is_left_for_an_answer)
{
	struct agent_settings settings = { .context_tokens = 100000, .answer_tokens = 8000 };

	assert_int_equal(window_room(&settings), 92000);
	settings.answer_tokens = 60000;
	assert_int_equal(window_room(&settings), 50000);
}
