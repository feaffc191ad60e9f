/*
 * open.c - resumes a question of a stored run that has no answer.
 *
 * Runs in:  reckon ask.
 * Reads:    a stored run, which may come from another machine.
 * Never:    asks the question again from the beginning.
 */
#include <string.h>

#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "codec/json_read.h"

int ask_open_check(struct ask *ask, struct err *err)
{
	struct journal *journal = &ask->keep.journal;

	if (!journal_is_open(journal)) {
		err_set(err, ERR_INVALID, "there is no question, and run %s has its answer",
			journal->id);
		return err_remedy(err, "reckon ask --resume %s \"QUESTION\" FILE...", journal->id);
	}
	if (ask->view.run.file_count > 0)
		return err_set(err, ERR_INVALID, "--image needs a question");
	ask->resume.is_open = true;
	ask->resume.before = journal_last_question(journal)->usage;
	return 0;
}

static void save(struct ask *ask, const struct journal_item *cell, size_t number)
{
	struct json_value *record;
	struct err ignored; /* loading the run has already parsed it as JSON */

	if (json_read_parse(cell->record, strlen(cell->record), JOURNAL_LINE_MAX, &record,
			    &ignored) < 0)
		return;
	ask->view.output.cell = number;
	run_save_all(&ask->view.output, record);
	json_read_free(record);
}

void ask_open_save(struct ask *ask)
{
	const struct journal *journal = &ask->keep.journal;
	size_t number = 0;

	if (!ask->resume.is_open || ask->view.output.out_dir < 0)
		return;
	for (size_t i = 0; i < journal->item_count; i++) {
		const struct journal_item *item = &journal->items[i];

		number += item->kind == JOURNAL_CELL;
		if (item->kind == JOURNAL_CELL && item->record != NULL &&
		    i >= journal->questions[journal->question_count - 1].item)
			save(ask, item, number);
	}
}
