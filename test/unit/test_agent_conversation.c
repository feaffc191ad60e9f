/*
 * test_agent_conversation.c - conversation documents, and code extracted from partial arguments.
 *
 * Runs in:  the unit suite.
 * Reads:    documents and arguments of its own.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/formats/code_stream.h"
#include "agent/conversation/conversation.h"
#include "agent/conversation/tool_cell.h"
#include "base/cleanup.h"
#include "base/mem.h"

/* ---- code ---- */

/* Feeds `args` in steps of `size` bytes and expects `code`. */
static void stream(const char *args, size_t size, const char *code)
{
	cleanup_buf struct buf all = BUF_INIT(4096);
	struct code_stream at = { 0 };
	struct err err;

	for (size_t len = size;; len += size) {
		if (len > strlen(args))
			len = strlen(args);
		assert_ok(&err, code_stream_feed(&at, args, len, &all, &err));
		if (len == strlen(args))
			break;
	}
	assert_string_equal(buf_text(&all), code);
}

UNIT_TEST(code_is_extracted_from_partial_arguments)
{
	static const struct {
		const char *args, *code;
	} cases[] = {
		{ "{\"code\":\"print(1)\"}", "print(1)" },
		{ " { \"code\" : \"a\\n\\\"\\\\\\u00e4\\ud83d\\ude00\\/\\tz\" , \"x\": 1}",
		  "a\n\"\\\xc3\xa4\xf0\x9f\x98\x80/\tz" },
		{ "{\"code\":\"\xc3\xa4\xf0\x9f\x98\x80\"}", "\xc3\xa4\xf0\x9f\x98\x80" },
		{ "{\"code\":\"a\\ud83d!\"}", "a" }, /* half a surrogate pair ends the code */
		{ "{\"code\":\"a\\u0000b\"}", "a" },
		{ "{\"code\":\"a\\xb\"}", "a" },
		{ "{\"other\":\"b\",\"code\":\"c\"}", "" },
		{ "{\"code\":[\"c\"]}", "" },
		{ "print(1)", "" },
		{ "", "" },
		{ "{\"code\":\"open", "open" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t size = 1; size <= strlen(cases[i].args) + 1; size++)
			stream(cases[i].args, size, cases[i].code);
}

/* ---- documents ---- */

static int read_json(const char *json, struct conversation *conversation, struct model_conversation *conv,
		struct err *err)
{
	conversation_init(conversation);
	model_conversation_init(conv);
	return conversation_read(json, strlen(json), 7, conversation, conv, err);
}

static void drop(struct conversation *conversation, struct model_conversation *conv)
{
	conversation_done(conversation);
	model_conversation_done(conv);
}

#define BEGIN "{\"schema\":\"reckon.conversation/1\","
#define CALLS                                                                                    \
	"{\"role\":\"assistant\",\"thoughts\":\"hm\",\"thought_key\":\"reasoning\","               \
	"\"items\":[{\"type\":\"thinking\"}],\"calls\":["                                          \
	"{\"id\":\"a\",\"name\":\"w\",\"arguments\":{},\"extra\":{\"e\":1}},"                      \
	"{\"id\":\"b\",\"name\":\"python\",\"arguments\":\"print(1)\"},"                           \
	"{\"id\":\"c\",\"name\":\"w\",\"arguments\":{}}]}"

UNIT_TEST(calls_without_a_result_are_found_and_closed)
{
	static const char json[] =
		BEGIN "\"tools\":[{\"name\":\"w\"}],\"made_by\":\"7\",\"messages\":["
		      "{\"role\":\"user\",\"text\":\"?\"}," CALLS
		      ",{\"role\":\"tool\",\"results\":[{\"id\":\"b\",\"text\":\"1\"}]}]}";
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	assert_ok(&err, read_json(json, &conversation, &conv, &err));
	assert_int_equal(conv.count, 3);
	assert_string_equal(conversation_waiting(&conv, 0)->id, "a");
	assert_string_equal(conversation_waiting(&conv, 1)->id, "c");
	assert_null(conversation_waiting(&conv, 2));
	assert_string_equal(conv.turns[1]->thought_key, "reasoning");
	assert_string_equal(buf_text(&conv.turns[1]->blob), "{\"type\":\"thinking\"}");
	assert_string_equal(buf_text(&conv.turns[1]->calls[0].extra), "{\"e\":1}");
	assert_string_equal(buf_text(&conv.turns[1]->calls[1].args), "{\"code\":\"print(1)\"}");
	assert_ok(&err, conversation_close_calls(&conv, &err));
	assert_null(conversation_waiting(&conv, 0));
	assert_int_equal(conv.turns[2]->result_count, 3);
	for (size_t i = 0; i < 3; i++) /* in the order of the calls */
		assert_string_equal(conv.turns[2]->results[i].call_id, conv.turns[1]->calls[i].id);
	drop(&conversation, &conv);
}

UNIT_TEST(thoughts_of_another_model_are_dropped)
{
	static const char json[] = BEGIN "\"made_by\":\"8\",\"messages\":[" CALLS "]}";
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	assert_ok(&err, read_json(json, &conversation, &conv, &err));
	assert_null(conv.turns[0]->thought_key);
	assert_int_equal(conv.turns[0]->thoughts.len + conv.turns[0]->blob.len +
				 conv.turns[0]->calls[0].extra.len, 0);
	drop(&conversation, &conv);
}

#define CELLS                                                                                    \
	"\"tools\":[{\"name\":\"look\",\"cell\":{\"before\":\"f(\",\"after\":\")\"%s}}],"         \
	"\"messages\":[{\"role\":\"user\",\"text\":\"a\"}]}"

/* Expects `code` for a call of a cell tool, also after the document was written and read again. */
static void check_cell(const char *more, const char *args, const char *code)
{
	cleanup_buf struct buf text = BUF_INIT(4096), given = BUF_INIT(4096), again = BUF_INIT(4096);
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	assert_ok(&err, buf_addf(&text, &err, BEGIN CELLS, more));
	for (int i = 0; i < 2; i++) {
		cleanup_buf struct buf ran = BUF_INIT(4096);

		assert_ok(&err, read_json(buf_text(i == 0 ? &text : &again), &conversation, &conv,
					  &err));
		assert_int_equal(conv.tools[0].kind, MODEL_TOOL_CELL);
		buf_clear(&given);
		assert_ok(&err, buf_adds(&given, args, &err));
		assert_ok(&err, tool_cell_code(&conv.tools[0], &given, &ran, &err));
		assert_string_equal(buf_text(&ran), code);
		if (i == 0)
			assert_ok(&err, conversation_write(&conversation, &conv, &again, &err));
		drop(&conversation, &conv);
	}
}

UNIT_TEST(a_cell_tool_turns_a_call_into_code)
{
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	check_cell("", "{ \"a\":\n1 }", "f({\"a\":1})");
	check_cell(",\"quoted\":true", "{\"a\": \"\\n'\"}",
		   "f(\"{\\\"a\\\":\\\"\\\\n'\\\"}\")");
	/* If the document disables code, nothing can run the cell, so its tool is dropped. */
	assert_ok(&err, read_json(BEGIN "\"code\":false,\"tools\":[{\"name\":\"look\",\"cell\":"
					"{\"before\":\"\",\"after\":\"\"}},{\"name\":\"b\"}],"
					"\"messages\":[{\"role\":\"user\",\"text\":\"a\"}]}",
				  &conversation, &conv, &err));
	assert_int_equal(conv.tool_count, 1);
	assert_string_equal(conv.tools[0].name, "b");
	drop(&conversation, &conv);
	assert_err(&err, ERR_INVALID,
		   read_json(BEGIN "\"tools\":[{\"name\":\"a\",\"cell\":{\"before\":\"\"}}],"
				   "\"messages\":[]}",
			     &conversation, &conv, &err));
	drop(&conversation, &conv);
}

UNIT_TEST(messages_become_alternating_turns)
{
	static const char json[] =
		BEGIN "\"messages\":[{\"role\":\"user\",\"text\":\"a\"},{\"role\":\"system\","
		      "\"text\":\"s\"},{\"role\":\"user\",\"text\":\"b\"}," CALLS
		      ",{\"role\":\"user\",\"text\":\"c\"}]}";
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	assert_ok(&err, read_json(json, &conversation, &conv, &err));
	assert_string_equal(buf_text(&conv.turns[0]->text), "a\n\nb");
	assert_string_equal(buf_text(&conversation.instructions), "s");
	assert_int_equal(conv.count, 4);
	assert_int_equal(conv.turns[2]->role, MODEL_ROLE_RESULTS);
	assert_int_equal(conv.turns[2]->result_count, 3);
	drop(&conversation, &conv);
}

UNIT_TEST(a_document_stays_within_its_size_limit)
{
	cleanup_buf struct buf json = BUF_INIT(AGENT_CONVERSATION_MAX);
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;
	char *image = mem_new0(AGENT_IMAGE_MAX + 1, 1);

	memset(image, 'A', AGENT_IMAGE_MAX);
	conversation_init(&conversation);
	model_conversation_init(&conv);
	for (unsigned i = 0; i < 4; i++) {
		struct model_turn *turn =
			model_conversation_add(&conv, i % 2 == 0 ? MODEL_ROLE_USER : MODEL_ROLE_MODEL);

		assert_ok(&err, buf_addf(&turn->text, &err, "text %u", i));
		if (i % 2 == 0)
			assert_ok(&err, model_turn_add_image(turn, "image/png", image,
							     AGENT_IMAGE_MAX, &err));
	}
	/* Two images exceed the limit: one of them is dropped, and every text stays. */
	assert_ok(&err, conversation_write(&conversation, &conv, &json, &err));
	assert_true(json.len > AGENT_IMAGE_MAX && json.len < 2u * AGENT_IMAGE_MAX);
	for (unsigned i = 0; i < 4; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "text %u", i);
		assert_non_null(strstr(json.data, text));
	}
	drop(&conversation, &conv);
	free(image);
}
