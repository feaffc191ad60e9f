/*
 * logs.c - what code and commands in a sandbox wrote, line by line, and when processes began and
 * ended.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a query from a client; records and events, which hostile programs wrote.
 * Never:    answers more than LINES_MAX lines of the last LOOKED_AT executions and processes, or
 *           waits for output that is not there yet.
 *
 * An execution's record has no time per line. All its lines get the time of its end, in the order
 * of the record.
 */
#include <stdlib.h>
#include <string.h>

#include "api/moment.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "codec/base64.h"
#include "dialects/e2b/envd/inside.h"
#include "dialects/events.h"

#define LOOKED_AT 100u
#define LINES_MAX 4000u
#define LINE_BYTES_MAX 4096u
#define LIMIT_DEFAULT 1000u
#define OUTPUT_MS 1000u /* to wait for the next piece of output that reckond holds */
#define RECORD_MAX ((size_t)64 << 20)
#define ANSWER_MAX ((size_t)48 << 20)

enum level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR };
static const char *const level_names[] = { "debug", "info", "warn", "error" };

struct line {
	uint64_t ms;
	size_t number; /* orders lines of the same time */
	enum level level;
	const char *kind, *of, *text;
	size_t len;
};

struct logs {
	const struct e2b *e2b;
	const char *session;
	struct line *lines;
	size_t count;
	/* From the query. */
	uint64_t cursor_ms;
	bool has_cursor, is_backward;
	size_t limit;
	enum level least;
	char search[256];
};

/* ---- the query ------------------------------------------------------------------------------ */

static bool take_number(const char *value, uint64_t *ret)
{
	char *end;

	*ret = strtoull(value, &end, 10);
	return value[0] >= '0' && value[0] <= '9' && *end == '\0';
}

static bool take_level(const char *value, enum level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
		if (strcmp(value, level_names[i]) == 0) {
			*ret = (enum level)i;
			return true;
		}
	return false;
}

static bool take_one(struct logs *logs, const char *name, const char *value)
{
	uint64_t number = 0;

	if (value[0] == '\0')
		return true;
	if (strcmp(name, "cursor") == 0 || strcmp(name, "start") == 0) {
		logs->has_cursor = true;
		return take_number(value, &logs->cursor_ms);
	}
	if (strcmp(name, "limit") == 0) {
		if (!take_number(value, &number) || number > LIMIT_DEFAULT)
			return false;
		logs->limit = (size_t)number;
	}
	if (strcmp(name, "direction") == 0) {
		logs->is_backward = strcmp(value, "backward") == 0;
		return logs->is_backward || strcmp(value, "forward") == 0;
	}
	if (strcmp(name, "level") == 0)
		return take_level(value, &logs->least);
	if (strcmp(name, "search") == 0) {
		if (strlen(value) >= sizeof(logs->search))
			return false;
		memcpy(logs->search, value, strlen(value) + 1);
	}
	return true;
}

static bool take_query(struct logs *logs)
{
	const char *query = request_head(logs->e2b->request)->query;
	char name[64], value[512];
	struct err ignored;
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) > 0)
		if (!take_one(logs, name, value))
			return false;
	return more == 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void add(struct logs *logs, const struct line *line)
{
	struct line *to = &logs->lines[logs->count];

	if (logs->count == LINES_MAX)
		return;
	*to = *line;
	to->len = line->len < LINE_BYTES_MAX ? line->len : LINE_BYTES_MAX;
	to->len -= utf8_incomplete_tail(to->text, to->len);
	to->number = logs->count++;
}

static void add_text(struct logs *logs, struct line line, const char *text, size_t len)
{
	while (len > 0) {
		const char *end = memchr(text, '\n', len);

		line.text = text;
		line.len = end != NULL ? (size_t)(end - text) : len;
		if (line.len > 0)
			add(logs, &line);
		if (end == NULL)
			return;
		len -= line.len + 1;
		text = end + 1;
	}
}

static uint64_t ms_of(const char *moment)
{
	uint64_t ms = 0;

	return moment != NULL && api_moment(moment, &ms) ? ms : clock_wall_ms();
}

static const char *copy(const struct logs *logs, const char *text, size_t len)
{
	return arena_text(logs->e2b->arena, text, len);
}

