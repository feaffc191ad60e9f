/*
 * render.c - a record as text for a context window.
 *
 * Runs in:  libreckon.
 * Reads:    what a hostile program printed, as text.
 * Never:    exceeds RECORD_TEXT_MAX, splits a character or lets a terminal escape through.
 *
 * The parts share the room: a part that needs less than its share leaves the rest to the others, so
 * that a flood on stdout cannot push the error out, and a lone stdout gets nearly all.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "record_state.h"
#include "text.h"

#define FILES_SHOWN 20u
#define NOTES_SHOWN 10u

enum part { PART_STDOUT, PART_STDERR, PART_RESULTS, PART_ERROR, PART_FILES, PART_NOTES };

#define PART_COUNT 6

/* Appends; a part is as large as its content, so its ceiling is never met. */
static void add(struct buf *part, const char *text, size_t len)
{
	struct err ignored;

	(void)buf_add(part, text, len, &ignored);
}

static void add_string(struct buf *part, const char *text)
{
	add(part, text, strlen(text));
}

static void end_line(struct buf *part)
{
	if (part->len > 0 && part->data[part->len - 1] != '\n')
		add(part, "\n", 1);
}

static void render_stream(const struct buf *stream, const char *title, struct buf *ret)
{
	cleanup_buf struct buf settled = BUF_INIT(stream->len * 3);

	text_settled(buf_text(stream), stream->len, &settled);
	if (settled.len == 0)
		return;
	add_string(ret, title);
	add(ret, buf_text(&settled), settled.len);
	end_line(ret);
}

/* "<Figure size 640x480 with 1 Axes>" says nothing beside the image itself. */
static bool is_placeholder(const struct record_result *result)
{
	const char *text = buf_text(&result->text);
	size_t len = result->text.len;

	return result->note.len > 0 && strstr(buf_text(&result->note), "[image/") != NULL &&
	       len > 2 && text[0] == '<' && text[len - 1] == '>' && strchr(text, '\n') == NULL;
}

/* Forms beside a text (HTML, data) are not worth a line each; images always are. */
static void add_notes(const struct record_result *result, struct buf *ret)
{
	const char *line = buf_text(&result->note);

	while (*line != '\0') {
		size_t len = strcspn(line, "\n");

		if (result->text.len == 0 || strncmp(line, "[image/", 7) == 0) {
			add(ret, line, len);
			end_line(ret);
		}
		line += len + (line[len] == '\n' ? 1 : 0);
	}
}

static void render_results(const struct record *record, struct buf *ret)
{
	for (size_t i = 0; i < record->result_count; i++) {
		const struct record_result *result = record->results[i];

		if (!is_placeholder(result)) {
			add(ret, buf_text(&result->text), result->text.len);
			end_line(ret);
		}
		add_notes(result, ret);
	}
}

static void render_error(const struct record *record, enum record_status status, struct buf *ret)
{
	const struct record_failure *failure = &record->failure;
	cleanup_buf struct buf why = BUF_INIT(512);
	struct err ignored;

	/* Without a traceback `repair` is the host's advice, which stands among the hints. */
	if (failure->is_set && failure->traceback[0] != '\0')
		add_string(ret, failure->repair != NULL && failure->repair[0] != '\0' ?
					failure->repair : failure->traceback);
	else if (failure->is_set)
		(void)buf_addf(ret, &ignored, "%s: %s", failure->name, failure->value);
	end_line(ret);
	for (size_t i = 0; i < failure->hint_count; i++)
		(void)buf_addf(ret, &ignored, "hint: %s\n", failure->hints[i]);
	if (status == RECORD_OK || status == RECORD_ERROR)
		return;
	/* Said beside an exception, too: KeyboardInterrupt alone hides the time limit. */
	record_explain(record, status, &why);
	(void)buf_addf(ret, &ignored, "[%s] %s\n", record_status_name(status), buf_text(&why));
}

