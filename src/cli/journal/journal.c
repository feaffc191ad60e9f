/*
 * journal.c - keeps a run in memory.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs.
 * Reads:    nothing.
 * Never:    grows past journal.h's limits; read.c checks them.
 */
#include "cli/journal/journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void journal_init(struct journal *journal)
{
	*journal = (struct journal){ .bytes = 0 };
}

static void free_item(struct journal_item *item)
{
	free(item->text);
	free(item->record);
	free(item->status);
	free(item->output);
	free(item->execution);
}

void journal_drop_checked(struct journal_checked *checked)
{
	while (checked->count > 0)
		free(checked->claims[--checked->count].text);
	free(checked->claims);
	*checked = (struct journal_checked){ 0 };
}

void journal_done(struct journal *journal)
{
	for (size_t i = 0; i < journal->item_count; i++)
		free_item(&journal->items[i]);
	for (size_t i = 0; i < journal->question_count; i++) {
		free(journal->questions[i].message);
		journal_drop_checked(&journal->questions[i].checked);
	}
	for (size_t i = 0; i < journal->file_count; i++) {
		free(journal->files[i].path);
		free(journal->files[i].name);
	}
	free(journal->items);
	free(journal->questions);
	free(journal->files);
	free(journal->command);
	free(journal->model);
	free(journal->base_url);
	free(journal->language);
	free(journal->template_name);
	free(journal->calling);
	free(journal->session_id);
	free(journal->session_name);
	free(journal->session_url);
	journal_init(journal);
}

struct journal_question *journal_last_question(struct journal *journal)
{
	return journal->question_count > 0 ? &journal->questions[journal->question_count - 1]
					   : NULL;
}

struct journal_item *journal_cell(struct journal *journal, size_t number)
{
	/* Search from the end, because nearly always the last cell is wanted. */
	size_t at = journal->cell_count;

	for (size_t i = journal->item_count; i > 0; i--)
		if (journal->items[i - 1].kind == JOURNAL_CELL && at-- == number)
			return &journal->items[i - 1];
	return NULL;
}

static void begin_question(struct journal *journal)
{
	journal->questions = mem_grow(journal->questions, journal->question_count + 1,
				    sizeof(*journal->questions));
	journal->questions[journal->question_count++] = (struct journal_question){
		.item = journal->item_count,
		.stop = AGENT_STOP_COUNT_,
	};
}

struct journal_item *journal_add(struct journal *journal, enum journal_kind kind)
{
	if (kind == JOURNAL_QUESTION)
		begin_question(journal);
	journal->items = mem_grow(journal->items, journal->item_count + 1, sizeof(*journal->items));
	journal->items[journal->item_count] = (struct journal_item){ .kind = kind };
	journal->cell_count += kind == JOURNAL_CELL;
	return &journal->items[journal->item_count++];
}

bool journal_last_live(const struct journal *journal, size_t *ret)
{
	for (size_t i = journal->question_count; i > 0; i--)
		if (!journal->questions[i - 1].is_undone) {
			*ret = i - 1;
			return true;
		}
	return false;
}

bool journal_is_open(const struct journal *journal)
{
	const struct journal_question *last =
		journal->question_count > 0 ? &journal->questions[journal->question_count - 1]
					    : NULL;

	return last != NULL && !last->is_undone && last->stop != AGENT_STOP_ANSWER;
}

void journal_read_checked(const struct journal_question *question, struct outcome_checked *ret)
{
	const struct journal_checked *checked = &question->checked;

	*ret = (struct outcome_checked){
		.is_checked = checked->is_checked,
		.numbers = checked->numbers,
		.links = checked->links,
		.unsupported = checked->unsupported,
		.count = checked->count < AGENT_CLAIMS_MAX ? checked->count : AGENT_CLAIMS_MAX,
	};
	for (size_t i = 0; i < ret->count; i++)
		ret->claims[i] = (struct outcome_claim){ .is_link = checked->claims[i].is_link,
							 .text = checked->claims[i].text,
							 .len = strlen(checked->claims[i].text) };
}

const struct journal_question *journal_question_of(const struct journal *journal, size_t item)
{
	for (size_t i = journal->question_count; i > 0; i--)
		if (journal->questions[i - 1].item <= item)
			return &journal->questions[i - 1];
	return NULL;
}

void journal_sum(const struct journal *journal, struct agent_usage *ret, bool *ret_has_cost)
{
	*ret = (struct agent_usage){ 0 };
	*ret_has_cost = false;
	for (size_t i = 0; i < journal->question_count; i++) {
		const struct agent_usage *usage = &journal->questions[i].usage;

		ret->requests += usage->requests;
		ret->steps += usage->steps;
		ret->in += usage->in;
		ret->cached += usage->cached;
		ret->out += usage->out;
		ret->reasoning += usage->reasoning;
		ret->cost_micro += usage->cost_micro;
		*ret_has_cost = *ret_has_cost || journal->questions[i].has_cost;
	}
}

enum agent_stop journal_stop_of(const char *name)
{
	unsigned stop = 0;

	while (stop < AGENT_STOP_COUNT_ &&
	       strcmp(agent_stop_name((enum agent_stop)stop), name) != 0)
		stop++;
	return (enum agent_stop)stop;
}
