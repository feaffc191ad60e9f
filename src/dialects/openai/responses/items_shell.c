/*
 * items_shell.c - commands of a shell as items: the call, and the output of its commands.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    commands of a model, records of hostile programs.
 * Never:    shows more of an output than the model requested.
 *
 * Each command is an execution; the first one also has the call's fields. So the call is one item,
 * complete before any command runs, and its output is the next item, which grows with each record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "codec/json_write.h"
#include "dialects/openai/responses/items.h"

#define COMMANDS_MAX 64u /* per call; the event contains the model's text */

static const char *text_of(const struct json_value *object, const char *key, size_t *ret_len)
{
	return json_read_text(json_read_member(object, key), ret_len);
}

/* ---- the call ------------------------------------------------------------------------------- */

static void write_action(struct json_writer *json, const struct json_value *call, bool is_whole)
{
	const struct json_value *commands = json_read_member(call, "commands");

	json_write_key(json, "action");
	json_write_object_begin(json);
	json_write_key(json, "commands");
	json_write_array_begin(json);
	for (size_t i = 0; is_whole && i < json_read_count(commands); i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_at(commands, i), &len);

		json_write_text(json, text != NULL ? text : "", len);
	}
	json_write_array_end(json);
	json_write_member_limit(json, "timeout_ms", json_get_count(call, "timeout_ms"));
	json_write_member_limit(json, "max_output_length",
				json_get_count(call, "max_output_length"));
	json_write_object_end(json);
}

static void write_environment(const struct items *items, struct json_writer *json)
{
	char container[NAME_SIZE];

	json_write_key(json, "environment");
	json_write_object_begin(json);
	if (items->order->shell_is_local) {
		json_write_member_string(json, "type", "local");
	} else {
		items_container(items, container);
		json_write_member_string(json, "type", "container_reference");
		json_write_member_string(json, "container_id", container);
	}
	json_write_object_end(json);
}

static int write_call(const struct items *items, const char *call_id,
		      const struct json_value *call, bool is_whole, struct buf *ret)
{
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	items_id(items, "sh_", id);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "shell_call");
	json_write_member_string(&json, "status", is_whole ? "completed" : "in_progress");
	json_write_member_string(&json, "call_id", call_id);
	write_action(&json, call, is_whole);
	write_environment(items, &json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? items_give_up(items) : 0;
}

static int send_command(struct items *items, const char *type, size_t index, const char *key,
			const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	items_event_of(items, &json, &out, type, NULL);
	json_write_member_uint(&json, "command_index", index);
	json_write_member_text(&json, key, text, len);
	return items_event_end(items, &json, type);
}

static int send_commands(struct items *items, const struct json_value *commands)
{
	for (size_t i = 0; i < json_read_count(commands); i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_at(commands, i), &len);

		if (text == NULL)
			text = "";
		if (send_command(items, "response.shell_call_command.added", i, "command", "", 0) <
			    0 ||
		    send_command(items, "response.shell_call_command.delta", i, "delta", text,
				 len) < 0 ||
		    send_command(items, "response.shell_call_command.done", i, "command", text,
				 len) < 0)
			return -1;
	}
	return 0;
}

/* Adds the call's item from beginning to end. */
static int add_call(struct items *items, const char *call_id, const struct json_value *call)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX), done = BUF_INIT(OPENAI_OUT_MAX);

	if (write_call(items, call_id, call, false, &item) < 0 ||
	    write_call(items, call_id, call, true, &done) < 0)
		return -1;
	if (items->is_stream &&
	    (items_send(items, "response.output_item.added", &item) < 0 ||
	     send_commands(items, json_read_member(call, "commands")) < 0))
		return -1;
	return items_finish(items, &done, &done);
}

int items_local_commands(struct items *items, const struct json_value *call)
{
	const char *id = text_of(call, "id", NULL);

	return add_call(items, id != NULL ? id : "", json_read_member(call, "arguments"));
}

/* ---- its output ----------------------------------------------------------------------------- */

static int write_output(const struct items *items, const char *status, struct buf *ret)
{
	const struct items_shell *shell = &items->shell;
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	items_id(items, "sho_", id);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "shell_call_output");
	json_write_member_string(&json, "status", status);
	json_write_member_string(&json, "call_id", shell->call_id);
	json_write_member_limit(&json, "max_output_length", shell->output_max);
	json_write_key(&json, "output");
	json_write_array_begin(&json);
	if (shell->output.len > 0)
		json_write_raw(&json, shell->output.data, shell->output.len);
	json_write_array_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? items_give_up(items) : 0;
}

static int begin_call(struct items *items, const struct json_value *call)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);
	struct items_shell *shell = &items->shell;

	items_id(items, "call_", shell->call_id);
	if (add_call(items, shell->call_id, call) < 0)
		return -1;
	shell->count = json_get_count(call, "count");
	if (shell->count > COMMANDS_MAX)
		shell->count = COMMANDS_MAX;
	shell->output_max = json_get_count(call, "max_output_length");
	shell->output_count = 0;
	buf_clear(&shell->output);
	items->open = ITEM_SHELL;
	if (!items->is_stream)
		return 0;
	return write_output(items, "in_progress", &item) < 0
		       ? -1
		       : items_send(items, "response.output_item.added", &item);
}

bool items_shell_goes_on(const struct items *items, const struct json_value *command)
{
	return items->open == ITEM_SHELL && json_get_count(command, "index") > 0;
}