static void render_files(const struct record *record, struct buf *ret)
{
	size_t shown = record->file_count < FILES_SHOWN ? record->file_count : FILES_SHOWN;
	struct err ignored;

	if (record->file_count == 0)
		return;
	add_string(ret, "files:\n");
	for (size_t i = 0; i < shown; i++) {
		const struct record_listed *file = &record->files[i];

		(void)buf_addf(ret, &ignored, "  %s %s", file->change, file->path);
		if (strcmp(file->kind, "file") != 0)
			(void)buf_addf(ret, &ignored, " (%s)", file->kind);
		else if (file->mime != NULL)
			(void)buf_addf(ret, &ignored, " (%s, %" PRIu64 " bytes)", file->mime,
				       file->size);
		add(ret, "\n", 1);
	}
	if (shown < record->file_count)
		(void)buf_addf(ret, &ignored, "  and %zu more\n", record->file_count - shown);
}

static void render_notes(const struct record *record, struct buf *ret)
{
	static const char *const names[] = { "stdout", "stderr" };
	size_t shown = record->diagnostic_count < NOTES_SHOWN ? record->diagnostic_count :
								NOTES_SHOWN;
	struct err ignored;

	for (size_t i = 0; i < 2; i++) {
		const struct record_cut *cut = &record->cut[i];

		if (!cut->is_set)
			continue;
		(void)buf_addf(ret, &ignored, "[%s: %" PRIu64 " of %" PRIu64 " bytes kept",
			       names[i], cut->bytes_kept, cut->bytes_total);
		if (cut->handle != NULL)
			(void)buf_addf(ret, &ignored, "; all of it: %s", cut->handle);
		add_string(ret, "]\n");
	}
	for (size_t i = 0; i < shown; i++)
		(void)buf_addf(ret, &ignored, "note: %s: %s\n", record->diagnostics[i].code,
			       record->diagnostics[i].message);
	if (shown < record->diagnostic_count)
		(void)buf_addf(ret, &ignored, "note: and %zu more\n",
			       record->diagnostic_count - shown);
}

/* How much of each part is shown, together at most `room`. */
static void share_room(const struct buf parts[PART_COUNT], size_t room, size_t shares[PART_COUNT])
{
	bool is_settled[PART_COUNT] = { false };
	size_t waiting = PART_COUNT;
	bool again = true;

	while (again && waiting > 0) {
		size_t share = room / waiting;

		again = false;
		for (size_t i = 0; i < PART_COUNT; i++) {
			if (is_settled[i] || parts[i].len > share)
				continue;
			is_settled[i] = true;
			shares[i] = parts[i].len;
			room -= parts[i].len;
			waiting--;
			again = true;
		}
	}
	for (size_t i = 0; i < PART_COUNT; i++)
		if (!is_settled[i])
			shares[i] = room / waiting;
}

void render_text(struct record *record, enum record_status status)
{
	struct buf parts[PART_COUNT];
	size_t shares[PART_COUNT];

	for (size_t i = 0; i < PART_COUNT; i++)
		parts[i] = BUF_INIT(RECORD_JSON_MAX);
	render_stream(&record->stream[0], "", &parts[PART_STDOUT]);
	render_stream(&record->stream[1], "[stderr]\n", &parts[PART_STDERR]);
	render_results(record, &parts[PART_RESULTS]);
	render_error(record, status, &parts[PART_ERROR]);
	render_files(record, &parts[PART_FILES]);
	render_notes(record, &parts[PART_NOTES]);
	/* One byte for each part: a cut may leave it without the newline at its end. */
	share_room(parts, RECORD_TEXT_MAX - PART_COUNT, shares);
	buf_clear(&record->text);
	for (size_t i = 0; i < PART_COUNT; i++) {
		end_line(&record->text);
		text_cut(buf_text(&parts[i]), parts[i].len, shares[i], &record->text);
		buf_done(&parts[i]);
	}
	if (record->text.len == 0)
		add_string(&record->text, "(no output)");
	else if (record->text.data[record->text.len - 1] == '\n')
		record->text.data[--record->text.len] = '\0';
}
