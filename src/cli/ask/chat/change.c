/*
 * change.c - /model and /undo: continue the conversation with another model, or without its last
 * question.
 *
 * Runs in:  reckon chat.
 * Reads:    what the person typed; the run so far.
 * Never:    passes one provider's encrypted items to another: a new agent only gets texts, code and
 *           outputs. Never leaves the chat without a model because another one is not available.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"

#define QUESTION_SHOWN 60u /* bytes of a question that are printed */

/*
 * Finds the model of that name, with the settings of the command line; restores the old one if
 * there is none.
 */
static int find_model(struct ask *ask, const char *name, struct err *err)
{
	const struct agent_settings settings = ask->settings;
	const char *const option = ask->model_option, *const url = ask->base_url_option;
	const size_t provider = strcspn(name, "/");

	/* --base-url only holds for the provider that was named with it. */
	if (strlen(ask->provider) != provider || strncmp(ask->provider, name, provider) != 0)
		ask->base_url_option = NULL;
	ask->settings = ask->option_settings;
	ask->model_option = name;
	if (ask_model_find(ask, err) < 0) {
		ask->settings = settings;
		ask->model_option = option;
		ask->base_url_option = url;
		return (int)err->code;
	}
	return 0;
}

static char *name_of_model(const struct ask *ask)
{
	const size_t size = strlen(ask->provider) + strlen(ask->model) + 2;
	char *name = mem_new0(size, 1);

	(void)snprintf(name, size, "%s/%s", ask->provider, ask->model);
	return name;
}

/* The chat cannot continue, so it ends; the stored run can be resumed. */
static void give_up(struct ask *ask, const char *command, struct err *err)
{
	(void)err_wrap(err, "/%s", command);
	(void)cli_complain(err);
	ask->view.output.status = EXIT_CODE_RECKON;
}

void ask_change_model(struct ask *ask, const char *name)
{
	cleanup_free char *before = name_of_model(ask), *now = NULL;
	const bool had_images = ask->settings.images != 0;
	struct err err;

	if (name[0] == '\0') {
		run_output_line("%s; /model PROVIDER/NAME goes on with another one (reckon models "
				"lists them)", before);
		return;
	}
	free(ask->model_named);
	ask->model_named = mem_strdup(name);
	if (find_model(ask, ask->model_named, &err) < 0) {
		(void)err_wrap(&err, "/model");
		(void)cli_complain(&err);
		return;
	}
	if (ask->start_again(ask, &err) < 0) {
		give_up(ask, "model", &err);
		return;
	}
	ask_keep_setting(ask);
	now = name_of_model(ask);
	run_output_line("%s goes on; it is told what was asked, run and answered%s", now,
			strcmp(before, now) != 0 ? ", and not what the other one thought" : "");
	if (had_images && ask->settings.images == 0 && ask_images_are_given(ask))
		run_output_line("%s is sent no images: of those among the files it is told the "
				"names", now);
}

static void tell_undone(const struct journal *journal, size_t number)
{
	const struct journal_item *item = &journal->items[journal->questions[number].item];
	const size_t to = number + 1 < journal->question_count
				  ? journal->questions[number + 1].item
				  : journal->item_count;
	const size_t len = strlen(item->text);
	size_t shown = len < QUESTION_SHOWN ? len : QUESTION_SHOWN, cells = 0;

	shown -= utf8_incomplete_tail(item->text, shown);
	for (size_t i = journal->questions[number].item; i < to; i++)
		cells += journal->items[i].kind == JOURNAL_CELL && journal->items[i].status != NULL &&
			 strcmp(journal->items[i].status, "refused") != 0;
	run_output_line("taken back: %.*s%s", (int)shown, item->text, shown < len ? "…" : "");
	if (cells > 0)
		run_output_line("the model forgets it; what its %zu cell%s did to variables and "
				"files stays, as does what was paid", cells, cells == 1 ? "" : "s");
	else
		run_output_line("the model forgets it; no cell had run");
}

void ask_change_undo(struct ask *ask)
{
	struct journal *journal = &ask->keep.journal;
	cleanup_free char *name = name_of_model(ask);
	size_t number;
	struct err err;

	if (!journal_last_live(journal, &number)) {
		run_output_line("there is no question to take back");
		return;
	}
	ask_keep_undo(ask);
	free(ask->model_named);
	ask->model_named = TAKE_PTR(name);
	/* Find the model again, because its key was only in the agent that ends now. */
	if (find_model(ask, ask->model_named, &err) < 0 || ask->start_again(ask, &err) < 0) {
		give_up(ask, "undo", &err);
		return;
	}
	tell_undone(journal, number);
}
