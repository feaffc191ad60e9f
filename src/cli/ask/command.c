/*
 * command.c - reckon ask, reckon chat: a model answers questions by running code.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    frames of reckon-agent.
 * Never:    talks to the model itself.
 */
#include <poll.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/repl/editor.h"
#include "cli/session/interrupt.h"
#include "cli/term/look.h"
#include "cli/term/width.h"

/*
 * The first Ctrl-C stops the cell and the model and ends the question; the third exits at once. In
 * a chat, Ctrl-C must also end the read of a line.
 */
static void set_signals(bool is_chat)
{
	interrupt_ignore_pipes();
	interrupt_catch(&(struct interrupt_options){
		.ends_reads = is_chat, .exits = true, .also = editor_signal });
}

/* Starts the agent and runs the question or the chat. Negative: the caller prints *err. */
static int converse(struct ask *ask, struct err *err)
{
	int rc = ask_local_start(ask, err);

	if (rc == 0)
		rc = ask_agent_start(ask, err);
	if (rc == 0)
		rc = ask->is_chat ? ask_chat(ask, err) : ask_once(ask, err);
	return rc;
}

/* The new agent gets the run as history, as after --resume. */
static int start_again(struct ask *ask, struct err *err)
{
	ask_agent_end(ask);
	ask_local_end(ask);
	driver_done(&ask->driver);
	ask->resume.questions = ask->keep.journal.question_count;
	ask->resume.is_history_sent = false;
	return ask_local_start(ask, err) < 0 ? (int)err->code : ask_agent_start(ask, err);
}

static int run_session(struct ask *ask)
{
	cleanup_fd int out_dir = -1;
	struct err err;
	int status;

	if (ask->view.run.out_path != NULL &&
	    run_files_open_dir(ask->view.run.out_path, &out_dir, &err) < 0) {
		err_wrap(&err, "ask: --output");
		(void)cli_complain(&err);
		return EXIT_CODE_USAGE;
	}
	ask->view.output.out_dir = out_dir;
	ask_keep_begin(ask);
	status = ask->place->open(ask);
	if (status == EXIT_CODE_OK)
		status = ask_resume_session(ask);
	if (status != EXIT_CODE_OK)
		return status;
	ask_open_save(ask);
	if (converse(ask, &err) < 0) {
		ask_complain(&err);
		status = EXIT_CODE_RECKON;
	} else if (!ask->is_chat) {
		status = ask_conclude(ask);
	} else if (ask->view.output.status != 0 || ask->view.output.unsaved) {
		status = ask->view.output.status != 0 ? ask->view.output.status
						      : EXIT_CODE_RECKON;
	}
	ask_agent_end(ask);
	ask_local_end(ask);
	return status;
}

static void look_around(struct ask *ask)
{
	struct repl *view = &ask->view;

	term_width_locale();
	run_output_init(&view->output, &view->run);
	ask->to_terminal = isatty(STDOUT_FILENO) && !ask->json;
	view->dumb = term_is_dumb();
	view->coloured = ask->to_terminal && term_has_colour(STDOUT_FILENO);
	if (view->images == TERM_IMAGE_AUTO)
		view->images = ask->to_terminal ? term_image_detect() : TERM_IMAGE_NONE;
	view->for_model = true;
	if (view->coloured)
		ask->markdown = markdown_new(ask_picture, ask);
	ask->link.folder = view->run.out_path;
}

static int run_all(struct ask *ask)
{
	int status;

	set_signals(ask->is_chat);
	look_around(ask);
	status = run_session(ask);
	ask_session_end(ask);
	session_close(TAKE_PTR(ask->view.session));
	return status;
}

static void ask_init(struct ask *ask)
{
	memset(ask, 0, sizeof(*ask));
	run_init(&ask->view.run);
	ask->view.images = TERM_IMAGE_AUTO;
	ask->local_in = -1;
	ask->keep.fd = -1;
	ask->approve = ASK_APPROVE_WRITES;
	ask->question = BUF_INIT(ASK_QUESTION_MAX);
	ask->note = BUF_INIT(ASK_QUESTION_MAX);
	ask->place = &ask_place_own;
	ask->start_again = start_again;
	models_settings_init(&ask->settings);
}

static void ask_done(struct ask *ask)
{
	ask_keep_end(ask);
	ask_resume_done(ask);
	markdown_free(ask->markdown);
	free(ask->provider);
	free(ask->model);
	free(ask->base_url);
	free(ask->headers);
	free(ask->model_named);
	buf_done(&ask->thoughts.text);
	if (ask->key != NULL)
		explicit_bzero(ask->key, strlen(ask->key));
	free(ask->key);
	buf_done(&ask->question);
	buf_done(&ask->system);
	driver_done(&ask->driver);
	repl_cells_done(&ask->view);
	run_done(&ask->view.run);
}

/* A daemon's session has no host mounts, session flags, --strict or --private. */
static bool fits_a_daemon(const struct run *run)
{
	return run->mount_count == 0 && run->session_flags == 0 && !run->strict &&
	       !run->private_warden;
}

/* A daemon keeps variables and files for --resume. A question with --no-keep cannot be resumed. */
static bool wants_daemon(const struct ask *ask)
{
	const struct run *run = &ask->view.run;

	return run->session != NULL || ask->resume.session_id != NULL ||
	       (fits_a_daemon(run) && (ask->is_chat || !ask->keep.off));
}

