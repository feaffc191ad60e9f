/*
 * test_agent_limits.c - limits of a conversation: N items are accepted, N + 1 are not.
 *
 * Runs in:  the unit suite.
 * Reads:    documents of its own.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/model.h"
#include "agent/formats/chat_details.h"
#include "base/cleanup.h"
#include "base/mem.h"

UNIT_TEST(the_number_of_tools_is_limited)
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

UNIT_TEST(the_number_of_images_is_limited)
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

UNIT_TEST(the_number_of_calls_is_limited)
{
	struct model_turn turn;

	model_turn_init(&turn, MODEL_ROLE_MODEL);
	for (size_t i = 0; i < MODEL_CALLS_MAX; i++)
		assert_non_null(model_turn_call(&turn, (int64_t)i));
	assert_null(model_turn_call(&turn, MODEL_CALLS_MAX));
	assert_int_equal(turn.call_count, MODEL_CALLS_MAX);
	model_turn_done(&turn);
}

/* A text that is one byte too long loses its last byte. */
UNIT_TEST(names_and_ids_that_are_too_long_are_cut)
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

UNIT_TEST(the_length_of_arguments_is_limited)
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
		/* Arguments that are too long are dropped as a whole. */
		assert_int_equal(call->args.len, over == 0 ? MODEL_ARGS_MAX : 0);
		model_turn_done(&turn);
	}
}

