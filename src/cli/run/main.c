/*
 * main.c - reckon run: runs cells and writes their output and files.
 *
 * Runs in:  reckon; with -s reckon-client.
 * Reads:    nothing itself: options.c the command line, input.c the files.
 * Never:    opens a session before all input is checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/run/entry.h"
#include "cli/run/run.h"
#include "cli/run/tools.h"
#include "cli/session/interrupt.h"

#define ANSWER_MAX ((size_t)64 * 1024)

static int complain(struct err *err)
{
	(void)err_wrap(err, "run");
	return cli_complain(err);
}

/* The first Ctrl-C interrupts the cell, the second ends the run, the third exits at once. */
static void catch_interrupts(void)
{
	interrupt_catch(&(struct interrupt_options){ .exits = true });
}

/* ---- cells ---- */

static int put_files(const struct run *run, struct session *session)
{
	struct err err;

	for (size_t i = 0; i < run->file_count; i++) {
		const struct run_file *file = &run->files[i];

		if (session->ops->put(session, file->name, file->fd, &err) == 0)
			continue;
		err_wrap(&err, "%.200s", file->path);
		return complain(&err);
	}
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
	const int got = run_ask(arg, &question, &line);

	if (got < 0)
		return RECKON_STOP;
	if (got > 0) {
		*ret_line = mem_strdup(buf_text(&line));
		*ret_len = strlen(*ret_line);
	}
	return RECKON_CONTINUE;
}

/* For code that ended itself: its own exit status. */
static int program_status(const struct run *run, const struct session_result *result)
{
	struct json_value *record;
	struct err ignored; /* the code that prints the record reports this error */
	int status = result->exit_code;

	if (status != EXIT_CODE_FAILED ||
	    json_read_parse(buf_text(&result->record), result->record.len, RUN_JSON_MAX, &record,
			    &ignored) < 0)
		return status;
	status = run_program_status(run, record, status);
	json_read_free(record);
	return status;
}

/* Runs the code that gives the program its arguments, before the user's first cell. */
static int run_prologue(const struct run_output *output)
{
	struct session_result result = { .record = BUF_INIT(RUN_JSON_MAX) };
	const struct buf *code = &output->run->prologue;
	const struct session_cell cell = { .code = code->data, .len = code->len };
	struct err err;
	int status = EXIT_CODE_OK;

	if (code->len == 0)
		return EXIT_CODE_OK;
	if (output->session->ops->execute(output->session, &cell, &result, &err) < 0) {
		err_wrap(&err, "arguments");
		status = complain(&err);
	} else {
		status = result.exit_code;
	}
	buf_done(&result.record);
	return status;
}

/*
 * There is no record because the output's reader went away, the cell runs on detached, or a call
 * failed.
 */
static int end_without_record(struct run_output *output, struct err *err)
{
	run_output_settle(output);
	if (output->status != 0)
		return output->status;
	if (output->session->is_left) {
		(void)cli_complain(err);
		return EXIT_CODE_INTERRUPTED;
	}
	err_wrap(err, "cell %zu", output->cell);
	return complain(err);
}

static int run_cell(struct run_output *output, const struct run_cell *cell)
{
	const struct run *run = output->run;
	const struct session_cell wanted = {
		.code = cell->source.data,
		.len = cell->source.len,
		.on_event = run->mode == RUN_MODE_JSON && run->tools == NULL ? NULL : on_event,
		.on_event_arg = output,
		.on_input = run_can_ask(run) ? on_input : NULL,
		.on_input_arg = output,
		.has_stdin = run->stdin_fd >= 0,
		.stdin_fd = run->stdin_fd,
		.wants_outputs = run->mode == RUN_MODE_JSON,
		.tools = run->tools,
	};
	struct session_result result = { .record = BUF_INIT(RUN_JSON_MAX) };
	struct err err;
	int status;

	if (output->session->ops->execute(output->session, &wanted, &result, &err) < 0) {
		status = end_without_record(output, &err);
	} else {
		run_output_record(output, buf_text(&result.record), result.record.len);
		status = output->status != 0 ? output->status : program_status(run, &result);
	}
	buf_done(&result.record);
	return status;
}

