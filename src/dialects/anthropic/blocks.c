/*
 * blocks.c - the blocks of a message's content: sent one by one, or put together.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    words of a model, records of hostile programs.
 * Never:    leaves a block open that another one follows.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/anthropic/anthropic.h"

#define CONTENT_MAX ((size_t)64 * 1024 * 1024)
#define EVENT_MAX ((size_t)32 * 1024 * 1024)
#define ID_OF_CELL "srvtoolu_"

void blocks_init(struct blocks *blocks, struct request *request, bool is_stream)
{
	*blocks = (struct blocks){ .request = request,
				   .is_stream = is_stream,
				   .text = BUF_INIT(CONTENT_MAX),
				   .signature = BUF_INIT(SEALED_MAX * 2),
				   .content = BUF_INIT(CONTENT_MAX) };
}

void blocks_done(struct blocks *blocks)
{
	buf_done(&blocks->text);
	buf_done(&blocks->signature);
	buf_done(&blocks->content);
}

static int give_up(const struct blocks *blocks)
{
	answer_break_off(blocks->request);
	return -1;
}

/* ---- events --------------------------------------------------------------------------------- */

static void begin_event(struct json_writer *json, struct buf *out, const char *type,
			unsigned index)
{
	json_write_init(json, out);
	json_write_object_begin(json);
	json_write_member_string(json, "type", type);
	json_write_member_uint(json, "index", index);
}

static int end_event(const struct blocks *blocks, struct json_writer *json, const char *type)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return give_up(blocks);
	return sse_event(blocks->request, 0, type, json->out->data, json->out->len);
}

static int send_start(const struct blocks *blocks, const char *block, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(EVENT_MAX);
	struct json_writer json;

	begin_event(&json, &out, "content_block_start", blocks->count);
	json_write_key(&json, "content_block");
	json_write_raw(&json, block, len);
	return end_event(blocks, &json, "content_block_start");
}

static int send_delta(const struct blocks *blocks, const char *type, const char *key,
		      const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(EVENT_MAX);
	struct json_writer json;

	begin_event(&json, &out, "content_block_delta", blocks->count);
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", type);
	json_write_member_text(&json, key, text, len);
	json_write_object_end(&json);
	return end_event(blocks, &json, "content_block_delta");
}

static int send_stop(struct blocks *blocks)
{
	cleanup_buf struct buf out = BUF_INIT(128);
	struct json_writer json;

	begin_event(&json, &out, "content_block_stop", blocks->count);
	blocks->count++;
	return end_event(blocks, &json, "content_block_stop");
}

/* ---- blocks --------------------------------------------------------------------------------- */

int blocks_whole(struct blocks *blocks, const struct buf *json)
{
	struct err err;

	if (blocks_close(blocks) < 0)
		return -1;
	if (blocks->is_stream)
		return send_start(blocks, buf_text(json), json->len) < 0 ? -1 : send_stop(blocks);
	if ((blocks->content.len > 0 && buf_addc(&blocks->content, ',', &err) < 0) ||
	    buf_add(&blocks->content, json->data, json->len, &err) < 0)
		return give_up(blocks);
	blocks->count++;
	return 0;
}

static const char *open_block(enum block_kind kind)
{
	return kind == BLOCK_TEXT
		       ? "{\"type\":\"text\",\"text\":\"\",\"citations\":null}"
		       : "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}";
}

int blocks_text(struct blocks *blocks, enum block_kind kind, const char *text, size_t len)
{
	const bool is_text = kind == BLOCK_TEXT;
	struct err err;

	if (blocks->open != kind) {
		if (blocks_close(blocks) < 0 ||
		    (blocks->is_stream &&
		     send_start(blocks, open_block(kind), strlen(open_block(kind))) < 0))
			return -1;
		blocks->open = kind;
	}
	if (blocks->is_stream)
		return send_delta(blocks, is_text ? "text_delta" : "thinking_delta",
				  is_text ? "text" : "thinking", text, len);
	return buf_add(&blocks->text, text, len, &err) < 0 ? give_up(blocks) : 0;
}

static int close_whole(struct blocks *blocks, bool is_text)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", is_text ? "text" : "thinking");
	json_write_member_text(&json, is_text ? "text" : "thinking", buf_text(&blocks->text),
			       blocks->text.len);
	if (is_text) {
		json_write_key(&json, "citations");
		json_write_null(&json);
	} else {
		json_write_member_string(&json, "signature", buf_text(&blocks->signature));
	}
	json_write_object_end(&json);
	buf_clear(&blocks->text);
	buf_clear(&blocks->signature);
	return json_write_finish(&json, &err) < 0 ? give_up(blocks) : blocks_whole(blocks, &out);
}

int blocks_close(struct blocks *blocks)
{
	const enum block_kind open = blocks->open;

	if (open == BLOCK_NONE)
		return 0;
	blocks->open = BLOCK_NONE;
	return blocks->is_stream ? send_stop(blocks) : close_whole(blocks, open == BLOCK_TEXT);
}

