/*
 * begin.c - makes a conversation of a thread and an assistant, and starts a run of it.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    documents of the tenant, a body of any client.
 * Never:    copies a file into a session twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/openai/files/files_read.h"
#include "dialects/openai/assistants/threads.h"

#define MESSAGES_MAX 1000u
#define STEPS_MAX 1000u

/* Values of documents, oldest first. */
struct many {
	struct json_value **values;
	size_t count;
};

struct beginning {
	struct request *request;
	const struct thread_order *order;
	struct many messages; /* files of all of them are in the container */
	size_t first_message; /* index of the first message that the model gets */
	struct order transcript; /* the parser of content needs one */
	char session[ID_SIZE];
	bool runs_code;
	struct buf file_lines;
};

const struct json_value *thread_option(const struct thread_order *order, const char *key)
{
	const struct json_value *value = json_read_member(order->body, key);

	return json_read_kind(value) != JSON_KIND_NULL ? value
						       : json_read_member(order->assistant, key);
}

static void take_one(struct json_value *value, void *arg)
{
	struct many *many = arg;

	many->values = mem_grow(many->values, many->count + 1, sizeof(struct json_value *));
	many->values[many->count++] = value;
}

static void many_done(struct many *many)
{
	for (size_t i = 0; i < many->count; i++)
		json_read_free(many->values[i]);
	free(many->values);
}

static const struct json_value *object_at(const struct many *many, size_t index)
{
	return json_read_member(many->values[index], "object");
}

bool thread_truncation(const struct thread_order *order, uint64_t *ret_last)
{
	const struct json_value *strategy = json_read_member(order->body, "truncation_strategy");
	const struct json_value *last = json_read_member(strategy, "last_messages");
	int64_t count = 0;

	*ret_last = 0;
	if (json_read_kind(strategy) == JSON_KIND_NULL || json_get_is(strategy, "type", "auto"))
		return true;
	if (!json_get_is(strategy, "type", "last_messages") || !json_read_int(last, &count) ||
	    count < 1)
		return false;
	*ret_last = (uint64_t)count;
	return true;
}

static int truncate_messages(struct beginning *beginning)
{
	uint64_t last;

	if (!thread_truncation(beginning->order, &last)) {
		answer_refuse_simple(beginning->request, 400, "invalid",
				     "truncation_strategy: type is auto, or last_messages with "
				     "last_messages from 1",
				     NULL);
		return -1;
	}
	if (last > 0 && last < beginning->messages.count)
		beginning->first_message = beginning->messages.count - (size_t)last;
	return 0;
}

/* ---- its session and files ------------------------------------------------------------------- */

static int take_session(struct beginning *beginning)
{
	const char *id = json_get_text(beginning->order->document, "session");
	struct request *request = beginning->request;
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	char patch[128];

	if (id != NULL &&
	    call_make(request, API_SESSION_SHOW, &(struct api_session_show_in){ .session = id },
		      &session, &call) == CALL_OK &&
	    strcmp(session.status, "live") == 0) {
		(void)snprintf(beginning->session, sizeof(beginning->session), "%s", id);
		return 0;
	}
	if (call_or_refuse(request, API_SESSION_CREATE, &(struct api_session_create_in){ 0 },
			   &session, &call) < 0)
		return -1;
	(void)snprintf(beginning->session, sizeof(beginning->session), "%s", session.id);
	(void)snprintf(patch, sizeof(patch), "{\"session\":\"%s\",\"files\":null}", session.id);
	return object_remember(request, &thread_kind, beginning->order->id, patch);
}

static int take_file(struct beginning *beginning, const char *id)
{
	const struct thread_order *order = beginning->order;
	const bool is_same = json_get_is(order->document, "session", beginning->session);
	const char *there = is_same && id != NULL
				    ? json_get_text(json_read_member(order->document, "files"), id)
				    : NULL;
	cleanup_buf struct buf patch = BUF_INIT(16384);
	char path[4100];
	struct json_writer json;
	struct err err;

	if (id == NULL)
		return 0;
	if (there == NULL) {
		if (files_import_one(beginning->request, id, beginning->session, path,
				     sizeof(path)) < 0)
			return -1;
		there = path;
		json_write_init(&json, &patch);
		json_write_object_begin(&json);
		json_write_key(&json, "files");
		json_write_object_begin(&json);
		json_write_member_string(&json, id, path);
		json_write_object_end(&json);
		json_write_object_end(&json);
		if (json_write_finish(&json, &err) == 0)
			(void)object_remember(beginning->request, &thread_kind, order->id,
					      buf_text(&patch));
	}
	(void)buf_addf(&beginning->file_lines, &err, "%s- %s (%s)",
		       beginning->file_lines.len == 0 ? "\n\nFiles in /mnt/data:\n" : "\n", there,
		       id);
	return 0;
}

