/*
 * round.c - waits until a program calls its client's tools or ends, and answers.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    events and the record of hostile code.
 * Never:    reports a call twice: the program's state has the last one reported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/events.h"
#include "dialects/librechat/programmatic.h"

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define RECORD_MAX ((size_t)64 * 1024 * 1024)
#define CALLS_MAX ((size_t)16 * 1024 * 1024)
#define PARTIAL_MAX (64u * 1024u)
#define GATHER_MS 30u /* concurrent calls arrive within this time */

struct round {
	struct request *request;
	struct librechat_program *program;
	struct buf calls; /* an array */
	struct json_writer json;
	size_t count;
	struct buf out, err; /* output since the last round */
	struct json_value *end; /* the last event */
	const struct json_value *record; /* in the last event; NULL: none */
	bool is_over;
};

/* ---- calls ---------------------------------------------------------------------------------- */

/* t12: the name with index 12. */
static const char *name_of(const struct round *round, const char *name)
{
	const char *given = NULL;

	if (name[0] == 't')
		given = json_read_text(json_read_at(round->program->tools,
						    (size_t)strtoul(name + 1, NULL, 10)), NULL);
	return given != NULL ? given : name;
}

static void take_call(struct round *round, const struct json_value *event)
{
	cleanup_buf struct buf input = BUF_INIT(CALLS_MAX);
	const struct json_value *arguments = json_read_member(event, "arguments");
	const char *called = json_get_str(event, "name"), *name = name_of(round, called), *given;
	int64_t number;
	struct err ignored;

	if (strcmp(called, LIBRECHAT_TOOL_MORE) == 0 &&
	    json_read_int(json_read_member(arguments, "tool"), &number) && number >= 0 &&
	    json_read_kind(json_read_member(arguments, "input")) == JSON_KIND_OBJECT) {
		given = json_read_text(json_read_at(round->program->tools, (size_t)number), NULL);
		name = given != NULL ? given : name;
		arguments = json_read_member(arguments, "input");
	}
	if (json_read_dump(arguments, &input, &ignored) < 0)
		return;
	round->count++;
	json_write_object_begin(&round->json);
	json_write_member_string(&round->json, "id", json_get_str(event, "id"));
	json_write_member_string(&round->json, "name", name);
	json_write_key(&round->json, "input");
	json_write_raw(&round->json, buf_text(&input), input.len);
	json_write_object_end(&round->json);
}

static void take_text(struct round *round, const struct json_value *event)
{
	struct buf *to =
		strcmp(json_get_str(event, "name"), "stderr") == 0 ? &round->err : &round->out;
	struct err ignored;

	(void)buf_adds(to, json_get_str(event, "text"), &ignored);
}

static void take_event(struct round *round, const struct api_event *event)
{
	struct json_value *value = NULL;
	struct err ignored;

	round->program->after = event->id;
	if (json_read_parse(event->data.data, event->data.len, RECORD_MAX, &value, &ignored) < 0)
		return;
	if (strcmp(event->name, "tool_call") == 0)
		take_call(round, value);
	else if (strcmp(event->name, "stream") == 0)
		take_text(round, value);
	else if (strcmp(event->name, "done") == 0)
		round->end = TAKE_PTR(value);
	json_read_free(value);
}

/* Reads events until the end, or until calls have come and no more follow. */
static int follow(struct round *round)
{
	struct api_execution_events_in in = { .session = round->program->exec.code.program.session,
					      .execution = round->program->execution,
					      .has_after = true,
					      .after = round->program->after };
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;
	enum event_kind kind;

	events_open(&reader, round->request, API_EXECUTION_EVENTS, &in);
	while ((kind = events_next(&reader, round->count > 0 ? GATHER_MS : 0, &call, &next)) !=
	       EVENT_GONE) {
		if (kind == EVENT_NEXT)
			take_event(round, &next.event);
		round->is_over = kind == EVENT_END || kind == EVENT_FAILED;
		if (round->is_over || kind == EVENT_QUIET)
			return 0;
	}
	return -1;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void begin(struct round *round, struct json_writer *json, struct buf *body,
		  const char *status)
{
	char session[LIBRECHAT_ID_SIZE];

	librechat_session_id(round->program->exec.code.program.session, session);
	json_write_init(json, body);
	json_write_object_begin(json);
	json_write_member_string(json, "status", status);
	json_write_member_string(json, "session_id", session);
}

static void answer_calls(struct round *round)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	char token[LIBRECHAT_TOKEN_SIZE];
	struct json_writer json;

	if (program_keep(round->request, round->program) < 0)
		return;
	program_token(round->program, token);
	begin(round, &json, &body, "tool_call_required");
	json_write_member_string(&json, "continuation_token", token);
	json_write_key(&json, "tool_calls");
	json_write_raw(&json, buf_text(&round->calls), round->calls.len);
	json_write_member_text(&json, "partial_stdout", buf_text(&round->out), round->out.len);
	json_write_member_text(&json, "partial_stderr", buf_text(&round->err), round->err.len);
	json_write_object_end(&json);
	librechat_answer(round->request, 200, &json, &body);
}