static void say_not_run(size_t left, size_t count)
{
	if (left > 0)
		run_output_line("reckon: %zu of %zu cells not run (--keep-going runs them all the "
				"same)", left, count);
}

static int run_cells(const struct run *run, struct run_output *output)
{
	int first_failure = EXIT_CODE_OK;

	for (size_t i = 0; i < run->cell_count; i++) {
		int status;

		if (interrupt_count() > 0)
			return first_failure != 0 ? first_failure : EXIT_CODE_INTERRUPTED;
		output->cell = i + 1;
		output->is_last = output->session->id == NULL &&
				  (!run->keep_going || i + 1 == run->cell_count);
		status = run_cell(output, &run->cells[i]);
		if (first_failure == EXIT_CODE_OK)
			first_failure = status;
		if (output->status != 0 || output->session->is_left)
			return first_failure;
		if (status != EXIT_CODE_OK && !run->keep_going) {
			say_not_run(run->cell_count - i - 1, run->cell_count);
			return first_failure;
		}
	}
	return first_failure;
}

/* ---- the run ---- */

static int run_in_session(const struct run *run, struct run_output *output)
{
	int status = put_files(run, output->session);

	if (status == EXIT_CODE_OK)
		status = run_prologue(output);
	if (status != EXIT_CODE_OK)
		return status;
	/*
	 * With -s, the default action of SIGINT is right until here: nothing runs in the session
	 * yet.
	 */
	catch_interrupts();
	status = run->entry != NULL ? run_entry(run, output) : run_cells(run, output);
	if (interrupt_count() > 1)
		return EXIT_CODE_INTERRUPTED;
	return status == EXIT_CODE_OK && output->unsaved ? EXIT_CODE_RECKON : status;
}

static int run_all(const struct run *run, session_open_fn *open)
{
	struct run_output output;
	cleanup_fd int out_dir = -1;
	struct err err;
	int status;

	interrupt_ignore_pipes();
	if (run->session == NULL)
		catch_interrupts();
	run_output_init(&output, run);
	output.is_program = true;
	run_output_show_figures(&output);
	if (open(run, &output.session, &err) < 0)
		return complain(&err);
	if (run->out_path != NULL && run_files_open_dir(run->out_path, &out_dir, &err) < 0) {
		err_wrap(&err, "--output");
		(void)complain(&err);
		status = EXIT_CODE_USAGE;
	} else {
		output.out_dir = out_dir;
		status = run_in_session(run, &output);
	}
	session_close(output.session);
	return status;
}

int run_command(const struct opt_command *self, int argc, char **argv, session_open_fn *daemon)
{
	struct run run;
	struct err err;
	int rc, status;

	run_init(&run);
	rc = opt_parse(self, argc, argv, run_options_take, &run, &err);
	/* reckon-client handles a daemon's sessions; it checks the other options, too. */
	if (rc == 0 && run.session != NULL && daemon == NULL) {
		status = remote_hand_over(argc, argv, run.key);
		run_done(&run);
		return status;
	}
	if (rc == 0 && (run_options_check(&run, &err) < 0 || run_input_load(&run, &err) < 0 ||
			(run.tools_path != NULL &&
			 run_tools_load(run.tools_path, run.approve, &run.tools, &err) < 0)))
		rc = err_wrap(&err, "%s", self->name);
	/* Nothing was started, so every error is about the user's input. */
	status = cli_settle(self, rc, &err);
	if (status < 0)
		status = run_all(&run, run.session != NULL ? daemon : session_open_own);
	run_tools_free(TAKE_PTR(run.tools));
	run_done(&run);
	return status;
}

int cmd_run(const struct opt_command *self, int argc, char **argv)
{
	return run_command(self, argc, argv, NULL);
}

const struct opt_command cmd_run_table = {
	.name = "run",
	.operands = "[-c CODE | FILE | -]... [-- ARGUMENT...]",
	.takes_arguments = true,
	.summary = "run cells of code in one session",
	.notes = "\n"
		 "Figures are shown in terminals with graphics; else they are saved as\n"
		 "reckon-figures/figure-CELL-NUMBER.png, or with -o in OUTDIR.",
	.items = run_items,
	.count = RUN_ITEM_COUNT,
	.operand_hint = OPT_HINT_FILE,
	.run = cmd_run,
};