UNIT_TEST(the_number_of_details_is_limited)
{
	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf json = BUF_INIT(1u << 16), shown = BUF_INIT(1u << 16);
		struct json_value *fragments = NULL;
		struct details *details = NULL;
		char last[24];
		struct err err;

		assert_ok(&err, buf_addc(&json, '[', &err));
		for (size_t i = 0; i < DETAILS_MAX + over; i++)
			assert_ok(&err, buf_addf(&json, &err, "%s{\"text\":\"t%zu\"}", i > 0 ? "," : "",
						 i));
		assert_ok(&err, buf_addc(&json, ']', &err));
		assert_ok(&err, json_read_parse(json.data, json.len, json.len, &fragments, &err));
		assert_ok(&err, details_take(&details, fragments, &err));
		assert_ok(&err, details_write(details, &shown, &err));
		(void)snprintf(last, sizeof(last), "\"t%u\"", DETAILS_MAX - 1);
		assert_non_null(strstr(buf_text(&shown), last));
		(void)snprintf(last, sizeof(last), "\"t%u\"", DETAILS_MAX);
		assert_null(strstr(buf_text(&shown), last));
		details_free(details);
		json_read_free(fragments);
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

/* ---- limits of a document: each function writes a member with `count` items or bytes ---- */

static void fill(struct buf *json, const char *before, size_t count, const char *behind)
{
	cleanup_free char *text = mem_new0(count + 1, 1);
	struct err err;

	memset(text, 'x', count);
	assert_ok(&err, buf_addf(json, &err, "%s%s%s", before, text, behind));
}

static void repeat(struct buf *json, const char *before, size_t count, const char *each,
		   const char *behind)
{
	struct err err;

	assert_ok(&err, buf_adds(json, before, &err));
	for (size_t i = 0; i < count; i++) {
		const char *number = strchr(each, '#');

		assert_ok(&err, buf_adds(json, i > 0 ? "," : "", &err));
		assert_ok(&err, buf_addf(json, &err, "%.*s%zu%s", (int)(number - each), each, i,
					 number + 1));
	}
	assert_ok(&err, buf_adds(json, behind, &err));
}

static void write_tools(struct buf *json, size_t count)
{
	repeat(json, "\"tools\":[", count, "{\"name\":\"t#\"}", "]");
}

static void write_cells(struct buf *json, size_t count)
{
	repeat(json, "\"tools\":[", count,
	       "{\"name\":\"t#\",\"cell\":{\"before\":\"\",\"after\":\"\"}}", "]");
}

static void write_tool_name(struct buf *json, size_t count)
{
	fill(json, "\"tools\":[{\"name\":\"", count, "\"}]");
}

static void write_parameters(struct buf *json, size_t count)
{
	static const char empty[] = "{\"a\":\"\"}";

	fill(json, "\"tools\":[{\"name\":\"t\",\"parameters\":{\"a\":\"",
	     count - strlen(empty), "\"}}]");
}

static void write_instructions(struct buf *json, size_t count)
{
	fill(json, "\"instructions\":\"", count, "\"");
}

static void write_stops(struct buf *json, size_t count)
{
	repeat(json, "\"sampling\":{\"stop\":[", count, "\"s#\"", "]}");
}

static void write_schema(struct buf *json, size_t count)
{
	static const char empty[] = "{\"a\":\"\"}";

	fill(json, "\"output\":{\"schema\":{\"a\":\"", count - strlen(empty), "\"}}");
}

static void write_question(struct buf *json, size_t count)
{
	fill(json, "\"messages\":[{\"role\":\"user\",\"text\":\"", count, "\"}]");
}

/* Two consecutive user messages become one, with an empty line between (3 bytes in total). */
static void write_questions(struct buf *json, size_t count)
{
	fill(json, "\"messages\":[{\"role\":\"user\",\"text\":\"x\"},"
	     "{\"role\":\"user\",\"text\":\"", count - 3, "\"}]");
}

static void write_answer(struct buf *json, size_t count)
{
	fill(json, "\"messages\":[{\"role\":\"assistant\",\"text\":\"", count, "\"}]");
}

static void write_images(struct buf *json, size_t count)
{
	repeat(json, "\"messages\":[{\"role\":\"user\",\"images\":[", count,
	       "{\"mime\":\"image/png\",\"base64\":\"A#\"}", "]}]");
}

static void write_image(struct buf *json, size_t count)
{
	fill(json, "\"messages\":[{\"role\":\"user\",\"images\":[{\"mime\":\"image/png\","
	     "\"base64\":\"", count, "\"}]}]");
}

#define CALLS "\"messages\":[{\"role\":\"user\",\"text\":\"t\"},{\"role\":\"assistant\",\"calls\":["

static void write_calls(struct buf *json, size_t count)
{
	repeat(json, CALLS, count, "{\"id\":\"c#\",\"name\":\"t\",\"arguments\":{}}", "]}]");
}

static void write_call_id(struct buf *json, size_t count)
{
	fill(json, CALLS "{\"name\":\"t\",\"arguments\":{},\"id\":\"", count, "\"}]}]");
}

static void write_call_name(struct buf *json, size_t count)
{
	fill(json, CALLS "{\"id\":\"c\",\"arguments\":{},\"name\":\"", count, "\"}]}]");
}

static void write_arguments(struct buf *json, size_t count)
{
	fill(json, CALLS "{\"id\":\"c\",\"name\":\"t\",\"arguments\":\"", count, "\"}]}]");
}

static void write_arguments_object(struct buf *json, size_t count)
{
	static const char empty[] = "{\"a\":\"\"}";

	fill(json, CALLS "{\"id\":\"c\",\"name\":\"t\",\"arguments\":{\"a\":\"",
	     count - strlen(empty), "\"}}]}]");
}

static void write_result(struct buf *json, size_t count)
{
	fill(json, CALLS "{\"id\":\"c\",\"name\":\"t\",\"arguments\":{}}]},"
	     "{\"role\":\"tool\",\"results\":[{\"id\":\"c\",\"text\":\"", count, "\"}]}]");
}

static void write_extra(struct buf *json, size_t count)
{
	static const char empty[] = "{\"a\":\"\"}";

	fill(json, CALLS "{\"id\":\"c\",\"name\":\"t\",\"arguments\":{},\"extra\":{\"a\":\"",
	     count - strlen(empty), "\"}}]}]");
}

/* A document beyond a limit is the client's error: the message names the place in the document. */
UNIT_TEST(the_size_of_each_member_is_limited)
{
	static const struct {
		size_t most;
		void (*write)(struct buf *json, size_t count);
		const char *place;
	} rows[] = {
		{ MODEL_APPLICATION_TOOLS_MAX, write_tools, "tools[128]: " },
		{ MODEL_CELL_TOOLS_MAX, write_cells, "tools[128]: " },
		{ AGENT_TOOL_NAME_MAX, write_tool_name, "tools[0]: " },
		{ MODEL_ARGS_MAX, write_parameters, "tools[0]: " },
		{ MODEL_TEXT_MAX, write_instructions, "\"instructions\" " },
		{ MODEL_STOPS_MAX, write_stops, "\"stop\" " },
		{ MODEL_ARGS_MAX, write_schema, "the schema of \"output\" " },
		{ MODEL_TEXT_MAX, write_question, "messages[0]: " },
		{ MODEL_TEXT_MAX, write_questions, "messages[1]: " },
		{ MODEL_TEXT_MAX, write_answer, "messages[0]: " },
		{ MODEL_IMAGES_MAX, write_images, "messages[0]: " },
		{ AGENT_IMAGE_MAX, write_image, "messages[0]: " },
		{ MODEL_CALLS_MAX, write_calls, "messages[1]: " },
		{ MODEL_ID_MAX, write_call_id, "messages[1]: " },
		{ MODEL_NAME_MAX, write_call_name, "messages[1]: " },
		{ MODEL_ARGS_MAX, write_arguments, "messages[1]: " },
		{ MODEL_ARGS_MAX, write_arguments_object, "messages[1]: " },
		{ MODEL_TEXT_MAX, write_result, "messages[2]: " },
		{ MODEL_EXTRA_MAX, write_extra, "messages[1]: " },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t over = 0; over < 2; over++) {
			cleanup_buf struct buf json = BUF_INIT(16u << 20);
			char begin[80];
			struct err err = { 0 };

			assert_ok(&err, buf_adds(&json, "{\"schema\":\"reckon.conversation/1\",",
						 &err));
			rows[i].write(&json, rows[i].most + over);
			assert_ok(&err, buf_adds(&json, "}", &err));
			if (over == 0) {
				assert_ok(&err, read_document(&json, &err));
				continue;
			}
			assert_int_not_equal(read_document(&json, &err), 0);
			(void)snprintf(begin, sizeof(begin), "conversation: %s", rows[i].place);
			if (strncmp(err.text, begin, strlen(begin)) != 0)
				fail_msg("row %zu: %s", i, err.text);
			assert_null(strstr(err.text, "ceiling"));
		}
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

/* The limit counts messages; 4000 of them may still be refused for another reason. */
UNIT_TEST(the_number_of_messages_is_limited)
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
