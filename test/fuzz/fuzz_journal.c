/*
 * fuzz_journal.c - the lines of a stored run.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/journal/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A journal that was read can be summed, and written as Markdown and JSON. */
static void use(struct journal *journal)
{
	cleanup_buf struct buf json = BUF_INIT(JOURNAL_FORM_MAX), page = BUF_INIT(JOURNAL_FORM_MAX);
	struct agent_usage usage;
	bool has_cost;
	struct err err;

	journal_sum(journal, &usage, &has_cost);
	for (size_t i = 0; i < journal->item_count; i++)
		if (journal->items[i].text == NULL)
			abort();
	for (size_t i = 0; i < journal->question_count; i++)
		if (journal->questions[i].item >= journal->item_count ||
		    journal->items[journal->questions[i].item].kind != JOURNAL_QUESTION ||
		    journal->questions[i].stop > AGENT_STOP_COUNT_)
			abort();
	if (journal_cell(journal, 0) != NULL || journal_cell(journal, journal->cell_count + 1) != NULL)
		abort();
	for (size_t i = 1; i <= journal->cell_count; i++)
		if (journal_cell(journal, i) == NULL)
			abort();
	if (journal_markdown(journal, &page, &err) < 0)
		abort();
	if (journal->model != NULL && journal_json_all(journal, NULL, &json, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_journal struct journal journal;
	size_t at = 0;

	journal_init(&journal);
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		const size_t len = end != NULL ? (size_t)(end - (data + at)) : size - at;
		const size_t items = journal.item_count, lines = journal.lines;
		struct err err;

		if (journal_read(&journal, (const char *)data + at, len, &err) < 0) {
			if (err.code != ERR_PROTOCOL || err.text[0] == '\0')
				abort();
			if (journal.item_count != items || journal.lines != lines)
				abort();
		}
		at += len + 1;
	}
	if (journal.lines > 0)
		use(&journal);
	return 0;
}
