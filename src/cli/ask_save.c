/*
 * ask_save.c - a question and the way to its answer, as a file: notebook, script, Markdown, JSON.
 *
 * Runs in:  reckon ask.
 * Reads:    what a model wrote, and records.
 * Never:    runs anything again, or writes over a file without being told to.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/cli.h"

#define TEXT_MAX ((size_t)1024 * 1024 * 1024)

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), tail = strlen(end);

	return len > tail && strcmp(text + len - tail, end) == 0;
}

/* ---- Markdown ---- */

/* A fence that no run of backticks in the text closes. */
static int add_block(struct buf *ret, const char *language, const char *text, struct err *err)
{
	size_t longest = 2, run = 0;
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		if (buf_addc(ret, '`', err) < 0)
			return (int)err->code;
	if (buf_addf(ret, err, "%s\n", language) < 0 || buf_add(ret, text, len, err) < 0 ||
	    (len > 0 && text[len - 1] != '\n' && buf_addc(ret, '\n', err) < 0))
		return (int)err->code;
	for (size_t i = 0; i <= longest; i++)
		if (buf_addc(ret, '`', err) < 0)
			return (int)err->code;
	return buf_adds(ret, "\n\n", err);
}

static int add_output(struct buf *ret, const struct ask_step *step, struct err *err)
{
	struct json_value *record = NULL;
	const char *text;
	int rc = 0;

	if (step->record == NULL)
		return buf_adds(ret, "(not run)\n\n", err);
	if (json_read_parse(step->record, strlen(step->record), RUN_JSON_MAX, &record, err) < 0)
		return (int)err->code;
	text = json_read_text(json_read_member(record, "text"), NULL);
	if (text != NULL && text[0] != '\0')
		rc = add_block(ret, "text", text, err);
	json_read_free(record);
	return rc;
}

static int add_step(struct buf *ret, const struct ask *ask, const struct ask_step *step,
		    struct err *err)
{
	const char *language = ask->view.run.language;

	if (step->prose[0] != '\0' && buf_addf(ret, err, "%s\n\n", step->prose) < 0)
		return (int)err->code;
	if (add_block(ret, language != NULL ? language : "python", step->code, err) < 0)
		return (int)err->code;
	return add_output(ret, step, err);
}

/* The question as a quotation. */
static int add_question(struct buf *ret, const struct ask *ask, struct err *err)
{
	const char *line = buf_text(&ask->question);

	while (*line != '\0') {
		const size_t len = strcspn(line, "\n");

		if (buf_adds(ret, "> ", err) < 0 || buf_add(ret, line, len, err) < 0 ||
		    buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		line += len + (line[len] == '\n');
	}
	return buf_addc(ret, '\n', err);
}

static int markdown(const struct ask *ask, struct buf *ret, struct err *err)
{
	if (add_question(ret, ask, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ask->step_count; i++)
		if (add_step(ret, ask, &ask->steps[i], err) < 0)
			return (int)err->code;
	return ask->answer.len > 0 ? buf_addf(ret, err, "%s\n", ask->answer.data) : 0;
}

/* ---- notebook and script, as the console saves them ---- */

static void add_cells(struct ask *ask, const char *question)
{
	struct repl *view = &ask->view;

	repl_cells_prose(view, question);
	for (size_t i = 0; i < ask->step_count; i++) {
		const struct ask_step *step = &ask->steps[i];

		if (step->prose[0] != '\0')
			repl_cells_prose(view, step->prose);
		if (step->record == NULL) /* it was not allowed to run */
			continue;
		view->number = i + 1;
		repl_cells_add(view, step->code, strlen(step->code), step->record);
	}
	if (ask->answer.len > 0)
		repl_cells_prose(view, ask->answer.data);
}

static int write_form(struct ask *ask, const char *path, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf question = BUF_INIT(2 * ASK_QUESTION_MAX);

	if (ends_with(path, ".json"))
		return ask_json_write(ask, ret, err);
	if (ends_with(path, ".md"))
		return markdown(ask, ret, err);
	if (add_question(&question, ask, err) < 0)
		return (int)err->code;
	while (question.len > 0 && question.data[question.len - 1] == '\n')
		question.data[--question.len] = '\0';
	add_cells(ask, question.data);
	return ends_with(path, ".ipynb") ? repl_save_notebook(&ask->view, ret, err)
					 : repl_save_script(&ask->view, ret, err);
}

/* Found now rather than when everything was paid for. */
static int check_place(const char *path, struct err *err)
{
	cleanup_free char *folder = mem_strdup(path);
	char *slash = strrchr(folder, '/');

	if (access(path, F_OK) == 0) {
		err_set(err, ERR_INVALID, "%.200s exists", path);
		return err_remedy(err, "choose another name");
	}
	if (slash == NULL)
		return run_files_check_dir(".", err);
	slash[slash == folder] = '\0';
	return run_files_check_dir(folder, err);
}

int ask_save_check(const char *path, struct err *err)
{
	if (ends_with(path, ".ipynb") || ends_with(path, ".py") || ends_with(path, ".sh") ||
	    ends_with(path, ".md") || ends_with(path, ".json"))
		return check_place(path, err);
	err_set(err, ERR_INVALID, "'%.100s' names no form", path);
	return err_remedy(err, "its end says which: .ipynb, .py, .sh, .md or .json");
}

int ask_save(struct ask *ask)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	const char *path = ask->save_path;
	struct err err;

	if (path == NULL)
		return EXIT_CODE_OK;
	if (write_form(ask, path, &text, &err) == 0 &&
	    repl_files_write(path, false, buf_text(&text), text.len, &err) == 0) {
		if (!ask->json)
			run_output_line("saved as %s", path);
		return EXIT_CODE_OK;
	}
	err_wrap(&err, "ask: --save %.200s", path);
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}
