/*
 * json.c - writes a run as JSON: docs/ask.schema.json, docs/transcript.schema.json.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs.
 * Reads:    records, and texts of a model.
 * Never:    writes an API key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/journal/form.h"
#include "codec/json_get.h"
#include "codec/json_write.h"
#include "agent_client/outcome.h"

#define RECORD_MAX JOURNAL_LINE_MAX
#define LINKED_MAX (6u * (size_t)AGENT_ANSWER_MAX)

/* One question: its items, and their records. */
struct part {
	const struct journal *journal;
	const struct journal_question *question;
	const char *folder; /* where files were saved, or NULL */
	size_t from, to;
	struct json_value **records; /* indexed by item */
};

static void part_init(struct part *part, const struct journal *journal, size_t number,
		      const char *folder)
{
	struct err ignored; /* a record that cannot be parsed has no files */

	part->journal = journal;
	part->question = &journal->questions[number];
	part->folder = folder;
	part->from = part->question->item;
	part->to = number + 1 < journal->question_count ? journal->questions[number + 1].item
						      : journal->item_count;
	part->records = mem_new0(part->to - part->from + 1, sizeof(struct json_value *));
	for (size_t i = part->from; i < part->to; i++)
		if (journal->items[i].record != NULL)
			(void)json_read_parse(journal->items[i].record,
					      strlen(journal->items[i].record), RECORD_MAX,
					      &part->records[i - part->from], &ignored);
}

static void part_done(struct part *part)
{
	for (size_t i = part->from; i < part->to; i++)
		json_read_free(part->records[i - part->from]);
	free(part->records);
}

