/*
 * contents.c - converts a request's contents into the messages of a conversation.
 *
 * Runs in:  reckon-front-gemini and tests.
 * Reads:    contents of any client, which include earlier answers of ours.
 * Never:    runs code again that a content reports as run.
 *
 * One content of the model has its code, our results and its text in their order; in a conversation
 * each turn of the model is a message, with results in between. Gemini's calls need no ids: a
 * result without one belongs to the first call with its name that has no result yet.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "dialects/gemini/gemini.h"

static const struct json_value *parts_of(const struct json_value *content)
{
	return json_read_member(content, "parts");
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Leaves out reasoning: it is not part of the answer. */
static int add_text(const struct json_value *part, struct buf *ret, struct err *err)
{
	bool is_thought = false;
	size_t len;
	const char *text = json_read_text(json_read_member(part, "text"), &len);

	(void)json_read_bool(json_read_member(part, "thought"), &is_thought);
	return text != NULL && !is_thought ? buf_add_line(ret, text, len, err) : 0;
}

int contents_text(const struct json_value *content, struct buf *ret, struct err *err)
{
	const struct json_value *parts = parts_of(content);
	size_t len;
	const char *text = json_read_text(content, &len);

	if (text != NULL)
		return buf_add(ret, text, len, err);
	if (json_read_count(parts) == 0)
		return err_set(err, ERR_INVALID, "parts: at least one part is required");
	for (size_t i = 0; i < json_read_count(parts); i++)
		if (add_text(json_read_at(parts, i), ret, err) < 0)
			return (int)err->code;
	return 0;
}

/* ---- images --------------------------------------------------------------------------------- */

/* Writes the images in parts[from, to), and those in function results there. */
static int write_images(const struct json_value *parts, size_t from, size_t to, struct order *order,
			struct json_writer *writer, struct err *err)
{
	for (size_t i = from; i < to; i++)
		if (data_write_image(json_read_at(parts, i), order, writer, err) < 0)
			return (int)err->code;
	return 0;
}

/* ---- calls and their results ---------------------------------------------------------------- */

static int add_call(struct order *order, const char *id, const char *name, bool is_code,
		    struct order_call **ret, struct err *err)
{
	char made[32];

	if (order->call_count == GEMINI_CALLS_MAX)
		return err_set(err, ERR_INVALID, "parts: there are at most %u calls at once",
			       GEMINI_CALLS_MAX);
	if (id == NULL || id[0] == '\0') {
		(void)snprintf(made, sizeof(made), "call_%u", order->call_number++);
		id = arena_text(&order->arena, made, strlen(made));
	}
	*ret = &order->calls[order->call_count++];
	**ret = (struct order_call){ .id = id, .name = name, .is_code = is_code };
	return 0;
}

static int write_call(const struct json_value *part, struct order *order,
		      struct json_writer *writer, struct err *err)
{
	const bool is_code = order_has(part, "executableCode");
	const struct json_value *call =
		order_member(part, is_code ? "executableCode" : "functionCall");
	const struct json_value *args = json_read_member(call, "args");
	cleanup_buf struct buf json = BUF_INIT(GEMINI_CONVERSATION_MAX);
	const char *name = is_code ? GEMINI_CODE_LANGUAGE : order_text(call, "name");
	struct order_call *known;
	size_t len = 0;
	const char *code = json_read_text(json_read_member(call, "code"), &len);

	if (name == NULL || (is_code && code == NULL))
		return err_set(err, ERR_INVALID, is_code ? "executableCode: it has code"
							 : "functionCall: it has a name");
	if (add_call(order, order_text(call, "id"), name, is_code, &known, err) < 0)
		return (int)err->code;
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", known->id);
	json_write_member_string(writer, "name", name);
	json_write_key(writer, "arguments");
	if (is_code) {
		json_write_object_begin(writer);
		json_write_member_text(writer, "code", code, len);
		json_write_object_end(writer);
	} else if (json_read_kind(args) != JSON_KIND_OBJECT) {
		json_write_raw(writer, "{}", 2);
	} else {
		if (json_read_dump(args, &json, err) < 0)
			return (int)err->code;
		json_write_raw(writer, buf_text(&json), json.len);
	}
	json_write_object_end(writer);
	return 0;
}

