/*
 * main.c - reckon run: cells in, what they print and make out.
 *
 * Runs in:  reckon.
 * Reads:    nothing itself: options.c the command line, input.c the files.
 * Never:    opens a session before all input is known to be good.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/run/entry.h"
#include "cli/run/run.h"
#include "cli/run/tools.h"

#define ANSWER_MAX ((size_t)64 * 1024)

/* ---- signals ---- */

static atomic_int interrupts;
static _Atomic(reckon_session *) running; /* lent to the handler while the session lives */

/*
 * The first Ctrl-C stops the cell, the second ends the run once the session is closed, the third
 * does not wait for that: the warden notices that we are gone.
 */
static void on_interrupt(int signo)
{
	const int saved = errno;
	reckon_session *session = atomic_load(&running);
	const int count = atomic_fetch_add(&interrupts, 1) + 1;

	(void)signo;
	if (count >= 3)
		_exit(EXIT_CODE_INTERRUPTED);
	if (session != NULL)
		reckon_interrupt(session);
	errno = saved;
}

static void on_pipe(int signo)
{
	(void)signo;
}

/* Handlers rather than SIG_IGN: what we start must find the default again after exec. */
static void set_signals(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
	struct sigaction pipe_gone = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };

	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGPIPE, &pipe_gone, NULL);
}

/* ---- the run ---- */

static int put_files(const struct run *run, reckon_session *session)
{
	reckon_error error;

	for (size_t i = 0; i < run->file_count; i++)
		if (reckon_file_put(session, run->files[i].name, run->files[i].fd, &error) < 0)
			return cli_complain_reckon(run->files[i].path, &error);
	return EXIT_CODE_OK;
}

static int on_event(const reckon_event *event, void *arg)
{
	struct run_output *output = arg;

	run_tools_event(output->run->tools, event);
	return output->run->mode == RUN_MODE_JSON ? RECKON_CONTINUE
						  : run_output_event(event, output);
}

static int on_input(const char *prompt, size_t prompt_len, int password, char **ret_line,
		    size_t *ret_len, void *arg)
{
	cleanup_buf struct buf line = BUF_INIT(ANSWER_MAX);
	const struct run_question question = { prompt, prompt_len, password != 0 };
	const int got = run_ask(arg, &question, &interrupts, &line);

	if (got < 0)
		return RECKON_STOP;
	if (got > 0) {
		*ret_line = mem_strdup(buf_text(&line));
		*ret_len = strlen(*ret_line);
	}
	return RECKON_CONTINUE;
}

/* Of code that ends itself its own. */
static int program_status(const struct run *run, const char *json, int status)
{
	struct json_value *record;
	struct err ignored; /* who prints records says so */

	if (status != EXIT_CODE_FAILED ||
	    json_read_parse(json, strlen(json), RUN_JSON_MAX, &record, &ignored) < 0)
		return status;
	status = run_program_status(run, record, status);
	json_read_free(record);
	return status;
}

/* Gives the program its arguments; no cell of the user's. */
static int run_prologue(const struct run_output *output)
{
	const reckon_execute_options options = { .size = sizeof(options) };
	const struct buf *code = &output->run->prologue;
	reckon_execution *execution = NULL;
	reckon_error error;
	int status;

	if (code->len == 0)
		return EXIT_CODE_OK;
	if (reckon_execute(output->session, code->data, code->len, &options, &execution, &error) <
	    0)
		return cli_complain_reckon("arguments", &error);
	status = reckon_execution_exit_code(execution);
	reckon_execution_free(execution);
	return status;
}