/* Negative: the client disconnected. */
static int add_execution(struct logs *logs, const struct api_execution *row)
{
	static const struct {
		const char *member;
		enum level level;
	} streams[] = { { "stdout", LEVEL_INFO }, { "stderr", LEVEL_WARN } };
	struct line line = { .kind = "execution", .of = copy(logs, row->id, strlen(row->id)) };
	cleanup_json struct json_value *record = NULL;
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf message = BUF_INIT(LINE_BYTES_MAX);
	struct api_execution_show_out out;
	const struct json_value *error;
	const char *text;
	struct err err;
	size_t len;
	const enum call_status status =
		call_make(logs->e2b->request, API_EXECUTION_SHOW,
			  &(struct api_execution_show_in){ .session = logs->session,
							   .execution = row->id },
			  &out, &call);

	if (status != CALL_OK || out.record.len == 0 ||
	    json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) < 0)
		return status == CALL_GONE ? -1 : 0;
	line.ms = ms_of(row->ended_at);
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		text = json_read_text(json_read_member(record, streams[i].member), &len);
		line.level = streams[i].level;
		if (text != NULL)
			add_text(logs, line, copy(logs, text, len), len);
	}
	error = json_read_member(record, "error");
	line.level = LEVEL_ERROR;
	if (json_read_kind(error) != JSON_KIND_OBJECT)
		return 0;
	(void)buf_addf(&message, &err, "%.200s: %.2000s", e2b_rpc_text(error, "name"),
		       e2b_rpc_text(error, "value"));
	add_text(logs, line, copy(logs, message.data, message.len), message.len);
	return 0;
}

static int add_executions(struct logs *logs)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_execution *rows;
	struct api_executions out;

	if (call_or_refuse(logs->e2b->request, API_EXECUTION_LIST,
			   &(struct api_execution_list_in){ .session = logs->session,
							    .has_limit = true,
							    .limit = LOOKED_AT },
			   &out, &call) < 0)
		return -1;
	rows = out.executions.items;
	for (size_t i = out.executions.count; i > 0; i--)
		if (add_execution(logs, &rows[i - 1]) < 0)
			return -1;
	return 0;
}

static void add_stream(struct logs *logs, struct line line, const struct api_event *event)
{
	cleanup_buf struct buf bytes = BUF_INIT(RECORD_MAX);
	cleanup_json struct json_value *data = NULL;
	const char *text;
	struct err err;
	size_t len;

	if (strcmp(event->name, "stream") != 0 ||
	    json_read_parse(event->data.data, event->data.len, RECORD_MAX, &data, &err) < 0)
		return;
	text = json_read_text(json_read_member(data, "data"), &len);
	if (text == NULL || base64_decode(text, len, &bytes, &err) < 0)
		return;
	if (strcmp(e2b_rpc_text(data, "name"), "stderr") == 0)
		line.level = LEVEL_WARN;
	add_text(logs, line, copy(logs, bytes.data, bytes.len), bytes.len);
}

/* Adds the output that reckond still holds. Negative: the client disconnected. */
static int add_output(struct logs *logs, const struct api_process *process, struct line line)
{
	struct api_process_events_in in = { .session = logs->session, .process = process->id };
	cleanup_call struct call call = CALL_INIT;
	struct event_reader reader;
	struct next_event next;

	if (process->last_event == 0)
		return 0;
	events_open(&reader, logs->e2b->request, API_PROCESS_EVENTS, &in);
	while (events_next(&reader, OUTPUT_MS, &call, &next) == EVENT_NEXT ||
	       next.kind == EVENT_GAP) {
		if (next.kind == EVENT_GAP)
			continue;
		add_stream(logs, line, &next.event);
		if (next.event.id >= process->last_event)
			break;
	}
	/* Otherwise each request would leave a reader of these events in reckond. */
	upstream_cancel_now(logs->e2b->request);
	return next.kind == EVENT_GONE ? -1 : 0;
}

