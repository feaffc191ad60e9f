/*
 * output.c - converts the output of a build's script into a log and the build's results.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    output of hostile programs.
 * Never:    uses the output for anything but the build that wrote it; stores more than
 *           ENTRIES_BYTES_MAX of it.
 */
#include <stdlib.h>
#include <string.h>

#include "api/moment.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "codec/base64.h"
#include "dialects/e2b/template/template.h"
#include "dialects/events.h"

#define MARK '\x1e'
#define ENTRIES_MAX 4000u
#define ENTRIES_BYTES_MAX (600u * 1024u)
#define ENTRY_BYTES_MAX 2048u
#define ENV_MAX 250u
#define OUTPUT_MS 1000u /* wait for the next event, which exists already */
#define EVENT_MAX ((size_t)4 << 20)
#define VALUE_MAX ((size_t)64 << 10)

/* stdout or stderr: its current step, and the incomplete line. */
struct stream {
	const char *level, *step;
	uint64_t ms;
	struct buf line;
};

struct taker {
	const struct e2b *e2b;
	struct script_output *output;
	struct stream streams[2];
	const char **env;
};

static const char *const levels[] = { "debug", "info", "warn", "error" };

/* ---- entries -------------------------------------------------------------------------------- */

static void add(struct taker *taker, const struct stream *stream, const char *level,
		const char *text, size_t len)
{
	struct script_output *output = taker->output;
	struct entry_of_build *to;

	len = len < ENTRY_BYTES_MAX ? len : ENTRY_BYTES_MAX;
	len -= utf8_incomplete_tail(text, len);
	if (len == 0 || output->count == ENTRIES_MAX || output->bytes + len > ENTRIES_BYTES_MAX)
		return;
	to = &output->entries[output->count++];
	output->bytes += len + 64;
	*to = (struct entry_of_build){ .ms = stream->ms,
				       .level = level,
				       .step = stream->step,
				       .text = arena_text(taker->e2b->arena, text, len),
				       .len = len };
}

static const char *level_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strlen(levels[i]) == len && memcmp(levels[i], name, len) == 0)
			return levels[i];
	return levels[1];
}

/* ---- lines of the script itself ------------------------------------------------------------- */

static void take_step(struct taker *taker, struct stream *stream, const char *text)
{
	const size_t len = strcspn(text, " ");

	stream->step = arena_text(taker->e2b->arena, text, len < 32 ? len : 32);
	if (text[len] == ' ')
		stream->ms = strtoull(text + len + 1, NULL, 10) / 1000;
	if (stream->ms == 0 || stream->ms > clock_wall_ms())
		stream->ms = clock_wall_ms();
}

/* Decodes base64 into the arena; NULL: invalid, too long, or it has a NUL. */
static const char *decode(struct taker *taker, const char *text)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
	struct err err;

	if (base64_decode(text, strlen(text), &value, &err) < 0 ||
	    (value.len > 0 && memchr(value.data, '\0', value.len) != NULL))
		return NULL;
	return arena_text(taker->e2b->arena, buf_text(&value), value.len);
}

static void take_variable(struct taker *taker, const char *text)
{
	const size_t len = strcspn(text, " ");
	const char *value = text[len] == ' ' ? decode(taker, text + len + 1) : NULL;
	size_t at = 0;
	char *item;

	if (len == 0 || value == NULL)
		return;
	item = arena_new(taker->e2b->arena, len + strlen(value) + 2, 1);
	memcpy(item, text, len);
	item[len] = '=';
	memcpy(item + len + 1, value, strlen(value));
	while (at < taker->output->env.count &&
	       (strncmp(taker->env[at], text, len) != 0 || taker->env[at][len] != '='))
		at++;
	if (at == ENV_MAX)
		return;
	taker->env[at] = item;
	if (at == taker->output->env.count)
		taker->output->env.count++;
}

