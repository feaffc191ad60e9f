/*
 * commands.c - parses a call of the shell tool into commands.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    arguments that a model wrote.
 * Never:    accepts more commands than a frame can number, or one with a NUL character.
 */
#include "agent/conversation/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"

#define TIMEOUT_MAX_MS (UINT64_C(24) * 3600 * 1000)
#define OUTPUT_MAX (1u * 1024u * 1024u)

void commands_done(struct commands *commands)
{
	for (size_t i = 0; i < commands->count; i++)
		free(commands->texts[i]);
	free(commands->texts);
	*commands = (struct commands){ 0 };
}

static int add(struct commands *commands, const struct json_value *value, struct err *err)
{
	size_t len;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "\"commands\" is an array of texts");
	if (len == 0 || memchr(text, '\0', len) != NULL)
		return err_set(err, ERR_INVALID, "a command is empty, or holds a NUL character");
	if (len > AGENT_CODE_MAX)
		return err_set(err, ERR_INVALID, "a command is too long");
	if (commands->count == AGENT_COMMANDS_MAX)
		return err_set(err, ERR_INVALID, "a call has at most %u commands",
			       AGENT_COMMANDS_MAX);
	commands->texts =
		mem_grow(commands->texts, commands->count + 1, sizeof(*commands->texts));
	commands->texts[commands->count++] = mem_strdup(text);
	return 0;
}

static uint64_t bounded(const struct json_value *object, const char *key, uint64_t max)
{
	int64_t value = 0;

	(void)json_read_int(json_read_member(object, key), &value);
	if (value <= 0)
		return 0;
	return (uint64_t)value < max ? (uint64_t)value : max;
}

/* Models also use the arguments of other shell tools: one command as a string. */
static const struct json_value *find(const struct json_value *arguments)
{
	static const char *const keys[] = { "commands", "command", "cmd", "code" };
	const struct json_value *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(keys) && found == NULL; i++)
		found = json_read_member(arguments, keys[i]);
	return found;
}

int commands_read(const struct json_value *arguments, struct commands *ret, struct err *err)
{
	const struct json_value *action = json_read_member(arguments, "action");
	const struct json_value *commands;

	if (json_read_kind(action) == JSON_KIND_OBJECT)
		arguments = action;
	commands = find(arguments);
	ret->timeout_ms = bounded(arguments, "timeout_ms", TIMEOUT_MAX_MS);
	ret->output_max = bounded(arguments, "max_output_length", OUTPUT_MAX);
	if (json_read_kind(commands) == JSON_KIND_STRING)
		return add(ret, commands, err);
	for (size_t i = 0; i < json_read_count(commands); i++)
		if (add(ret, json_read_at(commands, i), err) < 0)
			return (int)err->code;
	if (ret->count == 0)
		return err_set(err, ERR_INVALID,
			       "the arguments are an object with an array \"commands\"");
	return 0;
}

int commands_join(const struct commands *commands, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < commands->count; i++)
		if (buf_adds(ret, commands->texts[i], err) < 0 || buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
	return 0;
}

int commands_describe(const struct commands *commands, size_t index, struct buf *ret,
		      struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_uint(&writer, "index", index);
	json_write_member_uint(&writer, "count", commands->count);
	if (index == 0) {
		json_write_key(&writer, "commands");
		json_write_array_begin(&writer);
		for (size_t i = 0; i < commands->count; i++)
			json_write_string(&writer, commands->texts[i]);
		json_write_array_end(&writer);
		json_write_member_limit(&writer, "timeout_ms", commands->timeout_ms);
		json_write_member_limit(&writer, "max_output_length", commands->output_max);
	}
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}
