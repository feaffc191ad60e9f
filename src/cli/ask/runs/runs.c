/*
 * runs.c - reckon runs: lists, shows, saves and removes stored runs of reckon ask and reckon chat.
 *
 * Runs in:  reckon.
 * Reads:    stored runs, which may come from another machine.
 * Never:    runs any of their code; prints control characters to a terminal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/run/run.h"
#include "cli/ask/runs/runs.h"
#include "cli/journal/form.h"
#include "cli/term/term.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_write.h"

#define LINES_DEFAULT 20
#define LINES_MAX RUNS_COUNT_MAX
#define WORDS_MAX 120
#define TEXT_MAX ((size_t)64 * 1024 * 1024)

enum { OPT_JSON_LINES = OPT_LONG };

struct runs {
	uint64_t lines;
	bool json;
	const char **names;
	size_t count;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct runs *runs = arg;

	switch (id) {
	case OPT_JSON_LINES:
		runs->json = true;
		return 0;
	case 'n':
		if (parse_count(value, &runs->lines, err) < 0)
			return err_wrap(err, "-n");
		if (runs->lines < 1 || runs->lines > LINES_MAX)
			return err_set(err, ERR_INVALID, "-n: from 1 to %u", LINES_MAX);
		return 0;
	default:
		runs->names[runs->count++] = value;
		return 0;
	}
}

/* -1: go on, the number of names is valid; else the exit status. */
static int parse(const struct opt_command *self, int argc, char **argv, struct runs *runs,
		 size_t least, size_t most)
{
	struct err err;
	int rc;

	*runs = (struct runs){ .lines = LINES_DEFAULT };
	runs->names = mem_new0((size_t)argc + 1, sizeof(*runs->names));
	rc = opt_parse(self, argc, argv, take, runs, &err);
	if (rc == 0 && (runs->count < least || runs->count > most)) {
		(void)err_set(&err, ERR_INVALID,
			      runs->count < least ? "%s: missing argument RUN"
						  : "%s: too many words",
			      self->name);
		rc = err_remedy(&err, "reckon %s %s", self->name, self->operands);
	}
	return cli_settle(self, rc, &err);
}

/* ---- ls ---- */

/* The beginning of the first question, in one line. */
static void first_words(const struct journal *journal, char ret[WORDS_MAX + 1])
{
	const char *text = journal->item_count > 0 && journal->question_count > 0
				   ? journal->items[journal->questions[0].item].text
				   : "";
	size_t len = strnlen(text, WORDS_MAX);

	/* Do not cut inside a UTF-8 character. */
	while (len > 0 && text[len] != '\0' && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++)
		ret[i] = text[i];
	ret[len] = '\0';
	for (char *at = ret; *at != '\0'; at++)
		if (*at == '\n' || *at == '\t' || *at == '\r')
			*at = ' ';
}

static const char *end_of(const struct journal *journal)
{
	enum agent_stop stop;

	if (journal->question_count == 0)
		return "";
	stop = journal->questions[journal->question_count - 1].stop;
	return stop == AGENT_STOP_COUNT_ ? "cut off" : agent_stop_name(stop);
}

static int fill_row(struct term_table *table, size_t row, const struct runs_entry *entry,
		    const struct journal *journal, const char *damage, struct err *err)
{
	char used[32] = "", words[WORDS_MAX + 1], questions[24], cost[40] = "";
	struct agent_usage usage;
	bool has_cost;
	struct tm tm;

	if (localtime_r(&entry->used.tv_sec, &tm) != NULL)
		(void)strftime(used, sizeof(used), "%Y-%m-%d %H:%M", &tm);
	journal_sum(journal, &usage, &has_cost);
	if (has_cost)
		(void)snprintf(cost, sizeof(cost), "%.4f", (double)usage.cost_micro / 1e6);
	(void)snprintf(questions, sizeof(questions), "%zu", journal->question_count);
	first_words(journal, words);

	const char *const cells[] = { entry->id, used, journal->model != NULL ? journal->model : "",
				      questions, cost, damage != NULL ? "damaged" : end_of(journal),
				      damage != NULL ? damage : words };

	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		if (term_table_cell(table, row, i, cells[i], strlen(cells[i]), err) < 0)
			return (int)err->code;
	return 0;
}

