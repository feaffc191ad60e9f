/*
 * past.c - sends the history of a resumed run to the model.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    a stored run.
 * Never:    sends more than the model's context window holds: leaves out the oldest questions
 *           first, and says so.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "codec/json_read.h"
#include "agent_client/record.h"

#define FRAME_BYTES_MAX ((size_t)15 * 1024 * 1024)
#define FRAME_FIELDS 5u /* a cell's fields in a frame */
#define BYTES_PER_TOKEN 3u
#define OUTPUT_WEIGHT 600u /* the agent shortens older output to about this size */
#define PROSE_MAX ((size_t)1024 * 1024)

static const char nobody_knows[] =
	"[nobody knows what this cell gave: the program that ran it was ended meanwhile]";

struct past {
	struct ask *ask;
	struct buf frame;
	size_t fields;
	const struct journal_item *prose; /* text of the model before the next cell */
};

/* ---- what fits ---- */

static size_t weight_of(const struct journal_item *item)
{
	return strlen(item->text) + (item->kind == JOURNAL_CELL ? OUTPUT_WEIGHT : 0);
}

static size_t end_of(const struct ask *ask)
{
	const struct journal *journal = &ask->keep.journal;

	return ask->resume.questions < journal->question_count
		       ? journal->questions[ask->resume.questions].item
		       : journal->item_count;
}

/* The first question to send. Half of the context window stays free for what follows. */
static size_t first_question(const struct ask *ask)
{
	const struct journal *journal = &ask->keep.journal;
	size_t room = (size_t)ask->settings.context_tokens * BYTES_PER_TOKEN / 2;
	size_t to = end_of(ask), question = ask->resume.questions, cells = 0;

	while (question > 0) {
		const bool is_included = !journal->questions[question - 1].is_undone;
		size_t weight = 0;

		for (size_t i = journal->questions[question - 1].item; is_included && i < to; i++) {
			weight += weight_of(&journal->items[i]);
			cells++;
		}
		/* Always send the last question; the agent shortens it if needed. */
		if ((weight > room || cells > AGENT_PAST_MAX) && question < ask->resume.questions)
			break;
		room = weight < room ? room - weight : 0;
		to = journal->questions[--question].item;
	}
	return question;
}

/* ---- frames ---- */

static int send(struct past *past, struct err *err)
{
	const int rc = past->fields > 0 ? agent_client_tell(past->ask->driver.client, AGENT_HISTORY,
							    &past->frame, err)
					: 0;

	buf_clear(&past->frame);
	past->fields = 0;
	return rc;
}

static int begin(struct past *past, enum agent_past_kind kind, const char *text, size_t len,
		 struct err *err)
{
	if ((past->fields + 2 * FRAME_FIELDS > AGENT_FIELDS_MAX ||
	     past->frame.len + len > FRAME_BYTES_MAX / 2) &&
	    send(past, err) < 0)
		return (int)err->code;
	past->fields += FRAME_FIELDS + 1;
	if (agent_pack_u64(&past->frame, AGENT_TAG_PAST, kind, err) < 0)
		return (int)err->code;
	return agent_pack(&past->frame, AGENT_TAG_TEXT, text, len, err);
}

static int add(struct past *past, enum agent_past_kind kind, const char *text, struct err *err)
{
	const size_t len = strlen(text);

	return begin(past, kind, text, len < AGENT_ANSWER_MAX ? len : AGENT_ANSWER_MAX, err);
}

static int add_outcome(struct past *past, const char *status, const char *text, size_t len,
		       struct err *err)
{
	if (agent_pack_text(&past->frame, AGENT_TAG_STATUS, status, err) < 0)
		return (int)err->code;
	return agent_pack(&past->frame, AGENT_TAG_OUTPUT, text,
			  len < AGENT_RESULT_MAX ? len : AGENT_RESULT_MAX, err);
}

static int add_record(struct past *past, const struct journal_item *cell, struct err *err)
{
	struct json_value *record = NULL;
	struct agent_client_result result;
	int rc;

	if (json_read_parse(cell->record, strlen(cell->record), JOURNAL_LINE_MAX, &record, err) < 0)
		return err_wrap(err, "record");
	agent_client_result_read(record, &result);
	for (size_t i = 0; i < result.handle_count; i++)
		agent_client_offer(past->ask->driver.client, result.handles[i]);
	rc = add_outcome(past, cell->status, result.text, result.len, err);
	if (rc == 0 && result.image_count > 0)
		rc = agent_pack_u64(&past->frame, AGENT_TAG_IMAGES, result.image_count, err);
	json_read_free(record);
	return rc;
}