/* Reads everything that was stored of a stream. *ret_is_cut: the program wrote more than that. */
static int read_stream(const struct round *round, const char *name, struct buf *ret,
		       bool *ret_is_cut)
{
	const struct json_value *cut =
		json_read_member(json_read_member(round->record, "truncated"), name);
	const char *handle = json_get_str(cut, "handle");
	struct err ignored;
	int found = 0;

	if (handle[0] != '\0')
		found = program_fetch(&round->program->exec.code.program, API_OUTPUT_GET,
				      &(struct api_output_get_in){ .handle = handle }, ret);
	*ret_is_cut = cut != NULL && (found == 0 || ret->len < json_get_count(cut, "bytes_total"));
	if (found == 0)
		(void)buf_adds(ret, json_get_str(round->record, name), &ignored);
	return found < 0 ? -1 : 0;
}

/* Appends LibreChat's own note for an output that was cut. */
static void add_cut(const char *name, struct buf *ret)
{
	struct err ignored;

	if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
		(void)buf_addc(ret, '\n', &ignored);
	(void)buf_addf(ret, &ignored, "%s length exceeded\n", name);
}

/* Appends what Python prints for an uncaught exception. */
static void add_traceback(const struct json_value *record, struct buf *ret)
{
	const struct json_value *outputs = json_read_member(record, "outputs");
	struct err ignored;

	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const struct json_value *lines =
			json_read_member(json_read_at(outputs, i), "traceback");

		for (size_t at = 0; at < json_read_count(lines); at++) {
			const char *line = json_read_text(json_read_at(lines, at), NULL);

			if (line != NULL)
				(void)buf_addf(ret, &ignored, "%s\n", line);
		}
	}
}

/* One of the texts that LibreChat shows unchanged; NULL: success. */
static const char *error_of(const struct json_value *record, char *text, size_t size)
{
	const char *status = json_get_str(record, "status");
	const struct json_value *error = json_read_member(record, "error");

	if (strcmp(status, "ok") == 0)
		return NULL;
	if (strcmp(status, "timeout") == 0)
		return "Time limit exceeded";
	if (strcmp(status, "out_of_memory") == 0)
		return "Out of memory";
	if (strcmp(status, "output_limit") == 0)
		return "stdout length exceeded";
	if (strcmp(status, "error") != 0)
		return "Execution failed or timed out";
	(void)snprintf(text, size, "Sandbox exited with code %ld",
		       strcmp(json_get_str(error, "name"), "ExitStatus") == 0
			       ? strtol(json_get_str(error, "value"), NULL, 10)
			       : 1);
	return text;
}

static void answer_done(struct round *round)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_buf struct buf out = BUF_INIT(2 * LIBRECHAT_OUTPUT_MAX);
	cleanup_buf struct buf err = BUF_INIT(2 * LIBRECHAT_OUTPUT_MAX);
	struct json_writer json;
	bool is_out_cut, is_err_cut;
	const char *error;
	char text[64];

	round->record = json_read_member(round->end, "record");
	if (read_stream(round, "stdout", &out, &is_out_cut) < 0 ||
	    read_stream(round, "stderr", &err, &is_err_cut) < 0)
		return;
	if (is_err_cut)
		add_cut("stderr", &err);
	if (is_out_cut)
		add_cut("stdout", &err);
	add_traceback(round->record, &err);
	error = error_of(round->record, text, sizeof(text));
	begin(round, &json, &body, error != NULL ? "error" : "completed");
	if (error != NULL)
		json_write_member_string(&json, "error", error);
	json_write_member_text(&json, "stdout", buf_text(&out), out.len);
	json_write_member_text(&json, "stderr", buf_text(&err), err.len);
	librechat_write_outputs(&json, &round->program->exec,
				json_read_member(round->record, "files"));
	json_write_object_end(&json);
	program_forget(round->request, round->program);
	librechat_answer(round->request, 200, &json, &body);
}

void program_go_on(struct request *request, struct librechat_program *program)
{
	struct round round = { .request = request,
			       .program = program,
			       .calls = BUF_INIT(CALLS_MAX),
			       .out = BUF_INIT(PARTIAL_MAX),
			       .err = BUF_INIT(PARTIAL_MAX) };

	json_write_init(&round.json, &round.calls);
	json_write_array_begin(&round.json);
	if (follow(&round) == 0) {
		json_write_array_end(&round.json);
		if (round.is_over)
			answer_done(&round);
		else
			answer_calls(&round);
	}
	json_read_free(round.end);
	buf_done(&round.calls);
	buf_done(&round.out);
	buf_done(&round.err);
}