static void write_steps(struct json_writer *writer, const struct part *part)
{
	json_write_key(writer, "steps");
	json_write_array_begin(writer);
	for (size_t i = part->from; i < part->to; i++) {
		const struct journal_item *item = &part->journal->items[i];

		if (item->kind != JOURNAL_CELL)
			continue;
		json_write_object_begin(writer);
		json_write_member_string(writer, "code", item->text);
		json_write_key(writer, "record");
		if (item->record != NULL)
			json_write_raw(writer, item->record, strlen(item->record));
		else
			json_write_null(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* Whether a later step changed the same file. */
static bool is_outdated(const struct part *part, size_t item, const char *path)
{
	for (size_t i = item + 1; i < part->to; i++) {
		const struct json_value *files =
			json_read_member(part->records[i - part->from], "files");

		for (size_t j = 0; j < json_read_count(files); j++) {
			const char *other = json_get_text(json_read_at(files, j), "path");

			if (other != NULL && strcmp(other, path) == 0)
				return true;
		}
	}
	return false;
}

static void write_file(struct json_writer *writer, const struct part *part,
		       const struct json_value *file, const char *path)
{
	cleanup_buf struct buf saved = BUF_INIT(16384);
	int64_t size = 0;
	struct err err;

	(void)json_read_int(json_read_member(file, "size"), &size);
	json_write_object_begin(writer);
	json_write_member_string(writer, "path", path);
	json_write_key(writer, "size");
	json_write_int(writer, size);
	json_write_member_string(writer, "mime", json_get_text(file, "mime"));
	json_write_member_string(writer, "sha256", json_get_text(file, "sha256"));
	json_write_member_string(writer, "artifact", json_get_text(file, "artifact"));
	if (part->folder != NULL && buf_addf(&saved, &err, "%s/%s", part->folder, path) == 0)
		json_write_member_string(writer, "saved", saved.data);
	else
		json_write_member_string(writer, "saved", NULL);
	json_write_object_end(writer);
}

/* Writes every file that was created or changed, in its last state. */
static void write_files(struct json_writer *writer, const struct part *part)
{
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = part->from; i < part->to; i++) {
		const struct json_value *files =
			json_read_member(part->records[i - part->from], "files");

		for (size_t j = 0; j < json_read_count(files); j++) {
			const struct json_value *file = json_read_at(files, j);
			const char *path = json_get_text(file, "path");
			const char *change = json_get_text(file, "change");

			if (path == NULL || change == NULL || strcmp(change, "deleted") == 0 ||
			    is_outdated(part, i, path))
				continue;
			write_file(writer, part, file, path);
		}
	}
	json_write_array_end(writer);
}

static const struct journal_item *answer_of(const struct part *part)
{
	const struct journal_item *last =
		part->to > part->from ? &part->journal->items[part->to - 1] : NULL;

	return last != NULL && last->kind == JOURNAL_ANSWER ? last : NULL;
}

/* Writes the answer with links replaced, as it was printed. */
static int write_answer(struct json_writer *writer, const struct part *part, struct err *err)
{
	const struct journal_item *answer = answer_of(part);
	cleanup_buf struct buf linked = BUF_INIT(LINKED_MAX);
	struct ask_link link = { .folder = part->folder };

	json_write_key(writer, "answer");
	if (answer == NULL || answer->text[0] == '\0') {
		json_write_null(writer);
		return 0;
	}
	if (ask_link_add(&link, answer->text, strlen(answer->text), &linked, err) < 0 ||
	    ask_link_end(&link, &linked, err) < 0)
		return (int)err->code;
	json_write_text(writer, buf_text(&linked), linked.len);
	return 0;
}

static int write_question(struct json_writer *writer, const struct part *part, struct err *err)
{
	const struct journal_question *question = part->question;
	const bool is_open = question->stop == AGENT_STOP_COUNT_;
	struct outcome_checked checked;

	json_write_object_begin(writer);
	json_write_member_string(writer, "schema", "reckon.ask/1");
	json_write_member_string(writer, "model", part->journal->model);
	json_write_member_string(writer, "question", part->journal->items[part->from].text);
	if (question->is_undone)
		json_write_member_bool(writer, "undone", true);
	if (write_answer(writer, part, err) < 0)
		return (int)err->code;
	json_write_member_string(writer, "stop",
				 agent_stop_name(is_open ? AGENT_STOP_INTERRUPTED
							 : question->stop));
	json_write_member_string(writer, "message",
				 is_open ? "the program ended before there was an answer"
					 : question->message);
	journal_read_checked(question, &checked);
	outcome_write_checked(writer, &checked);
	write_steps(writer, part);
	write_files(writer, part);
	outcome_write_usage(writer, &question->usage);
	outcome_write_cost(writer, &question->usage, question->has_cost);
	json_write_object_end(writer);
	return 0;
}

static int write_part(struct json_writer *writer, const struct journal *journal, size_t number,
		      const char *folder, struct err *err)
{
	struct part part;
	int rc;

	part_init(&part, journal, number, folder);
	rc = write_question(writer, &part, err);
	part_done(&part);
	return rc;
}

int journal_json_question(const struct journal *journal, size_t number, const char *folder,
			struct buf *ret, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	if (write_part(&writer, journal, number, folder, err) < 0 ||
	    json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return buf_addc(ret, '\n', err);
}

static void write_notes(struct json_writer *writer, const struct journal *journal)
{
	json_write_key(writer, "notes");
	json_write_array_begin(writer);
	for (size_t i = 0; i < journal->item_count; i++)
		if (journal->items[i].kind == JOURNAL_NOTE)
			json_write_string(writer, journal->items[i].text);
	json_write_array_end(writer);
}

int journal_json_all(const struct journal *journal, const char *folder, struct buf *ret,
		     struct err *err)
{
	struct json_writer writer;
	struct agent_usage usage;
	bool has_cost;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.transcript/1");
	json_write_member_string(&writer, "id", journal->id[0] != '\0' ? journal->id : NULL);
	json_write_member_string(&writer, "command", journal->command);
	json_write_member_string(&writer, "started_at", journal->started);
	json_write_member_string(&writer, "model", journal->model);
	json_write_member_string(&writer, "language", journal->language);
	json_write_member_string(&writer, "template", journal->template_name);
	json_write_member_string(&writer, "session", journal->session_name != NULL
							     ? journal->session_name
							     : journal->session_id);
	write_notes(&writer, journal);
	json_write_key(&writer, "questions");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < journal->question_count; i++)
		if (write_part(&writer, journal, i, folder, err) < 0)
			return (int)err->code;
	json_write_array_end(&writer);
	journal_sum(journal, &usage, &has_cost);
	outcome_write_usage(&writer, &usage);
	outcome_write_cost(&writer, &usage, has_cost);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return buf_addc(ret, '\n', err);
}
