/*
 * converse.c - answers one question with the steps of a model, and reports how it ended.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    events of the agent driver.
 * Never:    connects to the model itself.
 */
#include "cli/ask/ask.h"
#include "cli/cli.h"

static void take_end(struct ask *ask)
{
	ask->stop = ask->driver.stop;
	ask->is_answered = ask->stop == AGENT_STOP_ANSWER;
	err_set(&ask->why, ERR_LIMIT, "%s", ask->driver.message);
	err_remedy(&ask->why, "%s", ask->driver.remedy);
	ask_keep_answer(ask);
}

int ask_once(struct ask *ask, struct err *err)
{
	enum driver_result result = DRIVER_WAITS;

	ask->is_answered = false;
	if (ask->resume.is_open)
		ask_keep_resume(ask);
	else
		ask_keep_question(ask);
	ask_thoughts_begin(ask);
	ask_status_begin(ask);
	if (ask_agent_question(ask, err) < 0)
		result = DRIVER_FAILED;
	/* Until the question ends, or printing fails. */
	while (result == DRIVER_WAITS && ask->view.output.status == 0) {
		result = driver_step(&ask->driver, err);
		if (result == DRIVER_WAITS)
			ask_status_tick(ask);
		if (result == DRIVER_WAITS)
			driver_wait(&ask->driver, -1);
	}
	ask_status_clear(ask);
	ask_thoughts_fold(ask);
	if (result == DRIVER_ENDED || result == DRIVER_PARKED)
		take_end(ask);
	if (result != DRIVER_FAILED)
		return 0;
	ask->stop = AGENT_STOP_FAILED;
	ask->why = *err;
	ask_keep_answer(ask);
	return (int)err->code;
}

void ask_complain(const struct err *err)
{
	struct err line = *err;

	err_wrap(&line, "ask");
	(void)cli_complain(&line);
}

static int status_of(const struct ask *ask)
{
	switch (ask->stop) {
	case AGENT_STOP_ANSWER:
		return ask->view.output.unsaved ? EXIT_CODE_RECKON : EXIT_CODE_OK;
	case AGENT_STOP_INTERRUPTED:
		return EXIT_CODE_INTERRUPTED;
	case AGENT_STOP_LOST:
		return EXIT_CODE_KILLED;
	case AGENT_STOP_FAILED:
	case AGENT_STOP_CALLS: /* cannot happen: no application tools are declared */
	case AGENT_STOP_COUNT_:
		return EXIT_CODE_RECKON;
	case AGENT_STOP_STEPS:
	case AGENT_STOP_TOKENS:
	case AGENT_STOP_BUDGET:
	case AGENT_STOP_TIME:
	case AGENT_STOP_STUCK:
	case AGENT_STOP_LENGTH:
	case AGENT_STOP_REFUSED:
		break;
	}
	return EXIT_CODE_STOPPED;
}

/* Prints how the question ended; returns the exit status. */
int ask_conclude(struct ask *ask)
{
	int status = status_of(ask);

	ask_show_end(ask);
	if (ask->view.output.status != 0)
		return ask->view.output.status;
	if (ask->stop == AGENT_STOP_ANSWER || ask->driver.checked.is_checked != 0)
		ask_tell_checked(ask);
	if (ask->why.text[0] != '\0')
		ask_complain(&ask->why);
	if (!ask->is_chat && ask_save(ask) != EXIT_CODE_OK && status == EXIT_CODE_OK)
		status = EXIT_CODE_RECKON;
	if (ask->json) {
		const int printed = ask_json_print(ask);

		return printed != 0 ? printed : status;
	}
	return status;
}
