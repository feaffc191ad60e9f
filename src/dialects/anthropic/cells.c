/*
 * cells.c - the two blocks of a cell: its code and its result.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    code of a model, records of hostile programs.
 * Never:    shows a file that the record does not name.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/anthropic/anthropic.h"

#define CONTENT_MAX ((size_t)64 * 1024 * 1024)
#define ID_OF_CELL "srvtoolu_"

/* Names of the tools and their results, by enum anthropic_tool. */
#define NAME(name)                                                                               \
	{ name, name "_tool_result", name "_tool_result_error", name "_result", name "_output" }
static const struct words {
	const char *call, *result, *error, *done, *output;
} words_of[] = {
	[ANTHROPIC_NO_CODE] = NAME("code_execution"),
	[ANTHROPIC_PYTHON] = NAME("code_execution"),
	[ANTHROPIC_BASH] = NAME("bash_code_execution"),
	[ANTHROPIC_EDITOR] = NAME(ANTHROPIC_EDITOR_NAME),
};
#undef NAME

static const char *id_of(const char *execution, char ret[NAME_SIZE])
{
	if (execution == NULL || !name_swap(execution, "ex_", ID_OF_CELL, ret, NAME_SIZE))
		(void)snprintf(ret, NAME_SIZE, ID_OF_CELL "0");
	return ret;
}

static int write_code(const struct run_event *cell, bool is_bash, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, is_bash ? "command" : "code", cell->text, cell->len);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int blocks_cell(struct blocks *blocks, enum anthropic_tool tool, const struct run_event *cell,
		enum anthropic_tool *ret_shown)
{
	cleanup_buf struct buf input = BUF_INIT(CONTENT_MAX);
	char id[NAME_SIZE];
	struct err err;

	*ret_shown = editor_input(cell->text, cell->len, &input) ? ANTHROPIC_EDITOR : tool;
	if (*ret_shown != ANTHROPIC_EDITOR) {
		buf_clear(&input);
		if (write_code(cell, tool == ANTHROPIC_BASH, &input, &err) < 0)
			return blocks_give_up(blocks);
	}
	return blocks_call(blocks, &(struct block_call){ .type = "server_tool_use",
							 .id = id_of(cell->execution, id),
							 .name = words_of[*ret_shown].call,
							 .input = input.data,
							 .len = input.len });
}

static void write_output(struct json_writer *json, const char *type, const char *artifact,
			 const char *path)
{
	char id[NAME_SIZE];

	if (artifact == NULL || !name_of_artifact(ANTHROPIC_FILE, artifact, path, id, sizeof(id)))
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "type", type);
	json_write_member_string(json, "file_id", id);
	json_write_object_end(json);
}

/* Writes displayed figures, then files that the cell wrote. */
static void write_outputs(struct json_writer *json, const char *type,
			  const struct json_value *record)
{
	const struct json_value *results = json_read_member(record, "results");
	const struct json_value *files = json_read_member(record, "files");

	for (size_t i = 0; i < json_read_count(results); i++) {
		const struct json_value *images =
			json_read_member(json_read_at(results, i), "artifacts");
		char name[40];

		(void)snprintf(name, sizeof(name), "figure-%zu.png", i + 1);
		write_output(json, type,
			     json_read_text(json_read_member(images, "image/png"), NULL), name);
	}
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);

		write_output(json, type,
			     json_read_text(json_read_member(file, "artifact"), NULL),
			     json_read_text(json_read_member(file, "path"), NULL));
	}
}

/* Writes the cell's value after the printed text, as in a notebook. */
static void write_stdout(struct json_writer *json, const struct json_value *record,
			 struct buf *text)
{
	const struct json_value *results = json_read_member(record, "results");
	size_t len = 0;
	const char *printed = json_read_text(json_read_member(record, "stdout"), &len);
	struct err full;

	(void)buf_add(text, printed != NULL ? printed : "", len, &full);
	for (size_t i = 0; i < json_read_count(results); i++) {
		const struct json_value *result = json_read_at(results, i);
		const char *plain = json_read_text(
			json_read_member(json_read_member(result, "data"), "text/plain"), &len);
		bool is_main = false;

		(void)json_read_bool(json_read_member(result, "is_main_result"), &is_main);
		if (is_main && plain != NULL) {
			(void)buf_add(text, plain, len, &full);
			(void)buf_addc(text, '\n', &full);
		}
	}
	json_write_member_text(json, "stdout", buf_text(text), text->len);
}

static void write_stderr(struct json_writer *json, const struct json_value *record,
			 struct buf *text)
{
	const struct json_value *error = json_read_member(record, "error");
	size_t len = 0;
	const char *printed = json_read_text(json_read_member(record, "stderr"), &len);
	const char *trace;
	struct err full;

	(void)buf_add(text, printed != NULL ? printed : "", len, &full);
	trace = json_read_text(json_read_member(error, "traceback"), &len);
	if (trace == NULL || len == 0)
		trace = json_read_text(json_read_member(error, "value"), &len);
	if (trace != NULL)
		(void)buf_add(text, trace, len, &full);
	json_write_member_text(json, "stderr", buf_text(text), text->len);
}

static const char *error_code(const char *status)
{
	if (strcmp(status, "timeout") == 0)
		return "execution_time_exceeded";
	if (strcmp(status, "infra_error") == 0)
		return "unavailable";
	return NULL;
}

static void write_record(struct json_writer *json, enum anthropic_tool tool,
			 const struct json_value *record)
{
	const char *status = json_read_text(json_read_member(record, "status"), NULL);
	const char *error = record == NULL || status == NULL ? "unavailable" : error_code(status);
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX), err = BUF_INIT(CONTENT_MAX);

	json_write_object_begin(json);
	if (tool == ANTHROPIC_EDITOR) {
		if (error != NULL)
			editor_write_error(json, error, NULL);
		else
			editor_write_result(json, record);
	} else if (error != NULL) {
		json_write_member_string(json, "type", words_of[tool].error);
		json_write_member_string(json, "error_code", error);
	} else {
		json_write_member_string(json, "type", words_of[tool].done);
		write_stdout(json, record, &out);
		write_stderr(json, record, &err);
		json_write_member_uint(json, "return_code", strcmp(status, "ok") != 0);
		json_write_key(json, "content");
		json_write_array_begin(json);
		write_outputs(json, words_of[tool].output, record);
		json_write_array_end(json);
	}
	json_write_object_end(json);
}

static int add_result(struct blocks *blocks, enum anthropic_tool tool, const char *id,
		      const struct json_value *record)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", words_of[tool].result);
	json_write_member_string(&json, "tool_use_id", id);
	json_write_key(&json, "content");
	write_record(&json, tool, record);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? blocks_give_up(blocks)
						  : blocks_whole(blocks, &out);
}

int blocks_record(struct blocks *blocks, enum anthropic_tool shown, const struct run_event *record)
{
	char id[NAME_SIZE];

	return add_result(blocks, shown, id_of(record->execution, id), record->json);
}

int blocks_lost(struct blocks *blocks, enum anthropic_tool tool, const char *cell)
{
	return add_result(blocks, tool, cell, NULL);
}