static int write_row(struct buf *ret, const struct runs_entry *entry, const struct journal *journal,
		     const char *damage, struct err *err)
{
	char used[CLOCK_RFC3339_SIZE], words[WORDS_MAX + 1];
	struct json_writer writer;
	struct agent_usage usage;
	bool has_cost;

	clock_rfc3339((uint64_t)entry->used.tv_sec * 1000u +
			      (uint64_t)entry->used.tv_nsec / 1000000u,
		      used);
	journal_sum(journal, &usage, &has_cost);
	first_words(journal, words);
	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "id", entry->id);
	json_write_member_string(&writer, "used_at", used);
	json_write_member_string(&writer, "command", journal->command);
	json_write_member_string(&writer, "model", journal->model);
	json_write_member_uint(&writer, "questions", journal->question_count);
	json_write_member_uint(&writer, "cells", journal->cell_count);
	json_write_key(&writer, "cost");
	if (has_cost)
		json_write_seconds(&writer, usage.cost_micro * 1000u);
	else
		json_write_null(&writer);
	json_write_member_string(&writer, "stop", end_of(journal));
	json_write_member_string(&writer, "question", words);
	json_write_member_uint(&writer, "bytes", entry->bytes);
	json_write_member_string(&writer, "damage", damage);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return buf_addc(ret, '\n', err);
}

/* Makes a row of each run; the row of a run that cannot be read has the error. */
static int collect(int dir, const struct runs *runs, const struct runs_entry *list, size_t count,
		   struct term_table *table, struct buf *ret, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct journal journal;
		struct err why;
		const char *damage = NULL;

		journal_init(&journal);
		if (runs_load(dir, list[i].id, false, &journal, &why) < 0)
			damage = why.text;
		rc = runs->json ? write_row(ret, &list[i], &journal, damage, err)
				: fill_row(table, i, &list[i], &journal, damage, err);
		journal_done(&journal);
	}
	return rc;
}

static int list_runs(const struct runs *runs, int dir, struct buf *ret, struct err *err)
{
	static const char *const heads[] = { "ID", "USED", "MODEL", "ASKED", "COST", "END",
					     "QUESTION" };
	cleanup_free struct runs_entry *list = NULL;
	const bool terminal = isatty(STDOUT_FILENO);
	size_t count, width = 1000, lines;
	struct term_table *table;
	int rc;

	if (runs_list(dir, &list, &count, err) < 0)
		return (int)err->code;
	count = count < runs->lines ? count : (size_t)runs->lines;
	table = term_table_new(ARRAY_LEN(heads), count);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], i == 3 || i == 4);
	rc = collect(dir, runs, list, count, table, ret, err);
	term_width_locale();
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	if (rc == 0 && !runs->json)
		rc = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), ret, err);
	term_table_free(table);
	return rc;
}

static int runs_ls(const struct opt_command *self, int argc, char **argv)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	cleanup_fd int dir = -1;
	struct runs runs;
	struct err err;
	int status = parse(self, argc, argv, &runs, 0, 0);

	free(runs.names);
	if (status >= 0)
		return status;
	if (runs_open(false, &dir, &err) < 0) {
		if (err.code != ERR_NOT_FOUND)
			return cli_complain_of(self, &err);
		if (!runs.json)
			run_output_line(
				"no run was kept yet; reckon ask and reckon chat keep theirs");
		return EXIT_CODE_OK;
	}
	if (list_runs(&runs, dir, &text, &err) < 0)
		return cli_complain_of(self, &err);
	return cli_write_stdout(buf_text(&text), text.len);
}

/* ---- show, save ---- */

static int load(const char *name, struct journal *journal, struct err *err)
{
	char id[JOURNAL_ID_SIZE];
	cleanup_fd int dir = -1;

	if (runs_open(false, &dir, err) < 0 || runs_find(dir, name, id, err) < 0 ||
	    runs_load(dir, id, true, journal, err) < 0)
		return (int)err->code;
	if (journal->is_cut)
		run_output_line("reckon: run %s: its last line is half written, and left out", id);
	if (journal->model == NULL)
		return err_set(err, ERR_PROTOCOL, "run %s: nothing says which model", id);
	return 0;
}

static int runs_show(const struct opt_command *self, int argc, char **argv)
{
	cleanup_buf struct buf text = BUF_INIT(JOURNAL_FORM_MAX);
	cleanup_journal struct journal journal = { .bytes = 0 };
	struct runs runs;
	struct err err;
	int status = parse(self, argc, argv, &runs, 0, 1), rc;
	const char *name = status < 0 && runs.count > 0 ? runs.names[0] : NULL;

	free(runs.names);
	if (status >= 0)
		return status;
	rc = load(name, &journal, &err);
	if (rc == 0)
		rc = runs.json ? journal_json_all(&journal, NULL, &text, &err)
			       : journal_markdown(&journal, &text, &err);
	if (rc < 0)
		return cli_complain_of(self, &err);
	return cli_print_text(buf_text(&text), text.len);
}

