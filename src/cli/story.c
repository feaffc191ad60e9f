/*
 * story.c - a run in memory.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs.
 * Reads:    nothing by itself.
 * Never:    grows past story.h's bounds; story_read.c looks at them.
 */
#include "cli/story.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void story_init(struct story *story)
{
	*story = (struct story){ .bytes = 0 };
}

static void free_item(struct story_item *item)
{
	free(item->text);
	free(item->record);
	free(item->status);
	free(item->output);
}

void story_done(struct story *story)
{
	for (size_t i = 0; i < story->item_count; i++)
		free_item(&story->items[i]);
	for (size_t i = 0; i < story->question_count; i++)
		free(story->questions[i].message);
	for (size_t i = 0; i < story->file_count; i++) {
		free(story->files[i].path);
		free(story->files[i].name);
	}
	free(story->items);
	free(story->questions);
	free(story->files);
	free(story->command);
	free(story->model);
	free(story->base_url);
	free(story->language);
	free(story->template_name);
	free(story->calling);
	free(story->session_id);
	free(story->session_name);
	free(story->session_url);
	story_init(story);
}

struct story_question *story_last_question(struct story *story)
{
	return story->question_count > 0 ? &story->questions[story->question_count - 1] : NULL;
}

struct story_item *story_cell(struct story *story, size_t number)
{
	/* It is nearly always the last one. */
	size_t at = story->cell_count;

	for (size_t i = story->item_count; i > 0; i--)
		if (story->items[i - 1].kind == STORY_CELL && at-- == number)
			return &story->items[i - 1];
	return NULL;
}

static void begin_question(struct story *story)
{
	story->questions = mem_grow(story->questions, story->question_count + 1,
				    sizeof(*story->questions));
	story->questions[story->question_count++] = (struct story_question){
		.item = story->item_count,
		.stop = AGENT_STOP_COUNT_,
	};
}

struct story_item *story_add(struct story *story, enum story_kind kind)
{
	if (kind == STORY_QUESTION)
		begin_question(story);
	story->items = mem_grow(story->items, story->item_count + 1, sizeof(*story->items));
	story->items[story->item_count] = (struct story_item){ .kind = kind };
	story->cell_count += kind == STORY_CELL;
	return &story->items[story->item_count++];
}

void story_sum(const struct story *story, struct agent_usage *ret, bool *ret_has_cost)
{
	*ret = (struct agent_usage){ 0 };
	*ret_has_cost = false;
	for (size_t i = 0; i < story->question_count; i++) {
		const struct agent_usage *usage = &story->questions[i].usage;

		ret->requests += usage->requests;
		ret->steps += usage->steps;
		ret->in += usage->in;
		ret->cached += usage->cached;
		ret->out += usage->out;
		ret->reasoning += usage->reasoning;
		ret->cost_micro += usage->cost_micro;
		*ret_has_cost = *ret_has_cost || story->questions[i].has_cost;
	}
}

enum agent_stop story_stop_of(const char *name)
{
	unsigned stop = 0;

	while (stop < AGENT_STOP_COUNT_ &&
	       strcmp(agent_stop_name((enum agent_stop)stop), name) != 0)
		stop++;
	return (enum agent_stop)stop;
}