static int run_cell(struct run_output *output, const struct run_cell *cell)
{
	const struct run *run = output->run;
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = run->mode == RUN_MODE_JSON && run->tools == NULL ? NULL : on_event,
		.on_event_arg = output,
		.stdin_fd = run->stdin_fd,
		.has_stdin = run->stdin_fd >= 0,
		.text_bytes = run->text_bytes,
		.on_input = run_can_ask(run) ? on_input : NULL,
		.on_input_arg = output,
		.questions = run_tools_begin(run->tools),
	};
	reckon_execution *execution = NULL;
	const char *record;
	reckon_error error;
	int status;

	status = reckon_execute(output->session, cell->source.data, cell->source.len, &options,
				&execution, &error);
	run_tools_end(run->tools);
	if (status < 0) {
		char what[64];

		(void)snprintf(what, sizeof(what), "cell %zu", output->cell);
		return cli_complain_reckon(what, &error);
	}
	record = reckon_execution_record(execution);
	run_output_record(output, record, strlen(record));
	status = program_status(run, record, reckon_execution_exit_code(execution));
	reckon_execution_free(execution);
	return output->status != 0 ? output->status : status;
}

static int run_cells(const struct run *run, struct run_output *output)
{
	int first_failure = put_files(run, output->session);

	if (first_failure == EXIT_CODE_OK)
		first_failure = run_prologue(output);
	if (first_failure != EXIT_CODE_OK)
		return first_failure;
	if (run->entry != NULL)
		return run_entry(run, output, &interrupts);
	for (size_t i = 0; i < run->cell_count; i++) {
		int status;

		if (atomic_load(&interrupts) > 0)
			return first_failure != 0 ? first_failure : EXIT_CODE_INTERRUPTED;
		output->cell = i + 1;
		status = run_cell(output, &run->cells[i]);
		if (first_failure == EXIT_CODE_OK)
			first_failure = status;
		if (output->status != 0 || (status != EXIT_CODE_OK && !run->keep_going)) {
			if (i + 1 < run->cell_count && output->status == 0)
				run_output_line("reckon: %zu of %zu cells not run (--keep-going "
						"runs them all the same)",
						run->cell_count - i - 1, run->cell_count);
			break;
		}
	}
	return first_failure;
}

static int run_session(const struct run *run, reckon_engine *engine)
{
	struct run_output output;
	cleanup_fd int out_dir = -1;
	struct err err;
	int status;

	run_output_init(&output, run);
	output.is_program = true;
	run_output_show_figures(&output);
	status = run_open_session(run, "run", engine, &output.session);
	if (status != EXIT_CODE_OK)
		return status;
	if (run->out_path != NULL && run_files_open_dir(run->out_path, &out_dir, &err) < 0) {
		reckon_session_close(output.session);
		err_wrap(&err, "run: --output");
		(void)cli_complain(&err);
		return EXIT_CODE_USAGE;
	}
	output.engine = engine;
	output.out_dir = out_dir;
	atomic_store(&running, output.session);
	status = run_cells(run, &output);
	atomic_store(&running, NULL);
	reckon_session_close(output.session);
	if (atomic_load(&interrupts) > 1)
		return EXIT_CODE_INTERRUPTED;
	return status == EXIT_CODE_OK && output.unsaved ? EXIT_CODE_RECKON : status;
}

static int run_all(const struct run *run)
{
	reckon_engine *engine;
	int status;

	set_signals();
	status = run_open_engine(run, "run", &engine);
	if (status != EXIT_CODE_OK)
		return status;
	status = run_session(run, engine);
	reckon_engine_close(engine);
	return status;
}

int cmd_run(const struct opt_command *self, int argc, char **argv)
{
	struct run run;
	struct err err;
	int rc, status;

	run_init(&run);
	rc = opt_parse(self, argc, argv, run_options_take, &run, &err);
	/* A session of a daemon's is another program's, which judges the rest. */
	if (rc == 0 && run.session != NULL) {
		status = remote_hand_over(argc, argv, run.key);
		run_done(&run);
		return status;
	}
	if (rc == 0 && (run_options_check(&run, &err) < 0 || run_input_load(&run, &err) < 0 ||
			(run.tools_path != NULL &&
			 run_tools_load(run.tools_path, run.approve, &run.tools, &err) < 0)))
		rc = err_wrap(&err, "%s", self->name);
	/* Nothing was started: whatever is wrong, it is about what was given to us. */
	status = cli_settle(self, rc, &err);
	if (status < 0)
		status = run_all(&run);
	run_tools_free(TAKE_PTR(run.tools));
	run_done(&run);
	return status;
}
