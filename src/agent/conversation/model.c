/*
 * model.c - manages the memory of a conversation.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    text of a model, already decoded.
 * Never:    stores more of it than model.h allows.
 */
#include "agent/conversation/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"

#define URL_SPARE 64u

void model_turn_init(struct model_turn *turn, enum model_role role)
{
	*turn = (struct model_turn){
		.role = role,
		.text = BUF_INIT(MODEL_TEXT_MAX),
		.thoughts = BUF_INIT(MODEL_TEXT_MAX),
		.blob = BUF_INIT(MODEL_BLOB_MAX),
		.sealed = BUF_INIT(MODEL_BLOB_MAX),
	};
}

size_t model_turn_drop_images(struct model_turn *turn)
{
	const size_t count = turn->image_count;

	while (turn->image_count > 0) {
		struct model_image *image = &turn->images[--turn->image_count];

		free(image->mime);
		buf_done(&image->base64);
	}
	return count;
}

void model_turn_done(struct model_turn *turn)
{
	for (size_t i = 0; i < turn->call_count; i++) {
		free(turn->calls[i].id);
		free(turn->calls[i].name);
		buf_done(&turn->calls[i].args);
		buf_done(&turn->calls[i].extra);
	}
	for (size_t i = 0; i < turn->result_count; i++) {
		free(turn->results[i].call_id);
		free(turn->results[i].name);
		buf_done(&turn->results[i].text);
		buf_done(&turn->results[i].whole);
	}
	(void)model_turn_drop_images(turn);
	free(turn->calls);
	free(turn->results);
	free(turn->images);
	buf_done(&turn->text);
	buf_done(&turn->thoughts);
	buf_done(&turn->blob);
	buf_done(&turn->sealed);
	model_turn_init(turn, turn->role);
}

void model_conversation_init(struct model_conversation *conv)
{
	*conv = (struct model_conversation){ .system = BUF_INIT(MODEL_TEXT_MAX) };
}

int model_conversation_add_tool(struct model_conversation *conv, enum model_tool_kind kind,
				const char *name, const char *description, const char *parameters,
				struct err *err)
{
	if (conv->tool_count == MODEL_TOOLS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u tools", MODEL_TOOLS_MAX);
	conv->tools = mem_grow(conv->tools, conv->tool_count + 1, sizeof(*conv->tools));
	conv->tools[conv->tool_count++] = (struct model_tool){
		.kind = kind,
		.name = mem_strdup(name),
		.description = description != NULL ? mem_strdup(description) : NULL,
		.parameters = mem_strdup(parameters),
	};
	return 0;
}

const struct model_tool *model_conversation_tool(const struct model_conversation *conv,
						 const char *name)
{
	for (size_t i = 0; i < conv->tool_count; i++)
		if (strcmp(conv->tools[i].name, name) == 0)
			return &conv->tools[i];
	return NULL;
}

const struct model_tool *model_conversation_code_tool(const struct model_conversation *conv)
{
	for (size_t i = 0; i < conv->tool_count; i++)
		if (conv->tools[i].kind == MODEL_TOOL_CODE)
			return &conv->tools[i];
	return NULL;
}

void model_tool_done(struct model_tool *tool)
{
	free(tool->name);
	free(tool->description);
	free(tool->parameters);
	free(tool->before);
	free(tool->after);
	*tool = (struct model_tool){ 0 };
}

void model_conversation_drop_tools(struct model_conversation *conv)
{
	while (conv->tool_count > 0)
		model_tool_done(&conv->tools[--conv->tool_count]);
}

void model_sampling_done(struct model_sampling *sampling)
{
	for (size_t i = 0; i < sampling->stop_count; i++)
		free(sampling->stops[i]);
	free(sampling->temperature);
	free(sampling->top_p);
	free(sampling->seed);
	free(sampling->effort);
	free(sampling->choice_tool);
	free(sampling->schema);
	free(sampling->schema_name);
	*sampling = (struct model_sampling){ 0 };
}

void model_conversation_cut(struct model_conversation *conv, size_t count)
{
	while (conv->count > count) {
		struct model_turn *last = conv->turns[--conv->count];

		model_turn_done(last);
		free(last);
	}
}

void model_conversation_drop(struct model_conversation *conv, size_t from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		model_turn_done(conv->turns[from + i]);
		free(conv->turns[from + i]);
	}
	memmove(conv->turns + from, conv->turns + from + count,
		(conv->count - from - count) * sizeof(*conv->turns));
	conv->count -= count;
}

