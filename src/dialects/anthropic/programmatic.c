/*
 * programmatic.c - calls of the application's tools by code in a container, over several requests.
 *
 * Runs in:  reckon-front-anthropic and tests.
 * Reads:    tools and messages of any client, whose ids may be ours or invented.
 * Never:    stores anything: a call's id names the waiting run and the position in its events.
 *
 *   toolu_code_RUN_TURN_LAST_CALL     RUN: the run's digits; TURN, LAST: numbers of events: the
 *                                     answer with the code, the last one the client saw
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/anthropic/anthropic.h"

#define CALL "toolu_code_"
#define CALLER "code_execution_"
#define CELL "srvtoolu_"
#define BLOCKS_MAX 256u /* blocks per message that are examined */
#define VALUE_MAX ((size_t)1024 * 1024)

/* ---- what is lent --------------------------------------------------------------------------- */

void programmatic_callers(const struct json_value *tool, bool *ret_direct, bool *ret_code)
{
	const struct json_value *callers = json_read_member(tool, "allowed_callers");

	*ret_direct = json_read_kind(callers) != JSON_KIND_ARRAY;
	*ret_code = false;
	for (size_t i = 0; i < json_read_count(callers); i++) {
		const char *caller = json_read_text(json_read_at(callers, i), NULL);

		if (caller != NULL && strcmp(caller, "direct") == 0)
			*ret_direct = true;
		else if (caller != NULL && strncmp(caller, CALLER, strlen(CALLER)) == 0)
			*ret_code = true;
	}
}

static int add_tool(const struct json_value *tool, struct order *order, struct err *err)
{
	const struct json_value *schema = json_read_member(tool, "input_schema");
	const char *name = json_get_text(tool, "name"),
		   *description = json_get_text(tool, "description");
	cleanup_buf struct buf json = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	bool is_strict = false;

	(void)json_read_bool(json_read_member(tool, "strict"), &is_strict);
	if (name == NULL || json_read_kind(schema) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "tools: a tool has a name and an input_schema");
	if (is_strict)
		return err_set(err, ERR_INVALID,
			       "tools: strict and allowed_callers cannot be used together");
	if (order->lent_count == ANTHROPIC_LENT_MAX)
		return err_set(err, ERR_INVALID, "tools: code may call at most %u",
			       ANTHROPIC_LENT_MAX);
	if (json_read_dump(schema, &json, err) < 0)
		return (int)err->code;
	order->lent[order->lent_count++] = (struct api_tool){
		.name = name,
		.description = description,
		.parameters = { arena_text(&order->arena, buf_text(&json), json.len), json.len },
	};
	return 0;
}

int programmatic_tools(const struct json_value *tools, struct order *order, struct err *err)
{
	for (size_t i = 0; i < json_read_count(tools); i++) {
		bool direct, code;

		programmatic_callers(json_read_at(tools, i), &direct, &code);
		if (code && add_tool(json_read_at(tools, i), order, err) < 0)
			return (int)err->code;
	}
	if (order->lent_count > 0 && order->tool == ANTHROPIC_NO_CODE)
		return err_set(err, ERR_INVALID, "tools: allowed_callers names a code execution "
			       "tool, which is not among the tools");
	/* Code that calls tools is Python in every version of the tool. */
	if (order->lent_count > 0)
		order->tool = ANTHROPIC_PYTHON;
	return 0;
}

/* ---- ids ------------------------------------------------------------------------------------ */

bool programmatic_id(const char *run, const struct programmatic_place *place, const char *call,
		     char ret[NAME_SIZE])
{
	const char *number = strchr(call, '_');
	char digits[NAME_SIZE];
	int len;

	if (number == NULL || !name_swap(run, "run_", CALL, digits, sizeof(digits)))
		return false;
	len = snprintf(ret, NAME_SIZE, "%s_%" PRIu64 "_%" PRIu64 "%s", digits, place->turn,
		       place->last, number);
	return len > 0 && len < NAME_SIZE;
}

/* Reads "_" and a number, and advances *at. */
static bool take_number(const char **at, uint64_t *ret)
{
	char *end;

	if (**at != '_' || (*at)[1] < '0' || (*at)[1] > '9')
		return false;
	*ret = strtoull(*at + 1, &end, 10);
	*at = end;
	return true;
}

static bool read_id(const char *id, char run[ID_SIZE], struct programmatic_place *ret,
		    uint64_t *ret_call)
{
	const char *digits = id + strlen(CALL), *at;
	int len;

	if (strncmp(id, CALL, strlen(CALL)) != 0)
		return false;
	at = digits + strcspn(digits, "_");
	len = snprintf(run, ID_SIZE, "run_%.*s", (int)(at - digits), digits);
	return len > 4 && len < ID_SIZE && take_number(&at, &ret->turn) &&
	       take_number(&at, &ret->last) && take_number(&at, ret_call) && *at == '\0';
}

/* ---- results -------------------------------------------------------------------------------- */

bool programmatic_is_call(const struct json_value *block)
{
	const char *caller = json_get_text(json_read_member(block, "caller"), "type");

	return json_get_is(block, "type", "tool_use") && caller != NULL &&
	       strncmp(caller, CALLER, strlen(CALLER)) == 0;
}

/* Pending calls are last. */
static size_t first_of(const struct json_value *content)
{
	const size_t count = json_read_count(content);

	return count > BLOCKS_MAX ? count - BLOCKS_MAX : 0;
}

