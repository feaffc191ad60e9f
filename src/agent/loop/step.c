/*
 * step.c - runs the cells, commands and calls of a model's answer.
 *
 * Runs in:  reckon-agent.
 * Reads:    calls, code blocks and JSON objects of a model.
 * Never:    runs anything itself: it asks its parent, which may ask the person.
 */
#include <stdio.h>
#include <string.h>

#include "agent/conversation/tool_cell.h"
#include "agent/formats/fenced.h"
#include "agent/loop/check.h"
#include "agent/loop/step.h"
#include "codec/json_read.h"

#define NAME_SHOWN_MAX 40u

static void source_init(struct source *source)
{
	source->code = BUF_INIT(AGENT_CODE_MAX);
	source->is_reading = source->is_shell = false;
	source->commands = (struct commands){ 0 };
	source->problem[0] = '\0';
}

static void source_done(struct source *source)
{
	commands_done(&source->commands);
	buf_done(&source->code);
}

static void complain(struct source *source, const char *text)
{
	(void)snprintf(source->problem, sizeof(source->problem), "%s", text);
}

/* Keeps the request's text as the code, to recognise repeated requests. */
static int set_reading(struct source *source, const char *words, size_t len, int rc,
		       const struct err *why, struct err *err)
{
	source->is_reading = rc == 0;
	if (rc < 0)
		(void)snprintf(source->problem, sizeof(source->problem), "Error: %s", why->text);
	return buf_add(&source->code, words, len, err);
}

static int set_commands(struct source *source, const struct model_call *call,
			const struct json_value *arguments, struct err *err)
{
	struct err why;

	source->is_shell = commands_read(arguments, &source->commands, &why) == 0;
	if (source->is_shell)
		return commands_join(&source->commands, &source->code, err);
	(void)snprintf(source->problem, sizeof(source->problem), "Error: %s", why.text);
	return buf_add(&source->code, buf_text(&call->args), call->args.len, err);
}

/* The argument `code`, or else the only string among the arguments. */
static const char *find_code(const struct json_value *args, size_t *ret_len)
{
	const char *code = json_read_text(json_read_member(args, "code"), ret_len), *only = NULL,
		   *key;
	const struct json_value *value;
	size_t texts = 0;

	if (code != NULL)
		return code;
	for (size_t i = 0; json_read_member_at(args, i, &key, &value); i++) {
		size_t len;
		const char *text = json_read_text(value, &len);

		if (text == NULL)
			continue;
		texts++;
		only = text;
		*ret_len = len;
	}
	return texts == 1 ? only : NULL;
}

static int set_code(struct source *source, const char *code, size_t len, const char *language,
		    struct err *err)
{
	struct fenced block;
	struct err why;

	/* Some models put a fence inside the argument. */
	if (fenced_find(code, len, language, &block) && block.start == 0 && block.end == len) {
		code += block.code;
		len = block.code_len;
	}
	if (len == 0)
		complain(source, "Error: there was no code in this call; put it into \"code\".");
	else if (memchr(code, '\0', len) != NULL)
		complain(source, "Error: the code holds a NUL character; write it as \\x00.");
	else if (len > AGENT_CODE_MAX)
		complain(source, "Error: the code is too long; write it in smaller cells.");
	else if (reading_is(code, len))
		return set_reading(source, code, len,
				   reading_of_words(code, len, &source->reading, &why), &why, err);
	else
		return buf_add(&source->code, code, len, err);
	return 0;
}

/* Some models write the namespace that a server puts before tool names. */
static const char *plain_name(const struct model_call *call)
{
	static const char space[] = "functions.";
	const size_t len = sizeof(space) - 1;

	return strncmp(call->name, space, len) == 0 ? call->name + len : call->name;
}

/* A call without a name means the only tool that runs code. */
static bool is_code_tool(const struct loop *loop, const struct model_call *call)
{
	const struct model_tool *code = model_conversation_code_tool(&loop->conv);

	return code != NULL &&
	       (call->name[0] == '\0' || strcmp(plain_name(call), code->name) == 0);
}