/* Only a daemon's session can have volumes and snapshots. */
static int check_storage(const struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;
	const char *option = run->volume_count > 0 ? "volume" : "snapshot";

	if (!ask_wants_storage(ask) || wants_daemon(ask))
		return 0;
	if (fits_a_daemon(run)) {
		err_set(err, ERR_INVALID, "--%s and --no-keep cannot be used together: the session "
			"of such a question is not a daemon's", option);
		return err_remedy(err, "name the session: -s NAME");
	}
	err_set(err, ERR_INVALID, "--%s cannot be used with --mount, --isolate-cpu, --strict and "
		"--private: a daemon keeps it", option);
	return err_remedy(err, "leave one of them out");
}

static int check_daemon(const struct ask *ask, struct err *err)
{
	if (check_storage(ask, err) < 0)
		return (int)err->code;
	if ((ask->view.run.session == NULL && ask->resume.session_id == NULL) ||
	    fits_a_daemon(&ask->view.run))
		return 0;
	err_set(err, ERR_INVALID,
		"--mount, --isolate-cpu, --strict and --private cannot be used with a "
		"daemon's session");
	return err_remedy(err, "leave them out, or run without -s and --resume");
}

static int prepare(struct ask *ask, struct err *err)
{
	if (ask->resume.wanted && ask_resume_load(ask, err) < 0)
		return (int)err->code;
	if (ask_options_check(ask, err) < 0 || check_daemon(ask, err) < 0 ||
	    run_input_load(&ask->view.run, err) < 0)
		return (int)err->code;
	ask->new_files = ask->view.run.file_count;
	if (ask_images_check(ask, err) < 0)
		return (int)err->code;
	return ask->resume.wanted ? ask_resume_files(ask, err) : 0;
}

static int status_of_error(const struct err *err)
{
	/* A stored run that is damaged or in use is not a usage error. */
	return err->code == ERR_PROTOCOL || err->code == ERR_SYSTEM || err->code == ERR_DENIED
		       ? EXIT_CODE_RECKON
		       : EXIT_CODE_USAGE;
}

static int take_command(const struct opt_command *self, struct ask *ask, int argc, char **argv,
		       const struct ask_place *daemon)
{
	struct err err;
	const int parsed = opt_parse(self, argc, argv, ask_options_take, ask, &err);

	if (parsed != 0)
		return cli_settle(self, parsed, &err);
	/*
	 * Only reckon-client can connect to a daemon. A resumed run may not need one, but only the
	 * stored run says so, and reckon-client reads it.
	 */
	if (daemon == NULL && (wants_daemon(ask) || ask->resume.wanted))
		return remote_hand_over(argc, argv, ask->view.run.key);
	if (prepare(ask, &err) < 0) {
		const int status = ask->resume.wanted ? status_of_error(&err) : EXIT_CODE_USAGE;

		err_wrap(&err, "%s", self->name);
		(void)cli_complain(&err);
		return status;
	}
	if (wants_daemon(ask))
		ask->place = daemon;
	return run_all(ask);
}

int ask_command(const struct opt_command *self, int argc, char **argv,
		const struct ask_place *daemon)
{
	struct ask *ask = mem_new0(1, sizeof(*ask));
	int status;

	ask_init(ask);
	ask->is_chat = strcmp(self->name, "chat") == 0;
	status = take_command(self, ask, argc, argv, daemon);
	ask_done(ask);
	free(ask);
	return status;
}

int cmd_ask(const struct opt_command *self, int argc, char **argv)
{
	return ask_command(self, argc, argv, NULL);
}

const struct opt_command cmd_ask_table = {
	.name = "ask",
	.operands = "QUESTION [FILE[:NAME]]...",
	.summary = "let a model answer a question by running code",
	.notes =
		"\n"
		"Providers, and where key and address come from:\n"
		"  openai            OPENAI_API_KEY, OPENAI_BASE_URL; also any server that speaks\n"
		"                    Chat Completions (vLLM, Ollama, llama.cpp, LM Studio, ...)\n"
		"  openai-responses  the same, by OpenAI's newer Responses\n"
		"  anthropic         ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL\n"
		"  gemini            GEMINI_API_KEY, GEMINI_BASE_URL\n"
		"  local             what reckon model install has set up, on this host\n"
		"  and those of models.ini; reckon models lists all, and asks whether they work\n"
		"\n"
		"Files go to /mnt/data; the code sees nothing else of this host, and no network.\n"
		"Without an answer (an error, a limit, Ctrl-C) your private daemon keeps the\n"
		"session for 8 unused hours: reckon ask --resume [ID] goes on with the question.\n"
		"With -m, --strict, --private, --isolate-cpu and --no-keep it ends in any case.\n"
		"Exit status: as reckon run; 3 when a limit or repetition ended it unanswered.",
	.items = ask_items,
	.count = ASK_ITEM_COUNT,
	.operand_hint = OPT_HINT_FILE,
	.run = cmd_ask,
};

const struct opt_command cmd_chat_table = {
	.name = "chat",
	.operands = "[FILE[:NAME]]...",
	.summary = "ask a model one question after the other",
	.notes =
		"\n"
		"A line is a question; variables, files and what was said stay, for --resume too.\n"
		"Cells run in a session of your private daemon, or -s SESSION. Limits are of one\n"
		"question. Providers: reckon ask --help. --json: not for chats.",
	.items = ask_items,
	.count = ASK_ITEM_COUNT,
	.operand_hint = OPT_HINT_FILE,
	.run = cmd_ask,
};
