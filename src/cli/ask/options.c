/*
 * options.c - the options of reckon ask and chat: their own, and those they share with run.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    the command line.
 * Never:    opens the files that it names; run/input.c does.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/run/options.h"
#include "cli/ask/runs/runs.h"

enum {
	ASK_MODEL = OPT_LONG + 200,
	ASK_BASE_URL,
	ASK_MAX_STEPS,
	ASK_MAX_TOKENS,
	ASK_MAX_TIME,
	ASK_BUDGET,
	ASK_PRICE,
	ASK_CONTEXT_SIZE,
	ASK_ANSWER_SIZE,
	ASK_CALLING,
	ASK_VISION,
	ASK_APPROVE,
	ASK_NO_KEEP,
	ASK_RESUME,
	ASK_RERUN,
	ASK_SYSTEM,
	ASK_TEMPERATURE,
	ASK_EFFORT,
	ASK_VERIFY,
	ASK_IMAGE,
	ASK_SAVE,
};

const struct opt_item ask_items[] = {
	{ ASK_MODEL, "model", "PROVIDER/NAME", "the model ($RECKON_MODEL, models.ini)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_BASE_URL, "base-url", "URL", "of the model's server, instead of the provider's",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_MAX_STEPS, "max-steps", "N", "number of cells that the model may run (8)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_MAX_TOKENS, "max-tokens", "N", "limit of input and output tokens (no limit)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_MAX_TIME, "max-time", "TIME", "time limit of the question (15m)", OPT_HINT_NONE, NULL,
	  false },
	{ ASK_BUDGET, "budget", "AMOUNT", "limit of the cost, from --price (no limit)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_PRICE, "price", "IN:OUT[:CACHED]", "price of a million tokens", OPT_HINT_NONE, NULL,
	  false },
	{ ASK_CONTEXT_SIZE, "context", "TOKENS", "older output is shortened to fit (100000)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_ANSWER_SIZE, "answer-tokens", "N", "of one answer of the model (8192)", OPT_HINT_NONE,
	  NULL, false },
	{ ASK_CALLING, "calling", "HOW", "how code comes: auto, tools, fenced, schema",
	  OPT_HINT_CHOICE, "auto tools fenced schema", false },
	{ ASK_IMAGE, "image", "FILE[:NAME]", "a file that the model sees as an image, too",
	  OPT_HINT_FILE, NULL, false },
	{ ASK_VISION, "vision", "HOW", "whether it is sent figures: auto, on, off", OPT_HINT_CHOICE,
	  "auto on off", false },
	{ ASK_SYSTEM, "system", "TEXT|@FILE", "instructions, behind those of instructions.md",
	  OPT_HINT_FILE, NULL, false },
	{ ASK_TEMPERATURE, "temperature", "N", "temperature from 0 to 2 (the server's default)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_EFFORT, "effort", "LEVEL", "how much the model reasons", OPT_HINT_CHOICE,
	  "none minimal low medium high xhigh", false },
	{ ASK_VERIFY, "verify", "HOW", "numbers and links of answers: off, mark, ask (default)",
	  OPT_HINT_CHOICE, "off mark ask", false },
	{ ASK_APPROVE, "approve", "WHEN", "never, writes (default), always: ask first",
	  OPT_HINT_CHOICE, "never writes always", false },
	{ ASK_SAVE, "save", "FILE", "save the run as .ipynb, .py, .md or .json", OPT_HINT_FILE,
	  NULL, false },
	{ 's', "session", "SESSION", "run cells in a session of the daemon", OPT_HINT_LIVE,
	  OPT_LIVE_SESSIONS, false },
	{ ASK_RESUME, "resume", "[ID]", "go on with a run (the last; see reckon runs)",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_RERUN, "rerun", NULL, "first run its cells again where its session is gone",
	  OPT_HINT_NONE, NULL, false },
	{ ASK_NO_KEEP, "no-keep", NULL, "do not store the run for reckon runs", OPT_HINT_NONE, NULL,
	  false },
	RUN_OPTIONS_WHERE,
	RUN_OPTIONS_STORAGE(true),
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (30s)", OPT_HINT_NONE, NULL, false },
	RUN_OPTIONS_LIMITS,
	{ OPT_MAX_TEXT, "max-text", "SIZE", "what the model sees of one cell (16K)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_IMAGES, "images", "HOW", "auto, kitty, sixel, iterm2, blocks, none", OPT_HINT_CHOICE,
	  "auto kitty sixel iterm2 blocks none", false },
	{ OPT_JSON, "json", NULL, "print one object: answer, steps, files, usage", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_RECEIPT, "receipt", NULL, "print the cost of cells and model", OPT_HINT_NONE, NULL,
	  false },
	RUN_OPTION_STRICT,
	{ OPT_PRIVATE, "private", NULL, "a warden of its own, which ends with this question",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_URL, "url", "URL", "the daemon of -s (RECKON_URL; else your private one)",
	  OPT_HINT_NONE, NULL, false, true },
	{ OPT_KEY, "key", "KEY", "its API key; RECKON_API_KEY keeps it out of ps", OPT_HINT_NONE,
	  NULL, false, true },
};

_Static_assert(ARRAY_LEN(ask_items) == ASK_ITEM_COUNT, "as ask.h has it");

/* The index of `value` among the words. */
static int choose(const char *value, const char *const *words, unsigned *ret, struct err *err)
{
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], value) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return err_set(err, ERR_INVALID, "invalid value '%.60s'", value);
}