int model_conversation_remark(struct model_conversation *conv, const char *text, struct err *err)
{
	for (size_t i = conv->count; i > 0; i--) {
		struct model_turn *turn = conv->turns[i - 1];

		if (turn->role == MODEL_ROLE_RESULTS && turn->result_count > 0)
			return buf_addf(&turn->results[turn->result_count - 1].text, err, "\n%s",
					text);
		if (turn->role == MODEL_ROLE_USER)
			return buf_addf(&turn->text, err, "\n\n%s", text);
	}
	return 0;
}

void model_conversation_done(struct model_conversation *conv)
{
	model_conversation_cut(conv, 0);
	model_conversation_drop_tools(conv);
	free(conv->tools);
	model_sampling_done(&conv->sampling);
	free(conv->turns);
	buf_done(&conv->system);
	model_conversation_init(conv);
}

struct model_turn *model_conversation_add(struct model_conversation *conv, enum model_role role)
{
	struct model_turn *turn = mem_new0(1, sizeof(*turn));

	model_turn_init(turn, role);
	conv->turns = mem_grow(conv->turns, conv->count + 1, sizeof(struct model_turn *));
	conv->turns[conv->count++] = turn;
	return turn;
}

struct model_call *model_turn_call(struct model_turn *turn, int64_t index)
{
	struct model_call *call;

	for (size_t i = 0; i < turn->call_count; i++)
		if (turn->calls[i].index == index)
			return &turn->calls[i];
	if (turn->call_count == MODEL_CALLS_MAX)
		return NULL;
	turn->calls = mem_grow(turn->calls, turn->call_count + 1, sizeof(*turn->calls));
	call = &turn->calls[turn->call_count++];
	*call = (struct model_call){ .index = index, .args = BUF_INIT(MODEL_ARGS_MAX),
				     .extra = BUF_INIT(MODEL_EXTRA_MAX) };
	return call;
}

void model_call_add(struct model_call *call, const char *text, size_t len)
{
	struct err ignored; /* the only possible error is the one that too_long records */

	if (call->too_long || buf_add(&call->args, text, len, &ignored) == 0)
		return;
	call->too_long = true;
	buf_done(&call->args);
}

static void set_text(char **text, const char *value, size_t max)
{
	const size_t len = strnlen(value, max);

	if (len == 0)
		return;
	free(*text);
	*text = mem_new0(len + 1, 1);
	memcpy(*text, value, len);
}

void model_call_set_id(struct model_call *call, const char *id)
{
	set_text(&call->id, id, MODEL_ID_MAX);
}

void model_call_set_name(struct model_call *call, const char *name)
{
	set_text(&call->name, name, MODEL_NAME_MAX);
}

/* Whether an earlier call of the turn has the same id. */
static bool is_taken(const struct model_turn *turn, size_t before, const char *id)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(turn->calls[i].id, id) == 0)
			return true;
	return false;
}

static void settle_id(struct model_turn *turn, size_t at, uint64_t number)
{
	struct model_call *call = &turn->calls[at];
	char made[48];

	if (call->id != NULL && !is_taken(turn, at, call->id))
		return;
	/* A duplicate id was replaced, so the provider's original items cannot be sent back. */
	if (call->id != NULL)
		buf_clear(&turn->blob);
	(void)snprintf(made, sizeof(made), "call_%llu_%zu", (unsigned long long)number, at);
	model_call_set_id(call, made);
	call->own_id = true;
}

