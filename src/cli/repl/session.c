/*
 * session.c - opens sessions and runs cells; reports lost sessions and kernels, and restarts
 * kernels.
 *
 * Runs in:  reckon repl.
 * Reads:    answers of the session.
 * Never:    replaces a lost session unless asked to, or a lost kernel without saying so.
 */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/session/interrupt.h"
#include "languages/languages.h"

static int open_session(struct repl *repl, session_open_fn *open)
{
	struct err err;

	if (open(&repl->run, &repl->session, &err) == 0) {
		repl->output.session = repl->session;
		/* An existing session has its own language, unless -l chose another one. */
		if (repl->run.language == NULL && repl->session->language != NULL)
			repl->run.language =
				language_find_or_default(repl->session->language)->name;
		return EXIT_CODE_OK;
	}
	(void)err_wrap(&err, "repl");
	return cli_complain(&err);
}

int repl_session_open(struct repl *repl, session_open_fn *open)
{
	const int status = open_session(repl, open);

	if (status != EXIT_CODE_OK)
		return status;
	for (size_t i = 0; i < repl->run.file_count; i++) {
		struct run_file *file = &repl->run.files[i];
		char *words[] = { file->path, file->name };

		repl_files_put(repl, words, 2);
	}
	return repl->status;
}

void repl_session_close(struct repl *repl)
{
	session_close(repl->session);
	repl->session = NULL;
	repl->output.session = NULL;
}

/* ---- a cell ---- */

/* Checks the session after a result that may mean that the kernel died. */
static void check_life(struct repl *repl)
{
	struct err err;

	switch (repl->session->ops->check(repl->session, &err)) {
	case ERR_LOST:
		repl->lost = true;
		repl_say_lost();
		return;
	case ERR_KERNEL_LOST:
		run_output_line(
			"reckon: the kernel is gone, with its variables; files %s (the next cell, "
			"or %%restart, begins a fresh one)",
			repl->session->id != NULL ? "are kept" : "stay until this console ends");
		return;
	default:
		return;
	}
}

static void take_record(struct repl *repl, const char *source, size_t len, const struct buf *json)
{
	struct json_value *record = NULL;
	const char *status;
	int64_t sequence = 0;
	struct err err;

	repl_cells_add(repl, source, len, buf_text(json));
	if (json_read_parse(buf_text(json), json->len, RUN_JSON_MAX, &record, &err) < 0) {
		err_wrap(&err, "record");
		(void)cli_complain(&err);
		return;
	}
	repl_files_note(repl, record);
	repl_show_record(repl, record);
	(void)json_read_int(json_read_member(record, "sequence"), &sequence);
	status = json_read_text(json_read_member(record, "status"), NULL);
	if (status != NULL && strcmp(status, "ok") != 0 && strcmp(status, "error") != 0)
		check_life(repl);
	json_read_free(record);
	repl->number = sequence > 0 ? (size_t)sequence + 1 : repl->number + 1;
}

/*
 * A kernel with input requests asks for each line, and the console reads the terminal only then, so
 * that text typed ahead stays for the next prompt. Other kernels read stdin, like a program in a
 * shell.
 */
static void set_input(struct repl *repl, struct session_cell *cell)
{
	if (!repl->interactive)
		return;
	if ((run_language(&repl->run)->features & LANGUAGE_REQUESTS_INPUT) != 0) {
		cell->on_input = repl_read_answer;
		cell->on_input_arg = repl;
	} else if (repl->session->id == NULL) {
		cell->stdin_fd = STDIN_FILENO;
		cell->has_stdin = true;
	}
}

static void fail_cell(struct repl *repl, struct err *err)
{
	run_output_settle(&repl->output);
	if (repl->output.status != 0)
		return;
	repl_failed(repl, NULL, err);
	repl->leaving = repl->session->is_left;
}

void repl_run(struct repl *repl, const char *source, size_t len)
{
	struct session_cell cell = {
		.code = source,
		.len = len,
		.wall_ms = repl->wall_ms,
		.on_event = repl_show_event,
		.on_event_arg = repl,
		.wants_outputs = true,
	};
	struct session_result result = { .record = BUF_INIT(RUN_JSON_MAX) };
	struct err err;

	if (repl_is_lost(repl)) {
		repl->status = repl->status != EXIT_CODE_OK ? repl->status : EXIT_CODE_RECKON;
		return;
	}
	set_input(repl, &cell);
	repl->output.cell = repl->number;
	repl->figures = 0;
	if (repl->interactive)
		interrupt_clear();
	if (repl->session->ops->execute(repl->session, &cell, &result, &err) < 0) {
		fail_cell(repl, &err);
	} else {
		take_record(repl, source, len, &result.record);
		if (repl->status == EXIT_CODE_OK)
			repl->status = result.exit_code;
	}
	buf_done(&result.record);
}

/* ---- restart ---- */

/* Replaces a lost session by a new one and copies the files of which copies exist. */
static void begin_anew(struct repl *repl)
{
	struct err err;
	const int rc = repl->session->ops->renew(repl->session, &err);

	if (rc < 0) {
		repl_failed(repl, "repl", &err);
		return;
	}
	repl->lost = false;
	if (rc == 0)
		return;
	repl_files_bring_back(repl);
	repl->number = 1;
}

void repl_restart(struct repl *repl)
{
	struct err err;

	if (!repl->lost) {
		if (repl->session->ops->restart(repl->session, &err) == 0) {
			run_output_line("a fresh kernel: no variables, files are kept");
			return;
		}
		repl_failed(repl, "restart", &err);
		if (!repl->lost)
			return;
	}
	begin_anew(repl);
}