/* The call that a result belongs to, or NULL. */
static struct order_call *call_of(struct order *order, const struct json_value *result,
				  bool is_code)
{
	const char *id = order_text(result, "id"), *name = order_text(result, "name");

	for (int by_id = 1; by_id >= 0; by_id--)
		for (size_t i = 0; i < order->call_count; i++) {
			struct order_call *call = &order->calls[i];

			if (call->has_result || call->is_code != is_code)
				continue;
			if (by_id ? id != NULL && strcmp(call->id, id) == 0
				  : is_code || (name != NULL && strcmp(call->name, name) == 0))
				return call;
		}
	return NULL;
}

/* If the response has a single text member, that is the result; otherwise the whole JSON is. */
static int response_text(const struct json_value *response, struct buf *ret, bool *ret_failed,
			 struct err *err)
{
	const struct json_value *value;
	const char *key;
	size_t len;
	const char *text;

	if (json_read_kind(response) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "functionResponse: response is an object");
	if (json_read_count(response) != 1 || !json_read_member_at(response, 0, &key, &value))
		return json_read_dump(response, ret, err);
	*ret_failed = strcmp(key, "error") == 0;
	text = json_read_text(value, &len);
	if (text == NULL ||
	    (!*ret_failed && strcmp(key, "output") != 0 && strcmp(key, "result") != 0))
		return json_read_dump(response, ret, err);
	return buf_add(ret, text, len, err);
}

static int write_result(const struct json_value *part, struct order *order,
			struct json_writer *writer, struct err *err)
{
	const bool is_code = order_has(part, "codeExecutionResult");
	const struct json_value *result =
		order_member(part, is_code ? "codeExecutionResult" : "functionResponse");
	struct order_call *call = call_of(order, result, is_code);
	cleanup_buf struct buf text = BUF_INIT(GEMINI_CONVERSATION_MAX);
	const char *outcome = order_text(result, "outcome");
	bool failed = false;
	size_t len = 0;
	const char *output = json_read_text(json_read_member(result, "output"), &len);

	if (call == NULL)
		return err_set(err, ERR_INVALID, "%s: the content before has no such call",
			       is_code ? "codeExecutionResult" : "functionResponse");
	call->has_result = true;
	if (!is_code &&
	    response_text(json_read_member(result, "response"), &text, &failed, err) < 0)
		return (int)err->code;
	if (is_code && output != NULL && buf_add(&text, output, len, err) < 0)
		return (int)err->code;
	if (is_code)
		failed = outcome != NULL && strcmp(outcome, "OUTCOME_OK") != 0;
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", call->id);
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	if (failed)
		json_write_member_bool(writer, "failed", true);
	json_write_object_end(writer);
	return 0;
}

static bool is_result(const struct json_value *part)
{
	return order_has(part, "codeExecutionResult") || order_has(part, "functionResponse");
}

/* Writes the results in parts[from, to) as one message; images in the model's contents come from
 * its code. */
static int write_results(const struct json_value *parts, size_t from, size_t to, bool is_model,
			 struct order *order, struct json_writer *writer, struct err *err)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "tool");
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++)
		if (is_result(json_read_at(parts, i)) &&
		    write_result(json_read_at(parts, i), order, writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	json_write_key(writer, "images");
	json_write_array_begin(writer);
	if (is_model && write_images(parts, from, to, order, writer, err) < 0)
		return (int)err->code;
	for (size_t i = from; i < to; i++) {
		const struct json_value *more = parts_of(
			order_member(json_read_at(parts, i), "functionResponse"));

		if (write_images(more, 0, json_read_count(more), order, writer, err) < 0)
			return (int)err->code;
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
	return 0;
}

/* ---- the user's contents -------------------------------------------------------------------- */

static int take_part(const struct json_value *part, struct order *order, struct buf *text,
		     struct err *err)
{
	if (json_read_text(json_read_member(part, "text"), NULL) != NULL)
		return add_text(part, text, err);
	if (order_has(part, "inlineData") || order_has(part, "fileData"))
		return data_take(part, order, text, err);
	return err_set(err, ERR_INVALID, "parts: a part is text, inlineData, fileData or "
		       "functionResponse");
}

static int write_user(const struct json_value *parts, struct order *order,
		      struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(GEMINI_CONVERSATION_MAX);
	const size_t count = json_read_count(parts), first = order->file_count;
	size_t results = 0;

	for (size_t i = 0; i < count; i++)
		results += is_result(json_read_at(parts, i));
	if (results > 0 && write_results(parts, 0, count, false, order, writer, err) < 0)
		return (int)err->code;
	if (results == count)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (!is_result(json_read_at(parts, i)) &&
		    take_part(json_read_at(parts, i), order, &text, err) < 0)
			return (int)err->code;
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "user");
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	json_write_key(writer, "images");
	json_write_array_begin(writer);
	if (write_images(parts, 0, count, order, writer, err) < 0)
		return (int)err->code;
	json_write_array_end(writer);
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = first; i < order->file_count; i++)
		json_write_string(writer, order->files[i].path);
	json_write_array_end(writer);
	json_write_object_end(writer);
	order->call_count = 0;
	return 0;
}