static int runs_save(const struct opt_command *self, int argc, char **argv)
{
	cleanup_journal struct journal journal = { .bytes = 0 };
	const char *name = NULL, *path = NULL;
	struct runs runs;
	struct err err;
	int status = parse(self, argc, argv, &runs, 1, 2);

	if (status < 0) {
		name = runs.count > 1 ? runs.names[0] : NULL;
		path = runs.names[runs.count - 1];
	}
	free(runs.names);
	if (status >= 0)
		return status;
	if (journal_save_check(path, &err) < 0 || load(name, &journal, &err) < 0 ||
	    journal_save(&journal, path, false, NULL, &err) < 0)
		return cli_complain_of(self, &err);
	run_output_line("saved as %s", path);
	return EXIT_CODE_OK;
}

/* ---- rm ---- */

static int remove_one(int dir, const char *name, struct err *err)
{
	char id[JOURNAL_ID_SIZE];

	if (runs_find(dir, name, id, err) < 0)
		return (int)err->code;
	return runs_remove(dir, id, err);
}

static int runs_rm(const struct opt_command *self, int argc, char **argv)
{
	cleanup_fd int dir = -1;
	struct runs runs;
	struct err err;
	int status = parse(self, argc, argv, &runs, 1, (size_t)argc);

	if (status >= 0) {
		free(runs.names);
		return status;
	}
	status = EXIT_CODE_OK;
	if (runs_open(false, &dir, &err) < 0)
		status = cli_complain_of(self, &err);
	/* Tries all; the exit status is that of the first failure. */
	for (size_t i = 0; dir >= 0 && i < runs.count; i++)
		if (remove_one(dir, runs.names[i], &err) < 0) {
			const int worse = cli_complain_of(self, &err);

			status = status == EXIT_CODE_OK ? worse : status;
		}
	free(runs.names);
	return status;
}

/* ---- the tables ---- */

static const struct opt_item ls_items[] = {
	{ 'n', "lines", "N", "the N most recent runs (20)", OPT_HINT_NONE, NULL, false },
	{ OPT_JSON_LINES, "json", NULL, "print one JSON object per line", OPT_HINT_NONE, NULL,
	  false },
};

static const struct opt_command ls_table = {
	.name = "runs ls",
	.operands = "",
	.summary = "list runs, most recently used first",
	.items = ls_items,
	.count = ARRAY_LEN(ls_items),
	.run = runs_ls,
};

static const struct opt_item show_items[] = {
	{ OPT_JSON_LINES, "json", NULL, "print the whole run as one JSON object", OPT_HINT_NONE,
	  NULL, false },
};

static const struct opt_command show_table = {
	.name = "runs show",
	.operands = "[ID]",
	.summary = "show questions, code, output and answers of a run",
	.items = show_items,
	.count = ARRAY_LEN(show_items),
	.run = runs_show,
};

static const struct opt_command save_table = {
	.name = "runs save",
	.operands = "[ID] FILE",
	.summary = "write a run as .ipynb, .py, .sh, .md or .json",
	.notes = "\nSaves the run as --save of reckon ask does. Without ID: the most recent run.",
	.operand_hint = OPT_HINT_FILE,
	.run = runs_save,
};

static const struct opt_command rm_table = {
	.name = "runs rm",
	.operands = "ID...",
	.summary = "remove runs; their sessions stay",
	.run = runs_rm,
};

static const struct opt_command *const subs[] = {
	&ls_table, &show_table, &save_table, &rm_table, NULL,
};

static int run_runs(const struct opt_command *self, int argc, char **argv)
{
	return argc == 1 ? runs_ls(&ls_table, argc, argv) : cli_run_sub(self, argc, argv);
}

const struct opt_command cmd_runs_table = {
	.name = "runs",
	.is_minor = true,
	.operands = "COMMAND",
	.summary = "list, show, save or remove what ask and chat have kept",
	.notes =
		"\n"
		"  reckon runs                        what there is\n"
		"  reckon runs save analysis.ipynb    the last one, with its outputs\n"
		"  reckon chat --resume ID            goes on with one\n"
		"\n"
		"ID is what ls shows, its beginning, what stands behind its '-', or \"last\".\n"
		"They lie in STATE/runs, 500 of them and 1 GiB at most; the ones used longest ago\n"
		"go first. See reckon-ask(1).",
	.subs = subs,
	.run = run_runs,
};
