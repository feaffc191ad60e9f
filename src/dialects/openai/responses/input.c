/*
 * input.c - converts a request's input into messages of a conversation.
 *
 * Runs in:  reckon-front-openai and tests.
 * Reads:    items of any client, which include earlier answers of ours.
 * Never:    runs code again that an item reports as run.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/openai/files/files_read.h"
#include "dialects/openai/responses/references.h"

static const char *type_of(const struct json_value *item)
{
	const char *type = json_get_text(item, "type");

	return type != NULL ? type : "message"; /* a message may omit its type */
}

static bool is(const struct json_value *item, const char *type)
{
	return strcmp(type_of(item), type) == 0;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static const char *path_of(struct order *order, const char *name)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "._- ";
	char path[128];
	size_t len = 0;

	for (; name != NULL && name[len] != '\0' && len < 100; len++)
		path[len] = strchr(good, name[len]) != NULL ? name[len] : '_';
	path[len] = '\0';
	if (len == 0 || path[0] == '.')
		(void)snprintf(path, sizeof(path), "file-%zu", order->file_count + 1);
	return arena_text(&order->arena, path, strlen(path));
}

static struct api_run_file *add_file(struct order *order, const char *name, const struct buf *bytes,
				     struct err *err)
{
	struct api_run_file *file = &order->files[order->file_count];

	if (order->file_count == OPENAI_FILES_MAX) {
		(void)err_set(err, ERR_INVALID, "input_file: there are at most %u files",
			      OPENAI_FILES_MAX);
		return NULL;
	}
	file->path = path_of(order, name);
	file->base64 = (struct api_bytes){
		arena_text(&order->arena, buf_text(bytes), bytes->len), bytes->len
	};
	order->file_count++;
	return file;
}

/* Puts a file into the workspace, where code can read it. The bytes may be a data URL. */
static int take_file(const struct json_value *part, struct order *order, struct err *err)
{
	static const char mark[] = ";base64,";
	const struct brought *brought = files_brought(order, part);
	cleanup_buf struct buf bytes = BUF_INIT(OPENAI_FILE_BYTES_MAX);
	const char *data = json_get_text(part, "file_data");
	const char *comma =
		data != NULL && strncmp(data, "data:", 5) == 0 ? strstr(data, mark) : NULL;

	if (brought != NULL && brought->bytes.len > OPENAI_FILE_BYTES_MAX)
		return err_set(err, ERR_INVALID, "input_file: it has more than 6 MiB: put it into "
			       "a container");
	if (brought != NULL)
		return add_file(order, brought->name, &brought->bytes, err) != NULL
			       ? 0
			       : (int)err->code;
	if (data == NULL)
		return err_set(err, ERR_INVALID,
			       "input_file: only file_data and file_id are taken");
	if (comma != NULL)
		data = comma + sizeof(mark) - 1;
	if (base64_decode(data, strlen(data), &bytes, err) < 0)
		return err_set(err, ERR_INVALID,
			       "input_file: file_data is not base64 of at most 6 MiB");
	return add_file(order, json_get_text(part, "filename"), &bytes, err) != NULL
		       ? 0
		       : (int)err->code;
}

static int take_image(const struct json_value *part, const struct order *order,
		      struct transcript *transcript, struct err *err)
{
	const struct brought *brought = files_brought(order, part);
	const struct json_value *url = json_read_member(part, "image_url");
	const char *text = json_read_kind(url) == JSON_KIND_OBJECT ? json_get_text(url, "url")
								   : json_read_text(url, NULL);

	if (brought != NULL)
		text = buf_text(&brought->bytes);
	if (text == NULL)
		return err_set(err, ERR_INVALID,
			       "input_image: only image_url and file_id are taken");
	return transcript_image(transcript, text, err);
}

static int take_part(const struct json_value *part, struct order *order,
		     struct transcript *transcript, struct buf *text, struct err *err)
{
	size_t len;
	const char *words = json_read_text(json_read_member(part, "text"), &len);