static void take_mark(struct taker *taker, struct stream *stream, const char *line)
{
	const char *text = line[0] != '\0' && line[1] == ' ' ? line + 2 : "";
	const size_t word = strcspn(text, " ");
	const char *value;

	switch (line[0]) {
	case 's':
		take_step(taker, stream, text);
		break;
	case 'l':
		add(taker, stream, level_of(text, word), text + word + (text[word] == ' '),
		    strlen(text + word + (text[word] == ' ')));
		break;
	case 'e':
		take_variable(taker, text);
		break;
	case 'w':
		value = decode(taker, text);
		if (value != NULL && value[0] == '/')
			taker->output->workdir = value;
		break;
	case 'f':
		add(taker, stream, levels[3], text, strlen(text));
		taker->output->why =
			arena_text(taker->e2b->arena, text,
				   strlen(text) < ENTRY_BYTES_MAX ? strlen(text) : ENTRY_BYTES_MAX);
		taker->output->step = stream->step;
		break;
	default:
		break;
	}
}

static void take_line(struct taker *taker, struct stream *stream)
{
	const char *text = buf_text(&stream->line);
	size_t len = stream->line.len;

	while (len > 0 && text[len - 1] == '\r')
		len--;
	if (len > 0 && text[0] == MARK && strlen(text) == stream->line.len)
		take_mark(taker, stream, text + 1);
	else
		add(taker, stream, stream->level, text, len);
	buf_clear(&stream->line);
}

static void take_text(struct taker *taker, struct stream *stream, const char *text, size_t len)
{
	struct err err;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		const size_t part = end != NULL ? (size_t)(end - text) : len;

		/* A part that exceeds the buffer's limit is dropped. */
		(void)buf_add(&stream->line, text, part, &err);
		if (end == NULL)
			return;
		take_line(taker, stream);
		text += part + 1;
		len -= part + 1;
	}
}

/* ---- events --------------------------------------------------------------------------------- */

static void take_event(struct taker *taker, const struct api_event *event)
{
	cleanup_buf struct buf bytes = BUF_INIT(EVENT_MAX);
	cleanup_json struct json_value *data = NULL;
	const char *text, *name;
	struct err err;
	size_t len;

	if (strcmp(event->name, "stream") != 0 ||
	    json_read_parse(event->data.data, event->data.len, EVENT_MAX, &data, &err) < 0)
		return;
	name = json_read_text(json_read_member(data, "name"), NULL);
	text = json_read_text(json_read_member(data, "data"), &len);
	if (text != NULL && base64_decode(text, len, &bytes, &err) == 0)
		take_text(taker, &taker->streams[name != NULL && strcmp(name, "stderr") == 0],
			  buf_text(&bytes), bytes.len);
}

static void begin(struct taker *taker, uint64_t ms)
{
	struct script_output *output = taker->output;

	*output = (struct script_output){ 0 };
	output->entries = arena_new(taker->e2b->arena, ENTRIES_MAX, sizeof(*output->entries));
	taker->env = arena_new(taker->e2b->arena, ENV_MAX, sizeof(*taker->env));
	output->env.items = taker->env;
	for (size_t i = 0; i < 2; i++)
		taker->streams[i] = (struct stream){ .level = levels[1 + i],
						     .step = "base",
						     .ms = ms,
						     .line = BUF_INIT(VALUE_MAX * 2) };
}

int template_read_output(const struct e2b *e2b, const struct build *build,
			 const struct api_process *process, struct script_output *ret)
{
	struct api_process_events_in in = { .session = build->session, .process = process->id };
	struct taker taker = { .e2b = e2b, .output = ret };
	cleanup_call struct call call = CALL_INIT;
	struct next_event next = { .kind = EVENT_END };
	struct event_reader reader;

	begin(&taker, build->updated_ms);
	if (process->last_event == 0)
		return 0;
	events_open(&reader, e2b->request, API_PROCESS_EVENTS, &in);
	while (events_next(&reader, OUTPUT_MS, &call, &next) == EVENT_NEXT ||
	       next.kind == EVENT_GAP) {
		if (next.kind == EVENT_GAP)
			continue;
		take_event(&taker, &next.event);
		if (next.event.id >= process->last_event)
			break;
	}
	/* Cancel the subscription, so that repeated requests do not add up readers. */
	upstream_cancel_now(e2b->request);
	for (size_t i = 0; i < ARRAY_LEN(taker.streams); i++) {
		if (process->state != API_PROCESS_STATE_RUNNING && taker.streams[i].line.len > 0)
			take_line(&taker, &taker.streams[i]);
		buf_done(&taker.streams[i].line);
	}
	if (next.kind == EVENT_FAILED) {
		call_refuse(e2b->request, next.failure);
		return -1;
	}
	return next.kind == EVENT_GONE ? -1 : 0;
}