static int take_files(struct beginning *beginning, const struct json_value *resources)
{
	const struct json_value *ids =
		json_read_member(json_read_member(resources, "code_interpreter"), "file_ids");

	for (size_t i = 0; i < json_read_count(ids); i++)
		if (take_file(beginning, json_read_text(json_read_at(ids, i), NULL)) < 0)
			return -1;
	return 0;
}

static int take_message_files(struct beginning *beginning, const struct json_value *message)
{
	const struct json_value *attachments = json_read_member(message, "attachments");
	const struct json_value *content = json_read_member(message, "content");
	const bool is_model = json_get_is(message, "role", "assistant");

	for (size_t i = 0; i < json_read_count(attachments); i++)
		if (take_file(beginning, json_get_text(json_read_at(attachments, i), "file_id")) <
		    0)
			return -1;
	for (size_t i = 0; !is_model && i < json_read_count(content); i++)
		if (json_get_is(json_read_at(content, i), "type", "image_file") &&
		    take_file(beginning, json_get_text(json_read_member(json_read_at(content, i),
									"image_file"),
						       "file_id")) < 0)
			return -1;
	return 0;
}

static int prepare(struct beginning *beginning)
{
	const struct thread_order *order = beginning->order;
	const struct json_value *tools = thread_option(order, "tools");

	for (size_t i = 0; i < json_read_count(tools); i++)
		beginning->runs_code |=
			json_get_is(json_read_at(tools, i), "type", "code_interpreter");
	if (!beginning->runs_code)
		return 0;
	if (take_session(beginning) < 0 ||
	    take_files(beginning, json_read_member(order->assistant, "tool_resources")) < 0 ||
	    take_files(beginning, json_read_member(order->thread, "tool_resources")) < 0)
		return -1;
	for (size_t i = 0; i < beginning->messages.count; i++)
		if (take_message_files(beginning, object_at(&beginning->messages, i)) < 0)
			return -1;
	return 0;
}

/* ---- its conversation ----------------------------------------------------------------------- */

/* Adds an image that is a file. */
static int say_image(struct beginning *beginning, const struct json_value *part,
		     struct transcript *transcript, struct err *err)
{
	const char *id = json_get_text(json_read_member(part, "image_file"), "file_id");
	cleanup_buf struct buf url = BUF_INIT(OPENAI_CONVERSATION_MAX);

	if (id == NULL)
		return 0;
	if (files_read_image(beginning->request, id, &url) == 0)
		return transcript_image(transcript, buf_text(&url), err);
	err_clear(err); /* an answer was sent */
	return -1;
}

/* Adds a message's text. Skips images in the model's messages: it has seen these figures. */
static int say_text(struct beginning *beginning, const struct json_value *content, bool is_model,
		    struct transcript *transcript, struct buf *text, struct err *err)
{
	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *part = json_read_at(content, i);
		const char *url = json_get_text(json_read_member(part, "image_url"), "url");
		size_t len;
		const char *value = json_read_text(
			json_read_member(json_read_member(part, "text"), "value"), &len);

		if (value != NULL && ((text->len > 0 && buf_addc(text, '\n', err) < 0) ||
				      buf_add(text, value, len, err) < 0))
			return (int)err->code;
		if (url != NULL && transcript_image(transcript, url, err) < 0)
			return (int)err->code;
		if (!is_model && say_image(beginning, part, transcript, err) < 0)
			return -1;
	}
	return 0;
}

static int say_cell(struct transcript *transcript, const struct json_value *call, struct err *err)
{
	const struct json_value *cell = json_read_member(call, "code_interpreter");
	const struct json_value *outputs = json_read_member(cell, "outputs");
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *id = json_get_text(call, "id");
	size_t len;
	const char *code = json_read_text(json_read_member(cell, "input"), &len);

	if (id == NULL || code == NULL || transcript_code(transcript, id, code, len, err) < 0)
		return id == NULL || code == NULL ? 0 : (int)err->code;
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const char *logs = json_read_text(
			json_read_member(json_read_at(outputs, i), "logs"), &len);

		if (logs != NULL && buf_add(&text, logs, len, err) < 0)
			return (int)err->code;
	}
	return transcript_result(transcript, id, buf_text(&text), text.len, err);
}

