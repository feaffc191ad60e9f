/*
 * fuzz_story.c - the lines of a stored run.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/story_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was read can be counted and written in every form. */
static void use(struct story *story)
{
	cleanup_buf struct buf json = BUF_INIT(STORY_FORM_MAX), page = BUF_INIT(STORY_FORM_MAX);
	struct agent_usage usage;
	bool has_cost;
	struct err err;

	story_sum(story, &usage, &has_cost);
	for (size_t i = 0; i < story->item_count; i++)
		if (story->items[i].text == NULL)
			abort();
	for (size_t i = 0; i < story->question_count; i++)
		if (story->questions[i].item >= story->item_count ||
		    story->items[story->questions[i].item].kind != STORY_QUESTION ||
		    story->questions[i].stop > AGENT_STOP_COUNT_)
			abort();
	if (story_cell(story, 0) != NULL || story_cell(story, story->cell_count + 1) != NULL)
		abort();
	for (size_t i = 1; i <= story->cell_count; i++)
		if (story_cell(story, i) == NULL)
			abort();
	if (story_markdown(story, &page, &err) < 0)
		abort();
	if (story->model != NULL && story_json_all(story, NULL, &json, &err) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_story struct story story;
	size_t at = 0;

	story_init(&story);
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		const size_t len = end != NULL ? (size_t)(end - (data + at)) : size - at;
		const size_t items = story.item_count, lines = story.lines;
		struct err err;

		if (story_read(&story, (const char *)data + at, len, &err) < 0) {
			if (err.code != ERR_PROTOCOL || err.text[0] == '\0')
				abort();
			if (story.item_count != items || story.lines != lines)
				abort();
		}
		at += len + 1;
	}
	if (story.lines > 0)
		use(&story);
	return 0;
}