/* Arguments of an unknown tool must not be run as code. */
static int complain_of_name(const struct loop *loop, const struct model_call *call,
			    struct source *source, struct err *err)
{
	const size_t count = loop->conv.tool_count;
	char shown[NAME_SHOWN_MAX + 1];
	size_t len = 0, at;

	for (; len < NAME_SHOWN_MAX && call->name[len] != '\0'; len++)
		shown[len] =
			call->name[len] > ' ' && call->name[len] < 0x7f ? call->name[len] : '?';
	shown[len] = '\0';
	at = (size_t)snprintf(source->problem, sizeof(source->problem),
			      "Error: there is no tool \"%s\", so nothing was run; the tools are",
			      shown);
	/* Lists as many names as fit. */
	for (size_t i = 0; i < count; i++) {
		const char *name = loop->conv.tools[i].name;
		const char *before = i == 0 ? " " : i + 1 == count ? " and " : ", ";

		if (at + strlen(name) + 8 < sizeof(source->problem))
			at += (size_t)snprintf(source->problem + at, sizeof(source->problem) - at,
					       "%s%s", before, name);
	}
	return buf_add(&source->code, buf_text(&call->args), call->args.len, err);
}

static int source_of_arguments(const struct loop *loop, const struct model_call *call,
			       const struct json_value *args, struct source *source,
			       struct err *err)
{
	const struct model_tool *tool = model_conversation_tool(&loop->conv, plain_name(call));
	const char *code;
	struct err why;
	size_t len = 0;

	if (tool != NULL && tool->kind == MODEL_TOOL_CELL) {
		if (tool_cell_code(tool, &call->args, &source->code, &why) < 0)
			complain(source, "Error: the arguments are too long; use smaller ones.");
		return 0;
	}
	if (strcmp(plain_name(call), READING_TOOL) == 0 &&
	    model_conversation_tool(&loop->conv, READING_TOOL) != NULL &&
	    json_read_member(args, "code") == NULL)
		return set_reading(source, buf_text(&call->args), call->args.len,
				   reading_of_arguments(args, &source->reading, &why), &why, err);
	if (loop->conversation.runs_shell && strcmp(plain_name(call), COMMANDS_TOOL) == 0)
		return set_commands(source, call, args, err);
	if (!is_code_tool(loop, call))
		return complain_of_name(loop, call, source, err);
	code = find_code(args, &len);
	if (code != NULL)
		return set_code(source, code, len, loop->language, err);
	complain(source, "Error: the arguments must be an object with the one text \"code\".");
	return 0;
}

static int source_of_call(const struct loop *loop, const struct model_turn *turn,
			  const struct model_call *call, struct source *source, struct err *err)
{
	struct json_value *args = NULL;
	int rc;

	if (call->too_long) {
		complain(source, "Error: the code is too long; write it in smaller cells.");
		return 0;
	}
	if (turn->stop == MODEL_STOP_LENGTH && call == &turn->calls[turn->call_count - 1]) {
		complain(source, "Error: your answer was cut at its length limit, so this was not "
				 "run; write it in smaller cells.");
		return 0;
	}
	if (json_read_parse(buf_text(&call->args), call->args.len, MODEL_BLOB_MAX, &args, err) < 0)
		return (int)err->code;
	rc = source_of_arguments(loop, call, args, source, err);
	json_read_free(args);
	return rc;
}

/* A hash of the call as the model wrote it. */
static uint64_t repeat_of_refused(const struct model_call *call, const struct source *source)
{
	const struct buf *words = call != NULL ? &call->args : &source->code;

	return repeat_hash(buf_text(words), words->len);
}

/* Counts cells and calls together, against the application's limit. */
static bool is_out_of_calls(const struct loop *loop)
{
	return loop->conversation.calls_max > 0 && loop->calls >= loop->conversation.calls_max;
}