static int add_cell(struct past *past, const struct journal_item *cell, struct err *err)
{
	const char *prose = past->prose != NULL ? past->prose->text : "";

	past->prose = NULL;
	if (begin(past, AGENT_PAST_CELL, prose, strnlen(prose, PROSE_MAX), err) < 0 ||
	    agent_pack(&past->frame, AGENT_TAG_CODE, cell->text,
		       strnlen(cell->text, AGENT_CODE_MAX), err) < 0)
		return (int)err->code;
	if (cell->record != NULL)
		return add_record(past, cell, err);
	if (cell->status == NULL)
		return add_outcome(past, "interrupted", nobody_knows, sizeof(nobody_knows) - 1,
				   err);
	return add_outcome(past, cell->status, cell->output, strlen(cell->output), err);
}

/* The first question names the files of the run's beginning, as it did then. */
static int add_question(struct past *past, const struct journal_item *item, bool is_first,
			struct err *err)
{
	const struct journal *journal = &past->ask->keep.journal;
	cleanup_buf struct buf text = BUF_INIT(AGENT_ANSWER_MAX);

	if (buf_adds(&text, item->text, err) < 0)
		return (int)err->code;
	for (size_t i = 0; is_first && i < journal->file_count; i++)
		if ((i == 0 && buf_adds(&text, "\n\nFiles in /mnt/data:\n", err) < 0) ||
		    buf_addf(&text, err, "- %s\n", journal->files[i].name) < 0)
			return (int)err->code;
	return begin(past, AGENT_PAST_QUESTION, buf_text(&text), text.len, err);
}

/* A question without an answer gets a generated one, because roles have to alternate. */
static int add_missing_answer(struct past *past, const struct journal_question *question,
			      struct err *err)
{
	char text[128];

	if (question->stop == AGENT_STOP_COUNT_)
		return add(past, AGENT_PAST_ANSWER,
			   "[no answer: the program was ended before there was one]", err);
	(void)snprintf(text, sizeof(text), "[no answer: %s]", agent_stop_name(question->stop));
	return add(past, AGENT_PAST_ANSWER, text, err);
}

static int add_item(struct past *past, const struct journal_item *item, bool is_first,
		    struct err *err)
{
	switch (item->kind) {
	case JOURNAL_QUESTION:
		return add_question(past, item, is_first, err);
	case JOURNAL_PROSE:
		past->prose = item;
		return 0;
	case JOURNAL_CELL:
		return add_cell(past, item, err);
	case JOURNAL_ANSWER:
		return add(past, AGENT_PAST_ANSWER, item->text, err);
	case JOURNAL_NOTE:
		break;
	}
	return 0;
}

static int add_all(struct past *past, size_t question, struct err *err)
{
	const struct ask *ask = past->ask;
	const struct journal *journal = &ask->keep.journal;
	bool is_first = true;

	for (; question < ask->resume.questions; question++) {
		const bool is_open =
			ask->resume.is_open && question + 1 == ask->resume.questions;

		if (journal->questions[question].is_undone)
			continue;
		const size_t to = question + 1 < ask->resume.questions
					  ? journal->questions[question + 1].item
					  : end_of(ask);
		bool answered = false;

		past->prose = NULL;
		for (size_t i = journal->questions[question].item; i < to; i++) {
			if (add_item(past, &journal->items[i], is_first, err) < 0)
				return (int)err->code;
			answered = answered || (journal->items[i].kind == JOURNAL_ANSWER &&
						journal->items[i].text[0] != '\0');
		}
		if (!answered && !is_open && add_missing_answer(past, &journal->questions[question], err) < 0)
			return (int)err->code;
		is_first = false;
	}
	return 0;
}

bool ask_past_is_empty(const struct ask *ask)
{
	for (size_t i = 0; i < ask->resume.questions; i++)
		if (!ask->keep.journal.questions[i].is_undone)
			return false;
	return true;
}

int ask_past_tell(struct ask *ask, struct err *err)
{
	struct past past = { .ask = ask, .frame = BUF_INIT(FRAME_BYTES_MAX) };
	const size_t first = ask->resume.is_history_sent ? 0 : first_question(ask);
	int rc = 0;

	if (!ask->resume.is_history_sent && first > 0) {
		run_output_line(
			"reckon: the model is not told of the first %zu of %zu questions: it "
			"could not read them all",
			first, ask->resume.questions);
		rc = buf_addf(&ask->note, err, "%sWhat was said before is left out here.",
			      ask->note.len > 0 ? " " : "");
	}
	if (rc == 0 && !ask->resume.is_history_sent)
		rc = add_all(&past, first, err);
	if (rc == 0 && ask->note.len > 0)
		rc = add(&past, AGENT_PAST_NOTE, ask->note.data, err);
	if (rc == 0)
		rc = send(&past, err);
	ask->resume.is_history_sent = true;
	buf_clear(&ask->note);
	buf_done(&past.frame);
	return rc;
}