static int say_function(struct transcript *transcript, const struct json_value *call,
			struct err *err)
{
	const struct json_value *function = json_read_member(call, "function");
	const char *id = json_get_text(call, "id"), *name = json_get_text(function, "name");
	const char *arguments = json_get_text(function, "arguments"),
		   *output = json_get_text(function, "output");

	if (id == NULL || name == NULL || arguments == NULL)
		return 0;
	if (output == NULL)
		output = "";
	if (transcript_call(transcript, id, name, arguments, strlen(arguments), err) < 0)
		return (int)err->code;
	return transcript_result(transcript, id, output, strlen(output), err);
}

static int say_step(struct transcript *transcript, const struct json_value *step, struct err *err)
{
	const struct json_value *calls =
		json_read_member(json_read_member(step, "step_details"), "tool_calls");

	for (size_t i = 0; i < json_read_count(calls); i++) {
		const struct json_value *call = json_read_at(calls, i);

		if ((json_get_is(call, "type", "function") ? say_function
							   : say_cell)(transcript, call, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* Adds the steps of a run, before its first message. */
static int say_steps(struct beginning *beginning, const char *run, struct transcript *transcript,
		     struct err *err)
{
	struct many steps = { 0 };
	int rc = object_each(beginning->request, &thread_step_kind, run, STEPS_MAX, take_one,
			     &steps);

	if (rc < 0)
		err_clear(err); /* an answer was sent */
	for (size_t i = 0; rc == 0 && i < steps.count; i++)
		rc = say_step(transcript, object_at(&steps, i), err);
	many_done(&steps);
	return rc;
}

static int say(struct beginning *beginning, const struct json_value *message, const char **last_run,
	       struct transcript *transcript, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *run = json_get_text(message, "run_id");
	const bool is_model = json_get_is(message, "role", "assistant");

	if (run != NULL && (*last_run == NULL || strcmp(run, *last_run) != 0)) {
		*last_run = run;
		if (say_steps(beginning, run, transcript, err) < 0)
			return -1;
	}
	if (!is_model && transcript_close(transcript, err) < 0)
		return -1;
	if (say_text(beginning, json_read_member(message, "content"), is_model, transcript, &text,
		     err) < 0)
		return -1;
	if (is_model)
		return text.len > 0
			       ? transcript_assistant(transcript, buf_text(&text), text.len, err)
			       : 0;
	return transcript_user(transcript, "user", &text, NULL, 0, err);
}

static int write_messages(struct beginning *beginning, struct json_writer *json, struct err *err)
{
	const size_t count = beginning->messages.count;
	cleanup_buf struct buf words = BUF_INIT(64);
	const char *last_run = NULL;
	cleanup_transcript struct transcript transcript;

	transcript_init(&transcript, json);
	json_write_key(json, "messages");
	json_write_array_begin(json);
	for (size_t i = beginning->first_message; i < count; i++)
		if (say(beginning, object_at(&beginning->messages, i), &last_run, &transcript,
			err) < 0)
			return -1;
	if (transcript_close(&transcript, err) < 0)
		return -1;
	/* The model answers a message of the user: add one if the thread does not end with one. */
	if (count == 0 ||
	    json_get_is(object_at(&beginning->messages, count - 1), "role", "assistant")) {
		if (buf_adds(&words, "Go on.", err) < 0 ||
		    transcript_user(&transcript, "user", &words, NULL, 0, err) < 0)
			return -1;
	}
	json_write_array_end(json);
	return 0;
}

static int write_instructions(const struct beginning *beginning, struct json_writer *json,
			      struct err *err)
{
	const char *more = json_get_text(beginning->order->body, "additional_instructions");
	const char *text = json_read_text(thread_option(beginning->order, "instructions"), NULL);
	cleanup_buf struct buf whole = BUF_INIT(OPENAI_CONVERSATION_MAX);

	if ((text != NULL && buf_adds(&whole, text, err) < 0) ||
	    (more != NULL && buf_addf(&whole, err, "%s%s", whole.len > 0 ? "\n" : "", more) < 0) ||
	    buf_add(&whole, buf_text(&beginning->file_lines), beginning->file_lines.len, err) < 0)
		return -1;
	if (whole.len > 0)
		json_write_member_text(json, "instructions", whole.data, whole.len);
	return 0;
}

static void write_tools(const struct thread_order *order, struct json_writer *json)
{
	const struct json_value *tools = thread_option(order, "tools");
	const struct json_value *choice = thread_option(order, "tool_choice");
	const char *word = json_read_text(choice, NULL);
	bool is_parallel = true;

	json_write_key(json, "tools");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(tools); i++) {
		const struct json_value *function =
			json_read_member(json_read_at(tools, i), "function");

		if (json_get_text(function, "name") == NULL)
			continue;
		json_write_object_begin(json);
		json_write_member_string(json, "name", json_get_text(function, "name"));
		json_write_member_string(json, "description",
					 json_get_text(function, "description"));
		if (json_read_kind(json_read_member(function, "parameters")) == JSON_KIND_OBJECT)
			object_write_member(json, "parameters",
					    json_read_member(function, "parameters"));
		json_write_object_end(json);
	}
	json_write_array_end(json);
	if (json_get_is(choice, "type", "function"))
		word = json_get_text(json_read_member(choice, "function"), "name");
	else if (json_get_is(choice, "type", "code_interpreter"))
		word = OPENAI_CODE_LANGUAGE;
	if (word != NULL)
		json_write_member_string(json, "tool_choice", word);
	(void)json_read_bool(thread_option(order, "parallel_tool_calls"), &is_parallel);
	json_write_member_bool(json, "parallel_tool_calls", is_parallel);
}

static void write_sampling(const struct thread_order *order, struct json_writer *json)
{
	static const struct {
		const char *key, *name;
	} numbers[] = { { "temperature", "temperature" },
			{ "top_p", "top_p" },
			{ "max_completion_tokens", "max_tokens" } };
	const char *effort = json_read_text(thread_option(order, "reasoning_effort"), NULL);

	json_write_key(json, "sampling");
	json_write_object_begin(json);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		/* 1 is the default that an assistant shows: do not pass it on as a setting. */
		const struct json_value *value = thread_option(order, numbers[i].key);
		double number = 1.0;

		if (json_read_double(value, &number) && number != 1.0)
			object_write_member(json, numbers[i].name, value);
	}
	if (effort != NULL)
		json_write_member_string(json, "reasoning_effort", effort);
	json_write_object_end(json);
}

static int write_conversation(struct beginning *beginning, struct buf *ret, struct err *err)
{
	const struct json_value *format = thread_option(beginning->order, "response_format");
	struct json_writer json;

	err_clear(err);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "schema", "reckon.conversation/1");
	json_write_member_bool(&json, "code", beginning->runs_code);
	if (write_instructions(beginning, &json, err) < 0)
		return -1;
	write_tools(beginning->order, &json);
	write_sampling(beginning->order, &json);
	if (order_write_output(format, json_read_member(format, "json_schema"), &json, err) < 0 ||
	    write_messages(beginning, &json, err) < 0)
		return -1;
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* ---- the run -------------------------------------------------------------------------------- */

static int begin(struct beginning *beginning, const struct buf *conversation, char ret_run[ID_SIZE])
{
	struct api_run_create_in in = {
		.model = json_read_text(thread_option(beginning->order, "model"), NULL),
		.conversation = { conversation->data, conversation->len },
		.session = beginning->runs_code ? beginning->session : NULL,
		.template = beginning->runs_code ? NULL : OPENAI_CODE_LANGUAGE,
		.has_keep_conversation = true,
		.keep_conversation = true,
		.has_background = true,
		.background = true,
	};
	struct run run = RUN_INIT;
	const int rc = run_begin(&run, beginning->request, &in);

	(void)snprintf(ret_run, ID_SIZE, "%s", run.id);
	run_done(&run);
	return rc;
}

int thread_begin(struct request *request, const struct thread_order *order, char ret_run[ID_SIZE])
{
	struct beginning beginning = { .request = request,
				       .order = order,
				       .file_lines = BUF_INIT(64 * 1024) };
	cleanup_buf struct buf conversation = BUF_INIT(OPENAI_CONVERSATION_MAX);
	struct err err;
	int rc = object_each(request, &thread_message_kind, order->id, MESSAGES_MAX, take_one,
			     &beginning.messages);

	if (rc == 0)
		rc = truncate_messages(&beginning);
	if (rc == 0)
		rc = prepare(&beginning);
	if (rc == 0 && write_conversation(&beginning, &conversation, &err) < 0) {
		if (err.code != ERR_OK)
			answer_refuse_invalid(request, &err);
		rc = -1;
	}
	if (rc == 0)
		rc = begin(&beginning, &conversation, ret_run);
	many_done(&beginning.messages);
	buf_done(&beginning.file_lines);
	return rc;
}