	if (words == NULL)
		words = json_read_text(json_read_member(part, "refusal"), &len);
	if (words != NULL)
		return buf_add_line(text, words, len, err);
	if (is(part, "input_image") || is(part, "image_url"))
		return take_image(part, order, transcript, err);
	if (is(part, "input_file"))
		return take_file(part, order, err);
	if (is(part, "file"))
		return take_file(json_read_member(part, "file"), order, err);
	return err_set(err, ERR_INVALID, "content: a part of type '%.60s' is not supported here",
		       type_of(part));
}

int input_content(const struct json_value *content, struct order *order,
		  struct transcript *transcript, struct buf *text, struct err *err)
{
	size_t len;
	const char *words = json_read_text(content, &len);

	if (words != NULL)
		return buf_add_line(text, words, len, err);
	if (json_read_kind(content) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "content: a string or an array of parts");
	for (size_t i = 0; i < json_read_count(content); i++)
		if (take_part(json_read_at(content, i), order, transcript, text, err) < 0)
			return (int)err->code;
	return 0;
}

/* ---- items ---------------------------------------------------------------------------------- */

static int take_message(const struct json_value *item, struct order *order,
			struct transcript *transcript, struct err *err)
{
	const struct json_value *content = json_read_member(item, "content");
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *role = json_get_text(item, "role"), *files[OPENAI_FILES_MAX];
	const size_t first = order->file_count;

	if (role == NULL)
		return err_set(err, ERR_INVALID, "role: it is missing");
	if (strcmp(role, "assistant") == 0)
		return input_content(content, order, transcript, &text, err) < 0
			       ? (int)err->code
			       : transcript_assistant(transcript, buf_text(&text), text.len, err);
	if (strcmp(role, "developer") == 0)
		role = "system";
	if (strcmp(role, "user") != 0 && strcmp(role, "system") != 0)
		return err_set(err, ERR_INVALID,
			       "role: it is user, assistant, system or developer");
	if (transcript_close(transcript, err) < 0 ||
	    input_content(content, order, transcript, &text, err) < 0)
		return (int)err->code;
	for (size_t i = first; i < order->file_count; i++)
		files[i - first] = order->files[i].path;
	return transcript_user(transcript, role, &text, files, order->file_count - first, err);
}

static int take_call(const struct json_value *item, struct transcript *transcript, struct err *err)
{
	const char *id = json_get_text(item, "call_id"), *name = json_get_text(item, "name");
	size_t len;
	const char *arguments = json_read_text(json_read_member(item, "arguments"), &len);

	if (id == NULL || name == NULL || arguments == NULL)
		return err_set(err, ERR_INVALID, "function_call: call_id, name and arguments are "
			       "needed");
	return transcript_call(transcript, id, name, arguments, len, err);
}

static int take_output(const struct json_value *item, struct order *order,
		       struct transcript *transcript, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *id = json_get_text(item, "call_id");

	if (id == NULL)
		return err_set(err, ERR_INVALID, "function_call_output: call_id is missing");
	if (input_content(json_read_member(item, "output"), order, transcript, &text, err) < 0)
		return (int)err->code;
	return transcript_result(transcript, id, buf_text(&text), text.len, err);
}