static int count_up_to(const char *value, uint64_t max, uint64_t *ret, struct err *err)
{
	uint64_t count;

	if (parse_count(value, &count, err) < 0)
		return (int)err->code;
	if (count < 1 || count > max) {
		err_set(err, ERR_INVALID, "%.60s is out of range", value);
		return err_remedy(err, "from 1 to %llu", (unsigned long long)max);
	}
	*ret = count;
	return 0;
}

static int take_budget(struct agent_settings *settings, const char *value, struct err *err)
{
	const char *end;

	if (models_amount_read(value, &end, &settings->budget_micro) && *end == '\0' &&
	    settings->budget_micro > 0)
		return 0;
	err_set(err, ERR_INVALID, "invalid amount '%.60s'", value);
	return err_remedy(err, "a number as in 0.50, in the currency of --price");
}

static int take_price(struct agent_settings *settings, const char *value, struct err *err)
{
	const char *end;

	if (models_amount_read(value, &end, &settings->price_in) && *end == ':' &&
	    models_amount_read(end + 1, &end, &settings->price_out)) {
		settings->price_cached = settings->price_in;
		if (*end == '\0' ||
		    (*end == ':' && models_amount_read(end + 1, &end, &settings->price_cached) &&
		     *end == '\0'))
			return 0;
	}
	err_set(err, ERR_INVALID, "invalid price '%.60s'", value);
	return err_remedy(err, "IN:OUT or IN:OUT:CACHED for a million tokens, as in 1.25:10:0.125");
}

static int take_operand(struct ask *ask, const char *value, struct err *err)
{
	/* Accept "--resume ID" as well as "--resume=ID". */
	if (ask->resume.wanted && ask->resume.id == NULL && runs_is_id(value)) {
		ask->resume.id = value;
		return 0;
	}
	if (ask->is_chat || ask->question.data != NULL)
		return run_options_take('f', value, &ask->view.run, err);
	return buf_adds(&ask->question, value, err);
}

static int take_choice(struct ask *ask, int id, const char *value, struct err *err)
{
	static const char *const callings[] = { "auto", "tools", "fenced", "schema", NULL };
	static const char *const visions[] = { "auto", "on", "off", NULL };
	static const char *const approvals[] = { "never", "writes", "always", NULL };
	static const char *const verifies[] = { "off", "mark", "ask", NULL };
	static const char *const efforts[] = { "none", "minimal", "low", "medium", "high", "xhigh",
					       NULL };
	const char *const *words = id == ASK_CALLING  ? callings
				   : id == ASK_VISION ? visions
				   : id == ASK_EFFORT ? efforts
				   : id == ASK_VERIFY ? verifies
						      : approvals;
	unsigned at;

	if (choose(value, words, &at, err) < 0)
		return (int)err->code;
	if (id == ASK_CALLING && at > 0) {
		ask->settings.calling = at - 1;
	} else if (id == ASK_VISION && at > 0) {
		ask->settings.images = at == 1;
	} else if (id == ASK_EFFORT) {
		ask->effort = efforts[at];
	} else if (id == ASK_VERIFY) {
		ask->settings.verify = at;
	} else if (id == ASK_APPROVE) {
		ask->approve = (enum ask_approve)at;
	}
	return 0;
}

/* Adds the file like any other, and remembers that it must be an image. */
static int take_image(struct ask *ask, const char *value, struct err *err)
{
	const struct run *run = &ask->view.run;

	if (ask->image_count == AGENT_IMAGES_MAX)
		return err_set(err, ERR_INVALID, "at most %u images", AGENT_IMAGES_MAX);
	if (run_options_take('f', value, &ask->view.run, err) < 0)
		return (int)err->code;
	ask->images[ask->image_count++] = run->files[run->file_count - 1].path;
	return 0;
}