int items_command(struct items *items, const struct json_value *command)
{
	const uint64_t index = json_get_count(command, "index");

	if (!items_shell_goes_on(items, command))
		return begin_call(items, command);
	/* Earlier commands that were not allowed to run have no output. */
	while (items->open == ITEM_SHELL && items->shell.output_count < index)
		if (items_command_record(items, NULL) < 0)
			return -1;
	return 0;
}

int items_close_shell(struct items *items)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);
	const bool is_whole = items->shell.output_count >= items->shell.count;

	items->open = ITEM_NONE;
	if (write_output(items, is_whole ? "completed" : "incomplete", &item) < 0)
		return -1;
	return items_finish(items, &item, &item);
}

/* ---- of one command ------------------------------------------------------------------------- */

/* The number of bytes in `most` characters, or in all. */
static size_t bytes_of(const char *text, size_t len, uint64_t most)
{
	size_t at = 0;

	for (uint64_t count = 0; at < len; at++)
		if (((unsigned char)text[at] & 0xc0) != 0x80 && ++count > most)
			break;
	return at;
}

static uint64_t characters(const char *text, size_t len)
{
	uint64_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

struct streams {
	const char *out, *err;
	size_t out_len, err_len;
};

static const char *stream_of(const struct json_value *record, const char *name, size_t *ret_len)
{
	const char *text = text_of(record, name, ret_len);

	if (text == NULL)
		*ret_len = 0;
	return text != NULL ? text : "";
}

/* Takes as much as the model requested, of both streams together. */
static void take_streams(const struct json_value *record, uint64_t most, struct streams *ret)
{
	static const char lost[] = "the command could not be run";

	ret->out = stream_of(record, "stdout", &ret->out_len);
	ret->err = stream_of(record, "stderr", &ret->err_len);
	if (record == NULL) {
		ret->err = lost;
		ret->err_len = sizeof(lost) - 1;
	}
	if (most == 0)
		return;
	ret->out_len = bytes_of(ret->out, ret->out_len, most);
	ret->err_len = bytes_of(ret->err, ret->err_len, most - characters(ret->out, ret->out_len));
}

/* The exit status is in the shell's error; without one the shell was killed. */
static uint64_t exit_code_of(const struct json_value *record)
{
	const char *status = text_of(record, "status", NULL);
	const char *value = text_of(json_read_member(record, "error"), "value", NULL);
	char *end = NULL;
	const unsigned long code = value != NULL ? strtoul(value, &end, 10) : 0;

	if (status != NULL && strcmp(status, "ok") == 0)
		return 0;
	if (end != NULL && end != value && *end == '\0' && code > 0 && code < 256)
		return code;
	if (status != NULL && strcmp(status, "interrupted") == 0)
		return 130;
	return status != NULL && strcmp(status, "error") != 0 ? 137 : 1;
}

static void write_content(struct json_writer *json, const struct json_value *record,
			  const struct streams *streams)
{
	const char *status = text_of(record, "status", NULL);

	json_write_object_begin(json);
	json_write_member_text(json, "stdout", streams->out, streams->out_len);
	json_write_member_text(json, "stderr", streams->err, streams->err_len);
	json_write_key(json, "outcome");
	json_write_object_begin(json);
	if (status != NULL && strcmp(status, "timeout") == 0) {
		json_write_member_string(json, "type", "timeout");
	} else {
		json_write_member_string(json, "type", "exit");
		json_write_member_uint(json, "exit_code", exit_code_of(record));
	}
	json_write_object_end(json);
	json_write_object_end(json);
}

static int send_delta(struct items *items, const char *id, const struct streams *streams)
{
	static const char type[] = "response.shell_call_output_content.delta";
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	if (streams->out_len == 0 && streams->err_len == 0)
		return 0;
	items_event_of(items, &json, &out, type, id);
	json_write_member_uint(&json, "command_index", items->shell.output_count);
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	if (streams->out_len > 0)
		json_write_member_text(&json, "stdout", streams->out, streams->out_len);
	if (streams->err_len > 0)
		json_write_member_text(&json, "stderr", streams->err, streams->err_len);
	json_write_object_end(&json);
	return items_event_end(items, &json, type);
}

static int send_content(struct items *items, const struct streams *streams,
			const struct buf *content)
{
	static const char type[] = "response.shell_call_output_content.done";
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;
	char id[NAME_SIZE];

	items_id(items, "sho_", id);
	if (send_delta(items, id, streams) < 0)
		return -1;
	items_event_of(items, &json, &out, type, id);
	json_write_member_uint(&json, "command_index", items->shell.output_count);
	json_write_key(&json, "output");
	json_write_array_begin(&json);
	json_write_raw(&json, buf_text(content), content->len);
	json_write_array_end(&json);
	return items_event_end(items, &json, type);
}

int items_command_record(struct items *items, const struct json_value *record)
{
	cleanup_buf struct buf content = BUF_INIT(OPENAI_OUT_MAX);
	struct items_shell *shell = &items->shell;
	struct streams streams;
	struct json_writer json;
	struct err err;

	take_streams(record, shell->output_max, &streams);
	json_write_init(&json, &content);
	write_content(&json, record, &streams);
	if (json_write_finish(&json, &err) < 0 ||
	    (shell->output.len > 0 && buf_addc(&shell->output, ',', &err) < 0) ||
	    buf_add(&shell->output, content.data, content.len, &err) < 0)
		return items_give_up(items);
	if (items->is_stream && send_content(items, &streams, &content) < 0)
		return -1;
	return ++shell->output_count < shell->count ? 0 : items_close_shell(items);
}