/*
 * Some models write code where JSON belongs: a value that is not an object becomes the only
 * argument.
 */
int model_call_settle(struct model_call *call, const char *argument, struct err *err)
{
	cleanup_buf struct buf made = BUF_INIT(2 * MODEL_ARGS_MAX * 6);
	struct json_writer writer;
	enum json_kind kind;
	struct err why;

	if (json_read_compact(buf_text(&call->args), call->args.len, MODEL_ARGS_MAX, &made, &kind,
			      &why) < 0 ||
	    kind != JSON_KIND_OBJECT) {
		buf_clear(&made);
		json_write_init(&writer, &made);
		json_write_object_begin(&writer);
		if (call->args.len > 0)
			json_write_member_text(&writer, argument, call->args.data, call->args.len);
		json_write_object_end(&writer);
		if (json_write_finish(&writer, err) < 0)
			return (int)err->code;
	}
	buf_done(&call->args);
	call->args = made;
	made = BUF_INIT(0);
	return 0;
}

int model_turn_settle(struct model_turn *turn, const char *argument, uint64_t number,
		      struct err *err)
{
	for (size_t i = 0; i < turn->call_count; i++) {
		settle_id(turn, i, number);
		if (turn->calls[i].name == NULL)
			turn->calls[i].name = mem_strdup("");
		if (model_call_settle(&turn->calls[i], argument, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int model_turn_add_result(struct model_turn *turn, const struct model_call *call,
			  const char *text, size_t len, bool failed, struct err *err)
{
	struct model_result *result;

	turn->results = mem_grow(turn->results, turn->result_count + 1, sizeof(*turn->results));
	result = &turn->results[turn->result_count++];
	*result = (struct model_result){
		.call_id = mem_strdup(call != NULL ? call->id : ""),
		.name = mem_strdup(call != NULL ? call->name : ""),
		.own_id = call != NULL && call->own_id,
		.text = BUF_INIT(MODEL_TEXT_MAX),
		.whole = BUF_INIT(MODEL_TEXT_MAX),
		.failed = failed,
	};
	return buf_add(&result->text, text, len, err);
}

void model_turn_sort_results(struct model_turn *results, const struct model_turn *calls)
{
	size_t sorted = 0;

	for (size_t i = 0; i < calls->call_count; i++)
		for (size_t j = sorted; j < results->result_count; j++) {
			const struct model_result moved = results->results[j];

			if (strcmp(moved.call_id, calls->calls[i].id) != 0)
				continue;
			memmove(results->results + sorted + 1, results->results + sorted,
				(j - sorted) * sizeof(moved));
			results->results[sorted++] = moved;
			break;
		}
}

int model_turn_add_image(struct model_turn *turn, const char *mime, const char *base64, size_t len,
			 struct err *err)
{
	struct model_image *image;

	if (turn->image_count == MODEL_IMAGES_MAX)
		return err_set(err, ERR_LIMIT, "more than %u images", MODEL_IMAGES_MAX);
	turn->images = mem_grow(turn->images, turn->image_count + 1, sizeof(*turn->images));
	image = &turn->images[turn->image_count++];
	*image = (struct model_image){ mem_strdup(mime), BUF_INIT(MODEL_BODY_MAX) };
	return buf_add(&image->base64, base64, len, err);
}

int model_write_data_url(struct json_writer *writer, const struct model_image *image,
			 struct err *err)
{
	cleanup_buf struct buf url = BUF_INIT(image->base64.len + strlen(image->mime) + URL_SPARE);

	if (buf_addf(&url, err, "data:%s;base64,", image->mime) < 0 ||
	    buf_add(&url, image->base64.data, image->base64.len, err) < 0)
		return (int)err->code;
	json_write_text(writer, url.data, url.len);
	return 0;
}