static int take(int id, const char *value, struct ask *ask, struct err *err)
{
	struct agent_settings *settings = &ask->settings;

	switch (id) {
	case ASK_MODEL:
		ask->model_option = value;
		return 0;
	case ASK_BASE_URL:
		ask->base_url_option = value;
		return 0;
	case ASK_MAX_STEPS:
		return count_up_to(value, ASK_STEPS_MAX, &settings->steps_max, err);
	case ASK_MAX_TOKENS:
		return count_up_to(value, UINT32_MAX, &settings->tokens_max, err);
	case ASK_MAX_TIME:
		return parse_duration(value, &settings->wall_ms, err);
	case ASK_BUDGET:
		return take_budget(settings, value, err);
	case ASK_PRICE:
		return take_price(settings, value, err);
	case ASK_CONTEXT_SIZE:
		return count_up_to(value, 100000000, &settings->context_tokens, err);
	case ASK_ANSWER_SIZE:
		return count_up_to(value, 1000000, &settings->answer_tokens, err);
	case ASK_RESUME:
		ask->resume.wanted = true;
		ask->resume.id = value;
		return 0;
	case ASK_RERUN:
		ask->resume.rerun = true;
		return 0;
	case ASK_NO_KEEP:
		ask->keep.off = true;
		return 0;
	case ASK_SYSTEM:
		ask->system_option = value;
		return 0;
	case ASK_IMAGE:
		return take_image(ask, value, err);
	case ASK_TEMPERATURE:
		return ask_settings_take_temperature(ask, value, err);
	case ASK_SAVE:
		ask->save_path = value;
		return journal_save_check(value, err);
	case OPT_IMAGES:
		return term_image_parse(value, &ask->view.images, err);
	default:
		return take_choice(ask, id, value, err);
	}
}

int ask_options_take(int id, const char *value, void *arg, struct err *err)
{
	struct ask *ask = arg;

	if (id == OPT_OPERAND)
		return take_operand(ask, value, err);
	if (id != OPT_IMAGES && (id < ASK_MODEL || id > ASK_SAVE))
		return run_options_take(id, value, &ask->view.run, err);
	if (take(id, value, ask, err) == 0)
		return 0;
	for (size_t i = 0; i < ASK_ITEM_COUNT; i++)
		if (ask_items[i].id == id)
			return err_wrap(err, "--%s", ask_items[i].name);
	return (int)err->code;
}

static bool has_terminal(void)
{
	cleanup_fd int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	return fd >= 0;
}

int ask_options_check(struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;
	bool writes = false;

	if (ask->is_chat && run->json) {
		err_set(err, ERR_INVALID, "--json is for one question");
		return err_remedy(err, "see reckon ask; reckon runs show --json has a chat");
	}
	if (ask->resume.rerun && !ask->resume.wanted)
		return err_set(err, ERR_INVALID, "--rerun needs --resume");
	if (ask->question.len == 0 && ask->resume.wanted && !ask->is_chat) {
		if (ask_open_check(ask, err) < 0)
			return (int)err->code;
	} else if (ask->question.len == 0 && !ask->is_chat) {
		err_set(err, ERR_INVALID, "there is no question");
		return err_remedy(err, "reckon ask \"QUESTION\" FILE...");
	}
	if (run_input_check_source(buf_text(&ask->question), ask->question.len, err) < 0)
		return err_set(err, ERR_INVALID, "the question is not UTF-8 text");
	for (size_t i = 0; i < run->mount_count; i++)
		writes = writes || run->mounts[i].writable;
	if ((ask->approve == ASK_APPROVE_ALWAYS ||
	     (ask->approve == ASK_APPROVE_WRITES && writes)) &&
	    !has_terminal()) {
		err_set(err, ERR_INVALID, "there is no terminal to ask for leave to run cells");
		return err_remedy(err, "--approve never lets them run, also where a directory is "
				       "mounted for writing");
	}
	if (ask_settings_load(ask, err) < 0)
		return (int)err->code;
	ask->view.run.mode = run->json ? RUN_MODE_JSON : RUN_MODE_TEXT;
	ask->json = run->json;
	ask->option_settings = ask->settings;
	return ask->resume.wanted ? ask_resume_find(ask, err) : ask_model_find(ask, err);
}