/* Runs one cell, or writes why it does not run. */
static int one(struct loop *loop, const struct model_call *call, struct source *source,
	       struct model_turn *results, struct loop_end *end, struct err *err)
{
	const uint64_t max = check_steps_max(loop);
	cleanup_buf struct buf note = BUF_INIT(NOTE_MAX + WORDS_MAX);
	unsigned count;

	if (source->problem[0] == '\0' && source->is_reading && loop->readings < max) {
		loop->calls_refused = 0;
		return outcome_read(loop, call, source, results, end, err);
	}
	if (source->problem[0] == '\0' && !source->is_reading &&
	    (loop->usage.steps < max || loop->conversation.pauses) && !is_out_of_calls(loop)) {
		loop->calls_refused = 0;
		loop->calls++;
		return source->is_shell
			       ? outcome_commands(loop, call, source, results, end, err)
			       : outcome_run(loop, call, source, results, end, err);
	}
	if (source->problem[0] == '\0') {
		loop->out_of_steps = true;
		if (buf_addf(&note, err, "Not run: the limit of %llu %s for this question is "
			     "reached. Answer now, with what you know, without running more.",
			     (unsigned long long)(is_out_of_calls(loop)
							  ? loop->conversation.calls_max
							  : max),
			     source->is_reading ? "outputs to read again" : "cells") < 0)
			return (int)err->code;
		return model_turn_add_result(results, call, note.data, note.len, true, err);
	}
	count = repeat_note(&loop->repeats, repeat_of_refused(call, source),
			    repeat_hash(source->problem, strlen(source->problem)), false);
	if (++loop->calls_refused > count)
		count = loop->calls_refused;
	if (count >= REPEAT_MAX)
		loop_stop(end, AGENT_STOP_STUCK, "the model sent %u calls that cannot be run: %s",
			  REPEAT_MAX, source->problem);
	if (buf_adds(&note, source->problem, err) < 0 ||
	    repeat_tell(REPEAT_REFUSED, count, NULL, &note, err) < 0)
		return (int)err->code;
	return model_turn_add_result(results, call, note.data, note.len, true, err);
}

static bool is_application(const struct loop *loop, const struct model_call *call)
{
	const struct model_tool *tool = model_conversation_tool(&loop->conv, call->name);

	return tool != NULL && tool->kind == MODEL_TOOL_APPLICATION;
}

/*
 * Sends the call to the application, which answers with CONTINUE; *ret_waits: there is something to
 * wait for.
 */
static int take_application(struct loop *loop, const struct model_turn *turn,
			    const struct model_call *call, struct model_turn *results,
			    bool *ret_waits, struct err *err)
{
	static const char too_many[] =
		"Not called: the limit of calls is reached. Answer now, with "
		"what you know.";
	static const char cut[] = "Error: your answer was cut at its length limit, so this was not "
				  "called.";

	if (call->too_long || (turn->stop == MODEL_STOP_LENGTH &&
			       call == &turn->calls[turn->call_count - 1]))
		return model_turn_add_result(results, call, cut, sizeof(cut) - 1, true, err);
	if (is_out_of_calls(loop)) {
		loop->out_of_steps = true;
		return model_turn_add_result(results, call, too_many, sizeof(too_many) - 1, true,
					     err);
	}
	loop->calls++;
	*ret_waits = true;
	return 0;
}

/* Runs all calls that can run here; then the application handles its own. */
static int take_calls(struct loop *loop, struct loop_end *end, struct err *err)
{
	const struct model_turn *turn = loop->conv.turns[loop->conv.count - 1];
	struct model_turn *results = model_conversation_add(&loop->conv, MODEL_ROLE_RESULTS);
	bool waits = false;

	for (size_t i = 0; i < turn->call_count; i++) {
		struct source source;
		int rc;

		if (!end->over && is_application(loop, &turn->calls[i])) {
			if (take_application(loop, turn, &turn->calls[i], results, &waits, err) < 0)
				return (int)err->code;
			continue;
		}
		source_init(&source);
		/* Each call needs a result, even if the conversation is continued later. */
		rc = end->over ? model_turn_add_result(results, &turn->calls[i], "Not run.", 8,
						       true, err)
			       : source_of_call(loop, turn, &turn->calls[i], &source, err);
		if (rc == 0 && !end->over)
			rc = one(loop, &turn->calls[i], &source, results, end, err);
		source_done(&source);
		if (rc < 0)
			return rc;
	}
	if (end->over) /* the question is over, so it waits for nothing */
		return conversation_close_calls(&loop->conv, err);
	if (waits)
		loop_stop(end, AGENT_STOP_CALLS, "%s", "");
	if (waits && results->result_count == 0)
		model_conversation_cut(&loop->conv, loop->conv.count - 1);
	return 0;
}