/* ---- the model's contents ------------------------------------------------------------------- */

/* Writes the sealed reasoning that goes back to its provider. */
static void write_signatures(const struct json_value *parts, size_t from, size_t to,
			     struct json_writer *writer)
{
	json_write_key(writer, "sealed");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++) {
		size_t len;
		const char *text = json_read_text(
			order_member(json_read_at(parts, i), "thoughtSignature"), &len);

		if (text != NULL)
			(void)sealed_write(text, len, writer);
	}
	json_write_array_end(writer);
}

static int write_turn(const struct json_value *parts, size_t from, size_t to, struct order *order,
		      struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(GEMINI_CONVERSATION_MAX);

	for (size_t i = from; i < to; i++)
		if (add_text(json_read_at(parts, i), &text, err) < 0)
			return (int)err->code;
	order->call_count = 0;
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "assistant");
	json_write_member_text(writer, "text", buf_text(&text), text.len);
	json_write_key(writer, "calls");
	json_write_array_begin(writer);
	for (size_t i = from; i < to; i++) {
		const struct json_value *part = json_read_at(parts, i);

		if ((order_has(part, "executableCode") || order_has(part, "functionCall")) &&
		    write_call(part, order, writer, err) < 0)
			return (int)err->code;
	}
	json_write_array_end(writer);
	write_signatures(parts, from, to, writer);
	json_write_object_end(writer);
	return 0;
}

static int write_model(const struct json_value *parts, struct order *order,
		       struct json_writer *writer, struct err *err)
{
	const size_t count = json_read_count(parts);
	size_t from, at = 0;

	while (at < count) {
		for (from = at; at < count && !is_result(json_read_at(parts, at)); at++)
			;
		if (at > from && write_turn(parts, from, at, order, writer, err) < 0)
			return (int)err->code;
		for (from = at; at < count && (is_result(json_read_at(parts, at)) ||
					       order_has(json_read_at(parts, at), "inlineData"));
		     at++)
			;
		if (at > from && write_results(parts, from, at, true, order, writer, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int write_content(const struct json_value *content, bool is_last, struct order *order,
			 struct json_writer *writer, struct err *err)
{
	const struct json_value *parts = parts_of(content);
	const char *role = order_text(content, "role");

	if (json_read_kind(parts) != JSON_KIND_ARRAY || json_read_count(parts) == 0)
		return err_set(err, ERR_INVALID, "parts: at least one part is required");
	if (json_read_kind(order_member(content, "role")) == JSON_KIND_NULL)
		role = "user";
	if (role != NULL && (strcmp(role, "user") == 0 || strcmp(role, "function") == 0))
		return write_user(parts, order, writer, err);
	if (role == NULL || strcmp(role, "model") != 0)
		return err_set(err, ERR_INVALID, "role: it is user or model");
	if (is_last)
		return err_set(err, ERR_INVALID,
			       "the contents end with the user's: an answer that is "
			       "begun cannot be gone on with");
	return write_model(parts, order, writer, err);
}

int contents_write(const struct json_value *contents, struct order *order,
		   struct json_writer *writer, struct err *err)
{
	const size_t count = json_read_count(contents);

	json_write_key(writer, "messages");
	json_write_array_begin(writer);
	for (size_t i = 0; i < count; i++)
		if (write_content(json_read_at(contents, i), i + 1 == count, order, writer, err) <
		    0)
			return err_wrap(err, "contents[%zu]", i);
	json_write_array_end(writer);
	return 0;
}