static int take_cell(const struct json_value *item, struct transcript *transcript, struct err *err)
{
	const struct json_value *outputs = json_read_member(item, "outputs");
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *id = json_get_text(item, "id");
	size_t len;
	const char *code = json_read_text(json_read_member(item, "code"), &len);

	if (id == NULL || code == NULL)
		return err_set(err, ERR_INVALID, "code_interpreter_call: id and code are needed");
	if (transcript_code(transcript, id, code, len, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const char *logs = json_read_text(
			json_read_member(json_read_at(outputs, i), "logs"), &len);

		if (logs != NULL && buf_add_line(&text, logs, len, err) < 0)
			return (int)err->code;
	}
	return transcript_result(transcript, id, buf_text(&text), text.len, err);
}

/* Adds the commands as the model wrote them. */
static int take_commands(const struct json_value *item, struct transcript *transcript,
			 struct err *err)
{
	const struct json_value *action = json_read_member(item, "action");
	cleanup_buf struct buf json = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *id = json_get_text(item, "call_id");

	if (id == NULL || json_read_count(json_read_member(action, "commands")) == 0)
		return err_set(err, ERR_INVALID,
			       "shell_call: call_id and action.commands are needed");
	if (json_read_dump(action, &json, err) < 0)
		return (int)err->code;
	return transcript_call(transcript, id, OPENAI_SHELL, buf_text(&json), json.len, err);
}

/* Adds one command's output. */
static int add_command_output(const struct json_value *output, struct buf *text, struct err *err)
{
	static const char *const streams[] = { "stdout", "stderr" };
	const struct json_value *outcome = json_read_member(output, "outcome");
	int64_t code = 0;
	char status[40];

	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		size_t len = 0;
		const char *words = json_read_text(json_read_member(output, streams[i]), &len);

		if (words != NULL && len > 0 && buf_add_line(text, words, len, err) < 0)
			return (int)err->code;
	}
	if (is(outcome, "timeout"))
		return buf_add_line(text, "[timed out]", 11, err);
	if (!json_read_int(json_read_member(outcome, "exit_code"), &code) || code == 0)
		return 0;
	(void)snprintf(status, sizeof(status), "[exit status %lld]", (long long)code);
	return buf_add_line(text, status, strlen(status), err);
}

static int take_commands_output(const struct json_value *item, struct transcript *transcript,
				struct err *err)
{
	const struct json_value *output = json_read_member(item, "output");
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *id = json_get_text(item, "call_id");

	if (id == NULL || json_read_kind(output) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID,
			       "shell_call_output: call_id and output are needed");
	for (size_t i = 0; i < json_read_count(output); i++)
		if (add_command_output(json_read_at(output, i), &text, err) < 0)
			return (int)err->code;
	return transcript_result(transcript, id, buf_text(&text), text.len, err);
}

/* Drops the visible reasoning; the sealed part goes back to its model. */
static int take_thoughts(const struct json_value *item, struct transcript *transcript,
			 struct err *err)
{
	size_t len;
	const char *sealed = json_read_text(json_read_member(item, "encrypted_content"), &len);

	return sealed != NULL ? transcript_sealed(transcript, sealed, len, err) : 0;
}

static int take_item(const struct json_value *given, struct order *order,
		     struct transcript *transcript, struct err *err)
{
	const struct json_value *item = references_item(order, given);

	if (is(item, "message"))
		return take_message(item, order, transcript, err);
	if (is(item, "function_call"))
		return take_call(item, transcript, err);
	if (is(item, "function_call_output"))
		return take_output(item, order, transcript, err);
	if (is(item, "code_interpreter_call"))
		return take_cell(item, transcript, err);
	if (is(item, "shell_call"))
		return take_commands(item, transcript, err);
	if (is(item, "shell_call_output"))
		return take_commands_output(item, transcript, err);
	if (is(item, "reasoning"))
		return take_thoughts(item, transcript, err);
	return err_set(err, ERR_INVALID, "an item of type '%.60s' is not supported here",
		       type_of(item));
}

int input_write(const struct json_value *input, struct order *order, struct transcript *transcript,
		struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	size_t len;
	const char *words = json_read_text(input, &len);

	for (size_t i = 0; i < order->earlier_count; i++)
		if (take_item(json_read_member(order->earlier[i], "object"), order, transcript,
			      err) < 0)
			return err_wrap(err, "conversation: item %zu", i);
	if (order->earlier_count > 0 && transcript_close(transcript, err) < 0)
		return (int)err->code;
	if (words != NULL)
		return buf_add(&text, words, len, err) < 0
			       ? (int)err->code
			       : transcript_user(transcript, "user", &text, NULL, 0, err);
	if (json_read_kind(input) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "input: a string or an array of items");
	for (size_t i = 0; i < json_read_count(input); i++)
		if (take_item(json_read_at(input, i), order, transcript, err) < 0)
			return err_wrap(err, "input[%zu]", i);
	return transcript_close(transcript, err);
}
