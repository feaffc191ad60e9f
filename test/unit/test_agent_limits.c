/*
 * test_agent_limits.c - a conversation at its limits: N of something is taken, N + 1 is not.
 *
 * Runs in:  the unit suite.
 * Reads:    documents of its own.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/model.h"
#include "base/cleanup.h"
#include "base/mem.h"

UNIT_TEST(tools_are_counted)
{
	struct model_conversation conv;
	struct err err;

	model_conversation_init(&conv);
	for (size_t i = 0; i < MODEL_TOOLS_MAX; i++)
		assert_ok(&err, model_conversation_add_tool(&conv, MODEL_TOOL_APPLICATION, "t",
							    NULL, "{}", &err));
	assert_int_equal(model_conversation_add_tool(&conv, MODEL_TOOL_APPLICATION, "t", NULL, "{}",
						     &err),
			 ERR_LIMIT);
	assert_int_equal(conv.tool_count, MODEL_TOOLS_MAX);
	model_conversation_done(&conv);
}

UNIT_TEST(images_are_counted)
{
	struct model_turn turn;
	struct err err;

	model_turn_init(&turn, MODEL_ROLE_USER);
	for (size_t i = 0; i < MODEL_IMAGES_MAX; i++)
		assert_ok(&err, model_turn_add_image(&turn, "image/png", "AAAA", 4, &err));
	assert_int_equal(model_turn_add_image(&turn, "image/png", "AAAA", 4, &err), ERR_LIMIT);
	assert_int_equal(turn.image_count, MODEL_IMAGES_MAX);
	model_turn_done(&turn);
}

UNIT_TEST(calls_are_counted)
{
	struct model_turn turn;

	model_turn_init(&turn, MODEL_ROLE_MODEL);
	for (size_t i = 0; i < MODEL_CALLS_MAX; i++)
		assert_non_null(model_turn_call(&turn, (int64_t)i));
	assert_null(model_turn_call(&turn, MODEL_CALLS_MAX));
	assert_int_equal(turn.call_count, MODEL_CALLS_MAX);
	model_turn_done(&turn);
}

/* Of one byte more the last one is cut off. */
UNIT_TEST(names_and_ids_are_cut)
{
	static const struct {
		size_t most;
		void (*set)(struct model_call *call, const char *text);
		bool is_id;
	} rows[] = {
		{ MODEL_ID_MAX, model_call_set_id, true },
		{ MODEL_NAME_MAX, model_call_set_name, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t over = 0; over < 2; over++) {
			cleanup_free char *text = mem_new0(rows[i].most + over + 1, 1);
			struct model_turn turn;
			struct model_call *call;

			memset(text, 'x', rows[i].most + over);
			model_turn_init(&turn, MODEL_ROLE_MODEL);
			call = model_turn_call(&turn, 0);
			assert_non_null(call);
			rows[i].set(call, text);
			assert_int_equal(strlen(rows[i].is_id ? call->id : call->name),
					 rows[i].most);
			model_turn_done(&turn);
		}
}

UNIT_TEST(arguments_are_bounded)
{
	cleanup_free char *text = mem_new0(MODEL_ARGS_MAX + 1, 1);

	memset(text, ' ', MODEL_ARGS_MAX + 1);
	for (size_t over = 0; over < 2; over++) {
		struct model_turn turn;
		struct model_call *call;

		model_turn_init(&turn, MODEL_ROLE_MODEL);
		call = model_turn_call(&turn, 0);
		assert_non_null(call);
		model_call_add(call, text, MODEL_ARGS_MAX + over);
		assert_int_equal(call->too_long, over == 1);
		/* Of one that is too long nothing is kept. */
		assert_int_equal(call->args.len, over == 0 ? MODEL_ARGS_MAX : 0);
		model_turn_done(&turn);
	}
}

/* ---- documents ---- */

static int read_document(const struct buf *json, struct err *err)
{
	struct model_conversation conv;
	struct conversation conversation;
	int code;

	conversation_init(&conversation);
	model_conversation_init(&conv);
	code = conversation_read(buf_text(json), json->len, 7, &conversation, &conv, err);
	conversation_done(&conversation);
	model_conversation_done(&conv);
	return code;
}

static void messages(struct buf *json, size_t count)
{
	struct err err;

	assert_ok(&err, buf_adds(json, "\"messages\":[", &err));
	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_addf(json, &err, "%s{\"role\":\"%s\",\"text\":\"t\"}",
					 i > 0 ? "," : "", i % 2 == 0 ? "user" : "assistant"));
	assert_ok(&err, buf_adds(json, "]", &err));
}

/* A document of four thousand messages ends with one of the person, which is the odd one out. */
UNIT_TEST(messages_are_counted)
{
	static const size_t most = 4000;

	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf json = BUF_INIT(1u << 20);
		struct err err = { 0 };

		assert_ok(&err, buf_adds(&json, "{\"schema\":\"reckon.conversation/1\",", &err));
		messages(&json, most + over);
		assert_ok(&err, buf_adds(&json, "}", &err));
		if (over == 1)
			assert_int_equal(read_document(&json, &err), ERR_LIMIT);
		else if (read_document(&json, &err) != 0)
			assert_int_not_equal(err.code, ERR_LIMIT);
	}
}