bool programmatic_is_answer(const struct json_value *before, const struct json_value *result)
{
	const char *wanted = json_get_text(result, "tool_use_id");

	for (size_t i = first_of(before); wanted != NULL && i < json_read_count(before); i++) {
		const struct json_value *block = json_read_at(before, i);
		const char *id = json_get_text(block, "id");

		if (programmatic_is_call(block) && id != NULL && strcmp(id, wanted) == 0)
			return true;
	}
	return false;
}

/* The return value of a call: the text as JSON if it is valid JSON, else as a string. */
static int write_value(const struct buf *text, struct buf *ret, struct err *err)
{
	enum json_kind kind;
	struct json_writer writer;

	if (json_read_compact(buf_text(text), text->len, VALUE_MAX, ret, &kind, err) == 0)
		return 0;
	json_write_init(&writer, ret);
	json_write_text(&writer, buf_text(text), text->len);
	return json_write_finish(&writer, err);
}

static int take_answer(const struct json_value *block, uint64_t call, struct order *order,
		       struct err *err)
{
	const struct json_value *content = json_read_member(block, "content");
	cleanup_buf struct buf text = BUF_INIT(VALUE_MAX), value = BUF_INIT(VALUE_MAX * 6 + 64);
	struct api_tool_result *result = &order->answers[order->answer_count++];
	bool failed = false;
	char id[32];

	(void)json_read_bool(json_read_member(block, "is_error"), &failed);
	if (json_read_kind(content) != JSON_KIND_NULL && history_text(content, &text, err) < 0)
		return (int)err->code;
	(void)snprintf(id, sizeof(id), "tc_%" PRIu64, call);
	result->id = arena_text(&order->arena, id, strlen(id));
	if (failed) {
		result->error = arena_text(&order->arena, buf_text(&text),
					   text.len < 65535 ? text.len : 65535);
		return 0;
	}
	if (write_value(&text, &value, err) < 0)
		return (int)err->code;
	result->value = (struct api_bytes){
		arena_text(&order->arena, buf_text(&value), value.len), value.len
	};
	return 0;
}

static const struct json_value *find_answer(const struct json_value *content, const char *id)
{
	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *block = json_read_at(content, i);
		const char *own = json_get_text(block, "tool_use_id");

		if (json_get_is(block, "type", "tool_result") && own != NULL &&
		    strcmp(own, id) == 0)
			return block;
	}
	return NULL;
}

static int take_call(const struct json_value *call, const struct json_value *content,
		     struct order *order, struct err *err)
{
	const char *id = json_get_text(call, "id");
	const char *cell = json_get_text(json_read_member(call, "caller"), "tool_id");
	const struct json_value *answer = id != NULL ? find_answer(content, id) : NULL;
	struct programmatic_place place = { 0 };
	char run[ID_SIZE];
	uint64_t number;

	if (answer == NULL)
		return err_set(err, ERR_INVALID,
			       "messages: tool_use ids were found without "
			       "tool_result blocks immediately after: %.200s",
			       id != NULL ? id : "");
	if (order->answer_count == ANTHROPIC_LENT_MAX)
		return err_set(err, ERR_INVALID, "messages: too many calls wait");
	order->waiting_cell = cell;
	/* An id that is not ours belongs to no waiting code: treat the code as gone. */
	if (!read_id(id, run, &place, &number) || cell == NULL ||
	    !name_swap(cell, CELL, "ex_", order->execution, sizeof(order->execution)))
		return 0;
	(void)snprintf(order->run, sizeof(order->run), "%s", run);
	order->place = place;
	return take_answer(answer, number, order, err);
}

int programmatic_answers(const struct json_value *messages, struct order *order, struct err *err)
{
	const size_t count = json_read_count(messages);
	const struct json_value *last, *before;

	if (count < 2)
		return 0;
	last = json_read_member(json_read_at(messages, count - 1), "content");
	before = json_read_member(json_read_at(messages, count - 2), "content");
	for (size_t i = first_of(before); i < json_read_count(before); i++) {
		const struct json_value *block = json_read_at(before, i);

		if (!programmatic_is_call(block))
			continue;
		order->is_waiting = true;
		if (order->container == NULL)
			return err_set(err, ERR_INVALID, "container_id is required when there are "
				       "pending tool uses generated by code execution with tools");
		if (take_call(block, last, order, err) < 0)
			return (int)err->code;
	}
	for (size_t i = 0; order->is_waiting && i < json_read_count(last); i++)
		if (!programmatic_is_answer(before, json_read_at(last, i)))
			return err_set(
				err, ERR_INVALID,
				"messages.%zu: while code waits for its "
				"tools, a message holds their tool_result blocks and nothing "
				"else",
				count - 1);
	return 0;
}

/* Tells the model that the code has ended meanwhile, or never existed. */
void programmatic_write_lost(const struct order *order, struct json_writer *writer)
{
	static const char why[] = "The code was ended: its tools were not answered in time, or its "
				  "container was restarted. Its variables may be gone.";

	if (!order->is_waiting || order->waiting_cell == NULL)
		return;
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "tool");
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", order->waiting_cell);
	json_write_member_string(writer, "text", why);
	json_write_member_bool(writer, "failed", true);
	json_write_object_end(writer);
	json_write_array_end(writer);
	json_write_object_end(writer);
}