static int add_redacted(struct blocks *blocks, const struct buf *data)
{
	cleanup_buf struct buf out = BUF_INIT(SEALED_MAX * 2 + 64);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "redacted_thinking");
	json_write_member_string(&json, "data", buf_text(data));
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? give_up(blocks) : blocks_whole(blocks, &out);
}

int blocks_sealed(struct blocks *blocks, const struct json_value *sealed)
{
	cleanup_buf struct buf text = BUF_INIT(SEALED_MAX * 2);
	struct err err;

	if (sealed_text(sealed, &text, &err) < 0)
		return 0; /* it does not go back */
	if (blocks->open != BLOCK_THINKING)
		return add_redacted(blocks, &text);
	if (blocks->is_stream)
		return send_delta(blocks, "signature_delta", "signature", text.data, text.len) < 0
			       ? -1
			       : blocks_close(blocks);
	if (buf_add(&blocks->signature, text.data, text.len, &err) < 0)
		return give_up(blocks);
	return blocks_close(blocks);
}

static void write_caller(struct json_writer *json, const struct block_call *call)
{
	json_write_key(json, "caller");
	json_write_object_begin(json);
	json_write_member_string(json, "type", call->caller != NULL ? call->caller : "direct");
	if (call->caller != NULL)
		json_write_member_string(json, "tool_id", call->cell);
	json_write_object_end(json);
}

int blocks_call(struct blocks *blocks, const struct block_call *call)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", call->type);
	json_write_member_string(&json, "id", call->id);
	json_write_member_string(&json, "name", call->name);
	json_write_key(&json, "input");
	if (blocks->is_stream)
		json_write_raw(&json, "{}", 2);
	else
		json_write_raw(&json, call->input, call->len);
	write_caller(&json, call);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return give_up(blocks);
	if (!blocks->is_stream)
		return blocks_whole(blocks, &out);
	if (blocks_close(blocks) < 0 || send_start(blocks, out.data, out.len) < 0 ||
	    send_delta(blocks, "input_json_delta", "partial_json", "", 0) < 0 ||
	    send_delta(blocks, "input_json_delta", "partial_json", call->input, call->len) < 0)
		return -1;
	return send_stop(blocks);
}

/* ---- cells ---------------------------------------------------------------------------------- */

static const char *id_of(const char *execution, char ret[NAME_SIZE])
{
	if (execution == NULL || !name_swap(execution, "ex_", ID_OF_CELL, ret, NAME_SIZE))
		(void)snprintf(ret, NAME_SIZE, ID_OF_CELL "0");
	return ret;
}

int blocks_cell(struct blocks *blocks, enum anthropic_tool tool, const struct run_event *cell)
{
	cleanup_buf struct buf input = BUF_INIT(CONTENT_MAX);
	const bool is_bash = tool == ANTHROPIC_BASH;
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	json_write_init(&json, &input);
	json_write_object_begin(&json);
	json_write_member_text(&json, is_bash ? "command" : "code", cell->text, cell->len);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return give_up(blocks);
	return blocks_call(blocks, &(struct block_call){ .type = "server_tool_use",
							 .id = id_of(cell->execution, id),
							 .name = is_bash ? "bash_code_execution"
									 : "code_execution",
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

/* Figures that were displayed, then files that were left. */
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

/* The value of the cell stands behind what it printed, as in a notebook. */
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

static void write_record(struct json_writer *json, bool is_bash, const struct json_value *record)
{
	const char *status = json_read_text(json_read_member(record, "status"), NULL);
	const char *error = record == NULL || status == NULL ? "unavailable" : error_code(status);
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX), err = BUF_INIT(CONTENT_MAX);

	json_write_object_begin(json);
	if (error != NULL) {
		json_write_member_string(json, "type",
					 is_bash ? "bash_code_execution_tool_result_error"
						 : "code_execution_tool_result_error");
		json_write_member_string(json, "error_code", error);
		json_write_object_end(json);
		return;
	}
	json_write_member_string(json, "type", is_bash ? "bash_code_execution_result"
						       : "code_execution_result");
	write_stdout(json, record, &out);
	write_stderr(json, record, &err);
	json_write_member_uint(json, "return_code", strcmp(status, "ok") != 0);
	json_write_key(json, "content");
	json_write_array_begin(json);
	write_outputs(json, is_bash ? "bash_code_execution_output" : "code_execution_output",
		      record);
	json_write_array_end(json);
	json_write_object_end(json);
}

static int add_result(struct blocks *blocks, bool is_bash, const char *id,
		      const struct json_value *record)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", is_bash ? "bash_code_execution_tool_result"
							: "code_execution_tool_result");
	json_write_member_string(&json, "tool_use_id", id);
	json_write_key(&json, "content");
	write_record(&json, is_bash, record);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? give_up(blocks) : blocks_whole(blocks, &out);
}

int blocks_record(struct blocks *blocks, enum anthropic_tool tool, const struct run_event *record)
{
	char id[NAME_SIZE];

	return add_result(blocks, tool == ANTHROPIC_BASH, id_of(record->execution, id),
			  record->json);
}

int blocks_lost(struct blocks *blocks, enum anthropic_tool tool, const char *cell)
{
	return add_result(blocks, tool == ANTHROPIC_BASH, cell, NULL);
}