static int add_process(struct logs *logs, const struct api_process *process)
{
	static const char began[] = "process started: ", ended[] = "process ended: ";
	struct line line = { .kind = "process",
			     .level = LEVEL_DEBUG,
			     .ms = ms_of(process->created_at),
			     .of = copy(logs, process->id, strlen(process->id)) };
	const char *what = process->command != NULL ? process->command : process->argv.data;
	const size_t len = process->command != NULL ? strlen(what) : process->argv.len;
	cleanup_buf struct buf text = BUF_INIT(LINE_BYTES_MAX);
	struct err err;

	(void)buf_adds(&text, began, &err);
	(void)buf_add(&text, what, len < LINE_BYTES_MAX / 2 ? len : LINE_BYTES_MAX / 2, &err);
	add_text(logs, line, copy(logs, text.data, text.len), text.len);
	line.level = LEVEL_INFO;
	if (process->ended_at != NULL)
		line.ms = ms_of(process->ended_at);
	if (add_output(logs, process, line) < 0)
		return -1;
	if (process->ended_at == NULL)
		return 0;
	buf_clear(&text);
	line.level = LEVEL_DEBUG;
	if (process->has_exit_code)
		(void)buf_addf(&text, &err, "%sexit status %u", ended,
			       (unsigned)process->exit_code);
	else
		(void)buf_addf(&text, &err, "%s%.100s", ended,
			       process->signal != NULL ? process->signal
			       : process->why != NULL  ? process->why
						       : "it is gone");
	add_text(logs, line, copy(logs, text.data, text.len), text.len);
	return 0;
}

static int add_processes(struct logs *logs)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_process *rows;
	struct api_processes out;

	if (call_or_refuse(logs->e2b->request, API_PROCESS_LIST,
			   &(struct api_process_list_in){ .session = logs->session,
							  .has_limit = true,
							  .limit = LOOKED_AT },
			   &out, &call) < 0)
		return -1;
	rows = out.processes.items;
	for (size_t i = out.processes.count; i > 0; i--)
		if ((rows[i - 1].tag == NULL || strcmp(rows[i - 1].tag, INSIDE_TAG) != 0) &&
		    add_process(logs, &rows[i - 1]) < 0)
			return -1;
	return 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct line *one = a, *other = b;

	if (one->ms != other->ms)
		return one->ms < other->ms ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

static bool fits(const struct logs *logs, const struct line *line)
{
	if (logs->has_cursor &&
	    (logs->is_backward ? line->ms > logs->cursor_ms : line->ms < logs->cursor_ms))
		return false;
	return line->level >= logs->least &&
	       (logs->search[0] == '\0' ||
		memmem(line->text, line->len, logs->search, strlen(logs->search)) != NULL);
}

static void write_line(struct json_writer *json, const struct line *line, bool is_short)
{
	json_write_object_begin(json);
	e2b_write_moment(json, "timestamp", line->ms);
	json_write_member_text(json, is_short ? "line" : "message", line->text, line->len);
	if (!is_short) {
		json_write_member_string(json, "level", level_names[line->level]);
		json_write_key(json, "fields");
		json_write_object_begin(json);
		json_write_member_string(json, "logger", line->kind);
		json_write_member_string(json, "id", line->of);
		json_write_object_end(json);
	}
	json_write_object_end(json);
}

static void write_lines(const struct logs *logs, struct json_writer *json, const char *name,
			bool is_short)
{
	size_t left = logs->limit;

	json_write_key(json, name);
	json_write_array_begin(json);
	for (size_t i = 0; i < logs->count && left > 0; i++) {
		const size_t at = logs->is_backward ? logs->count - 1 - i : i;

		if (!fits(logs, &logs->lines[at]))
			continue;
		write_line(json, &logs->lines[at], is_short);
		left--;
	}
	json_write_array_end(json);
}

void e2b_logs(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct logs logs = { .e2b = e2b, .session = e2b_session_of(e2b), .limit = LIMIT_DEFAULT };
	struct json_writer json;

	if (!take_query(&logs)) {
		e2b_refuse(e2b, 400, "the query is malformed");
		return;
	}
	logs.lines = arena_new(e2b->arena, LINES_MAX, sizeof(*logs.lines));
	if (add_executions(&logs) < 0 || add_processes(&logs) < 0)
		return;
	if (logs.count > 0)
		qsort(logs.lines, logs.count, sizeof(*logs.lines), by_time);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	write_lines(&logs, &json, "logs", e2b->version != 2);
	if (e2b->version != 2)
		write_lines(&logs, &json, "logEntries", false);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}