/* ---- stored logs ---------------------------------------------------------------------------- */

static void write_stored_entry(struct json_writer *json, const struct entry_of_build *entry)
{
	json_write_array_begin(json);
	json_write_uint(json, entry->ms);
	json_write_string(json, entry->level);
	json_write_string(json, entry->step);
	json_write_text(json, entry->text, entry->len);
	json_write_array_end(json);
}

int template_store_log(const struct e2b *e2b, const struct build *build,
		       const struct script_output *output)
{
	cleanup_buf struct buf value = BUF_INIT(TEMPLATE_VALUE_MAX);
	cleanup_call struct call call = CALL_INIT;
	size_t count = output->count;
	struct json_writer json;
	struct err err;

	/* With escapes the log may be longer than a document: halve it until it fits. */
	do {
		buf_clear(&value);
		json_write_init(&json, &value);
		json_write_object_begin(&json);
		json_write_key(&json, "entries");
		json_write_array_begin(&json);
		for (size_t i = 0; i < count; i++)
			write_stored_entry(&json, &output->entries[i]);
		json_write_array_end(&json);
		json_write_object_end(&json);
		count /= 2;
	} while (json_write_finish(&json, &err) < 0 && count > 0);
	return call_make(e2b->request, API_DOCUMENT_PUT,
			 &(struct api_document_put_in){ .collection = LOGS,
							.id = build->id,
							.value = { value.data, value.len },
							.has_expires_in_ms = true,
							.expires_in_ms =
								TEMPLATE_RETENTION_S * 1000u },
			 NULL, &call) == CALL_GONE
		       ? -1
		       : 0;
}

static const char *text_at(const struct e2b *e2b, const struct json_value *entry, size_t index,
			   size_t *ret_len)
{
	const char *text = json_read_text(json_read_at(entry, index), ret_len);

	if (text == NULL)
		*ret_len = 0;
	return arena_text(e2b->arena, text != NULL ? text : "", *ret_len);
}

int template_load_log(const struct e2b *e2b, const struct build *build, struct script_output *ret)
{
	cleanup_document struct template_document document = { 0 };
	const int found = template_get(e2b, LOGS, build->id, &document);
	const struct json_value *entries = json_read_member(document.value, "entries");
	size_t ignored;

	*ret = (struct script_output){ 0 };
	if (found <= 0)
		return found;
	ret->entries = arena_new(e2b->arena, json_read_count(entries) + 1, sizeof(*ret->entries));
	for (size_t i = 0; i < json_read_count(entries); i++) {
		const struct json_value *entry = json_read_at(entries, i);
		struct entry_of_build *to = &ret->entries[ret->count++];
		int64_t ms = 0;

		(void)json_read_int(json_read_at(entry, 0), &ms);
		to->ms = ms > 0 ? (uint64_t)ms : 0;
		to->level = text_at(e2b, entry, 1, &ignored);
		to->step = text_at(e2b, entry, 2, &ignored);
		to->text = text_at(e2b, entry, 3, &to->len);
	}
	return 0;
}

void template_write_entry(struct json_writer *json, const struct entry_of_build *entry)
{
	json_write_object_begin(json);
	e2b_write_moment(json, "timestamp", entry->ms);
	json_write_member_string(json, "level", entry->level);
	json_write_member_string(json, "step", entry->step);
	json_write_member_text(json, "message", entry->text, entry->len);
	json_write_object_end(json);
}