/* Runs the block and drops text after it, where models often invent the output. */
static int take_block(struct loop *loop, struct model_turn *turn, bool *ret_ran,
		      struct loop_end *end, struct err *err)
{
	struct model_turn *results;
	struct source source;
	struct fenced block;
	int rc = 0;

	*ret_ran = fenced_find(buf_text(&turn->text), turn->text.len, loop->language, &block);
	if (!*ret_ran)
		return 0;
	source_init(&source);
	if (!block.complete && turn->stop == MODEL_STOP_LENGTH)
		complain(&source, "Your answer was cut at its length limit, so the code was not "
				  "run. Write it in smaller blocks.");
	else
		rc = set_code(&source, turn->text.data + block.code, block.code_len,
			      loop->language, err);
	turn->text.len = block.end;
	turn->text.data[block.end] = '\0';
	buf_clear(&turn->blob); /* it has the original text */
	results = model_conversation_add(&loop->conv, MODEL_ROLE_RESULTS);
	if (rc == 0)
		rc = one(loop, NULL, &source, results, end, err);
	source_done(&source);
	return rc;
}

static int answer_with(struct loop *loop, const char *text, size_t len, struct err *err)
{
	buf_clear(&loop->answer);
	if (buf_add(&loop->answer, text, len, err) < 0)
		return (int)err->code;
	return link_text(loop->link, AGENT_TEXT, text, len, err);
}

/* Handles {"action", "content"}. Anything else is an answer as text. */
static int take_object(struct loop *loop, struct model_turn *turn, bool *ret_ran,
		       struct loop_end *end, struct err *err)
{
	struct json_value *object = NULL;
	const char *action, *content;
	struct source source;
	struct err why;
	size_t len = 0;
	int rc = 0;

	*ret_ran = false;
	/* The server does not enforce the schema, so the text is the answer. */
	if (json_read_parse(buf_text(&turn->text), turn->text.len, MODEL_TEXT_MAX, &object, &why) <
	    0)
		return answer_with(loop, buf_text(&turn->text), turn->text.len, err);
	action = json_read_text(json_read_member(object, "action"), NULL);
	content = json_read_text(json_read_member(object, "content"), &len);
	*ret_ran = action != NULL && strcmp(action, "run") == 0;
	source_init(&source);
	if (*ret_ran) {
		rc = set_code(&source, content != NULL ? content : "", len, loop->language, err);
		if (rc == 0)
			rc = one(loop, NULL, &source,
				 model_conversation_add(&loop->conv, MODEL_ROLE_RESULTS), end, err);
	} else if (content != NULL) {
		rc = answer_with(loop, content, len, err);
	}
	source_done(&source);
	json_read_free(object);
	return rc;
}

int step_take(struct loop *loop, struct loop_end *end, bool *ret_ran, struct err *err)
{
	struct model_turn *turn = loop->conv.turns[loop->conv.count - 1];

	switch (loop->settings.calling) {
	case AGENT_CALLING_FENCED:
		return take_block(loop, turn, ret_ran, end, err);
	case AGENT_CALLING_SCHEMA:
		if (loop->conv.schema != NULL)
			return take_object(loop, turn, ret_ran, end, err);
		break; /* code cannot run */
	default:
		break;
	}
	*ret_ran = turn->call_count > 0;
	return *ret_ran ? take_calls(loop, end, err) : 0;
}
