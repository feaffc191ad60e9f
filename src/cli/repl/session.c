/*
 * session.c - sessions come, run cells, and are lost; kernels are, and fresh ones begin.
 *
 * Runs in:  reckon repl.
 * Reads:    what libreckon answers.
 * Never:    puts a new session in the place of a lost one unless it is asked to, or a fresh kernel
 *           in the place of one without a word.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "languages/languages.h"

int repl_session_open(struct repl *repl)
{
	const int status = run_open_session(&repl->run, "repl", repl->engine, &repl->session);

	if (status != EXIT_CODE_OK)
		return status;
	repl->output.session = repl->session;
	for (size_t i = 0; i < repl->run.file_count; i++) {
		struct run_file *file = &repl->run.files[i];
		char *words[] = { file->path, file->name };

		repl_files_put(repl, words, 2);
	}
	return repl->status;
}

void repl_session_close(struct repl *repl)
{
	repl_lend(NULL);
	reckon_session_close(repl->session);
	repl->session = NULL;
	repl->output.session = NULL;
}

static void say_lost(void)
{
	run_output_line("reckon: the session is gone, with its variables (%%restart begins a new "
			"one and puts back the files that were kept)");
}

bool repl_is_lost(struct repl *repl)
{
	if (repl->session != NULL && !repl->lost)
		return false;
	say_lost();
	return true;
}

void repl_failed(struct repl *repl, const char *what, const reckon_error *error)
{
	const int status = cli_complain_reckon(what, error);

	if (repl->status == EXIT_CODE_OK)
		repl->status = status;
	if (error->code == RECKON_ELOST)
		repl->lost = true;
}

/* ---- a cell ---- */

/* Anything that may have cost the kernel its life. */
static void check_life(struct repl *repl)
{
	reckon_error error;

	switch (reckon_session_check(repl->session, &error)) {
	case RECKON_ELOST:
		repl->lost = true;
		say_lost();
		return;
	case RECKON_EKERNEL_LOST:
		run_output_line(
			"reckon: the kernel is gone, with its variables; files are kept (the "
			"next cell, or %%restart, begins a fresh one)");
		return;
	default:
		return;
	}
}

static void take_record(struct repl *repl, const char *source, size_t len,
			const reckon_execution *execution)
{
	const char *json = reckon_execution_record(execution);
	struct json_value *record = NULL;
	int64_t sequence = 0;
	struct err err;

	repl_cells_add(repl, source, len, json);
	if (json_read_parse(json, strlen(json), RUN_JSON_MAX, &record, &err) < 0) {
		err_wrap(&err, "record");
		(void)cli_complain(&err);
		return;
	}
	repl_files_note(repl, record);
	repl_show_record(repl, record);
	(void)json_read_int(json_read_member(record, "sequence"), &sequence);
	json_read_free(record);
	if (strcmp(reckon_execution_status(execution), "ok") != 0 &&
	    strcmp(reckon_execution_status(execution), "error") != 0)
		check_life(repl);
	repl->number = sequence > 0 ? (size_t)sequence + 1 : repl->number + 1;
}

/*
 * A kernel that requests input asks for each line, and only then the console reads one from the
 * terminal: what is typed ahead stays for the next prompt. Others read stdin, as in any shell.
 */
static void set_input(struct repl *repl, reckon_execute_options *options)
{
	if (!repl->interactive)
		return;
	if ((run_language(&repl->run)->features & LANGUAGE_REQUESTS_INPUT) != 0) {
		options->on_input = repl_read_answer;
		options->on_input_arg = repl;
	} else {
		options->stdin_fd = STDIN_FILENO;
		options->has_stdin = 1;
	}
}

void repl_run(struct repl *repl, const char *source, size_t len)
{
	reckon_execute_options options = {
		.size = sizeof(options),
		.wall_ms = repl->wall_ms,
		.on_event = repl_show_event,
		.on_event_arg = repl,
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc, status;

	if (repl_is_lost(repl)) {
		repl->status = repl->status != EXIT_CODE_OK ? repl->status : EXIT_CODE_RECKON;
		return;
	}
	set_input(repl, &options);
	repl->output.cell = repl->number;
	repl->figures = 0;
	repl_lend(repl->session);
	rc = reckon_execute(repl->session, source, len, &options, &execution, &error);
	repl_lend(NULL);
	if (rc < 0) {
		repl_failed(repl, NULL, &error);
		return;
	}
	take_record(repl, source, len, execution);
	status = reckon_execution_exit_code(execution);
	if (repl->status == EXIT_CODE_OK)
		repl->status = status;
	reckon_execution_free(execution);
}

/* ---- restart ---- */

/* A session that is gone cannot be gone on with: another one, with the files that were kept. */
static void begin_anew(struct repl *repl)
{
	reckon_session *old = repl->session, *fresh = NULL;

	if (run_open_session(&repl->run, "repl", repl->engine, &fresh) != EXIT_CODE_OK)
		return;
	repl->session = fresh;
	repl->output.session = fresh;
	repl_files_bring_back(repl);
	repl->lost = false;
	repl->number = 1;
	reckon_session_close(old);
}

void repl_restart(struct repl *repl)
{
	reckon_error error;

	if (repl->session != NULL && !repl->lost) {
		if (reckon_session_restart(repl->session, &error) == RECKON_OK) {
			run_output_line("a fresh kernel: no variables, files are kept");
			return;
		}
		repl_failed(repl, "restart", &error);
		if (!repl->lost)
			return;
	}
	begin_anew(repl);
}
