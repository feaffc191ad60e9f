/*
 * keep.c - records a run as it happens: in memory, and on disk if runs are stored.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    texts of a person, a model and a box.
 * Never:    stores an API key; lets a run fail because it cannot be stored (it prints one message).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/ask/runs/runs.h"

#define NO_ID "-"

static void give_up(struct ask *ask, struct err *err)
{
	struct ask_keep *keep = &ask->keep;

	if (keep->fd >= 0)
		(void)close(TAKE_FD(keep->fd));
	if (!keep->gave_up)
		run_output_line("reckon: the run is not kept from here on: %s", err->text);
	keep->gave_up = true;
}

/* Write to disk first: the person may see what is in memory. */
static void store(struct ask *ask, const struct buf *line)
{
	struct err err;

	if (ask->keep.fd >= 0 && runs_append(ask->keep.fd, line, &err) < 0)
		give_up(ask, &err);
}

/* Adds a line to the journal and to disk; `rc` is the result of writing the line into `line`. */
static int put(struct ask *ask, const struct buf *line, int rc, struct err *err)
{
	if (rc == 0)
		rc = journal_read(&ask->keep.journal, buf_text(line), line->len, err);
	if (rc == 0)
		store(ask, line);
	return rc;
}

static void put_or_give_up(struct ask *ask, const struct buf *line, int rc, struct err *err)
{
	if (put(ask, line, rc, err) < 0)
		give_up(ask, err);
}

/* ---- how it begins ---- */

static int make_run(struct ask *ask, char id[JOURNAL_ID_SIZE], struct err *err)
{
	cleanup_fd int dir = -1;
	size_t removed;

	if (runs_open(true, &dir, err) < 0 ||
	    runs_prune(dir, RUNS_COUNT_MAX - 1, RUNS_BYTES_MAX, &removed, err) < 0)
		return (int)err->code;
	return runs_new(dir, id, &ask->keep.fd, err);
}

static void note_run(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct journal *journal = &ask->keep.journal;
	char id[JOURNAL_ID_SIZE] = NO_ID;
	struct err err;
	int rc;

	if (journal->lines > 0) /* a run that is resumed */
		return;
	if (!ask->keep.off && make_run(ask, id, &err) < 0)
		give_up(ask, &err);
	rc = journal_write_run(&line, id, ask->is_chat ? "chat" : "ask", &err);
	put_or_give_up(ask, &line, rc, &err);
	if (strcmp(journal->id, NO_ID) == 0)
		journal->id[0] = '\0';
}

/* Removes a name and password, and the query. */
static char *without_user(const char *url)
{
	const char *start = strstr(url, "://"), *at;
	char *clean = mem_strdup(url);

	if (start == NULL)
		return clean;
	start += 3;
	at = memrchr(start, '@', strcspn(start, "/?#"));
	if (at != NULL)
		memmove(clean + (start - url), clean + (at + 1 - url), strlen(at + 1) + 1);
	clean[strcspn(clean, "?#")] = '\0';
	return clean;
}

void ask_keep_setting(struct ask *ask)
{
	static const char *const callings[] = { "tools", "fenced", "schema" };
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX), model = BUF_INIT(4096);
	/* A local model has another address each time. */
	const bool has_url = ask->has_own_url && !ask->is_local;
	cleanup_free char *url = has_url ? without_user(ask->base_url) : NULL;
	const struct run *run = &ask->view.run;
	const struct journal_setting setting = {
		.base_url = url,
		.language = run_language(run)->name,
		.template_name = run->template_name,
		.calling = callings[ask->settings.calling % ARRAY_LEN(callings)],
		.settings = &ask->settings,
	};
	struct journal_setting whole = setting;
	struct err err;
	int rc = buf_addf(&model, &err, "%s/%s", ask->provider, ask->model);

	whole.model = buf_text(&model);
	if (rc == 0)
		rc = journal_write_setting(&line, &whole, &err);
	put_or_give_up(ask, &line, rc, &err);
}

static void note_file(struct ask *ask, const struct run_file *file)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	cleanup_free char *path = realpath(file->path, NULL);
	struct err err;

	if (path != NULL)
		put_or_give_up(ask, &line, journal_write_file(&line, path, file->name, &err), &err);
}

void ask_keep_session(struct ask *ask, const char *id, const char *name, const char *url)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	cleanup_free char *clean = url != NULL ? without_user(url) : NULL;
	struct err err;

	put_or_give_up(ask, &line, journal_write_session(&line, id, name, clean, &err), &err);
}

void ask_keep_begin(struct ask *ask)
{
	note_run(ask);
	ask_keep_setting(ask);
	for (size_t i = 0; i < ask->new_files; i++)
		note_file(ask, &ask->view.run.files[i]);
}

/* ---- what happens ---- */

static void note_text(struct ask *ask, enum journal_kind kind, const char *text, size_t len)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, journal_write_text(&line, kind, text, len, &err), &err);
}

void ask_keep_question(struct ask *ask)
{
	note_text(ask, JOURNAL_QUESTION, buf_text(&ask->question), ask->question.len);
}

void ask_keep_resume(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, journal_write_resume(&line, &err), &err);
}

/* The sum for the question, including what it used before it was resumed. */
static struct agent_usage usage_of(const struct ask *ask)
{
	const struct agent_usage *before = &ask->resume.before;
	struct agent_usage sum = ask->driver.usage;

	sum.requests += before->requests;
	sum.steps += before->steps;
	sum.in += before->in;
	sum.cached += before->cached;
	sum.out += before->out;
	sum.reasoning += before->reasoning;
	sum.cost_micro += before->cost_micro;
	return sum;
}

void ask_keep_undo(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, journal_write_undo(&line, &err), &err);
}

void ask_keep_note(struct ask *ask, const char *text)
{
	note_text(ask, JOURNAL_NOTE, text, strlen(text));
}

void ask_keep_usage(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	const struct agent_usage usage = usage_of(ask);
	struct err err;

	put_or_give_up(ask, &line, journal_write_usage(&line, &usage, ask_has_price(ask), &err),
		       &err);
}

size_t ask_keep_cell(struct ask *ask, const struct driver_cell *cell)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	const size_t number = ask->keep.journal.cell_count + 1;
	struct err err;

	if (cell->prose_len > 0)
		note_text(ask, JOURNAL_PROSE, cell->prose, cell->prose_len);
	put_or_give_up(ask, &line, journal_write_cell(&line, number, cell->code, cell->len, &err),
		       &err);
	return number;
}

void ask_keep_execution(struct ask *ask, size_t number, const char *id)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, journal_write_execution(&line, number, id, &err), &err);
}

void ask_keep_brief(struct ask *ask, size_t number, const char *status, const char *text,
		    size_t len, uint64_t left_out)
{
	const struct journal_brief brief = { status, text, len, left_out };
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, journal_write_brief(&line, number, &brief, &err), &err);
}

void ask_keep_record(struct ask *ask, size_t number, const char *record,
		     const struct agent_client_result *result)
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct journal *journal = &ask->keep.journal;
	const size_t len = strlen(record);
	struct journal_item *cell;
	struct err err;

	if (len <= JOURNAL_RECORD_MAX && journal->bytes + len <= JOURNAL_WHOLE_MAX &&
	    put(ask, &line, journal_write_record(&line, number, record, len, &err), &err) == 0) {
		/* Keep the original text: parsing and writing numbers can change their spelling. */
		cell = journal_cell(journal, number);
		free(cell->record);
		cell->record = mem_strdup(record);
		return;
	}
	ask_keep_brief(ask, number, result->status, result->text, result->len, len);
}

void ask_keep_answer(struct ask *ask)
{
	const struct agent_usage usage = usage_of(ask);
	struct outcome_checked checked;
	const struct journal_end end = {
		.checked = &checked,
		.text = ask->driver.answer.len > 0 ? ask->driver.answer.data : NULL,
		.len = ask->driver.answer.len,
		.stop = ask->stop,
		.message = ask->why.text[0] != '\0' ? ask->why.text : NULL,
		.usage = &usage,
		.has_cost = ask_has_price(ask),
	};
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;

	outcome_read_checked(&ask->driver.checked, buf_text(&ask->driver.answer),
			     ask->driver.answer.len, &checked);
	put_or_give_up(ask, &line, journal_write_answer(&line, &end, &err), &err);
}

/* ---- how it ends ---- */

int ask_save(struct ask *ask)
{
	const char *path = ask->save_path;
	struct err err;

	if (path == NULL)
		return EXIT_CODE_OK;
	if (journal_save(&ask->keep.journal, path, !ask->is_chat, ask->view.run.out_path, &err) ==
	    0) {
		if (!ask->json)
			run_output_line("saved as %s", path);
		return EXIT_CODE_OK;
	}
	err_wrap(&err, "ask: --save %.200s", path);
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}

int ask_json_print(const struct ask *ask)
{
	cleanup_buf struct buf out = BUF_INIT(JOURNAL_FORM_MAX);
	const struct journal *journal = &ask->keep.journal;
	struct err err;

	if (journal->question_count == 0)
		return EXIT_CODE_RECKON; /* an error was printed when recording failed */
	if (journal_json_question(journal, journal->question_count - 1, ask->view.run.out_path,
				  &out, &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(out.data, out.len);
}

/* Removes a run without a question. */
static void take_back(struct ask *ask)
{
	struct err ignored; /* on failure an empty run remains */
	cleanup_fd int dir = -1;

	if (runs_open(false, &dir, &ignored) == 0)
		(void)runs_remove(dir, ask->keep.journal.id, &ignored);
}

void ask_keep_end(struct ask *ask)
{
	const bool is_stored = ask->keep.fd >= 0;

	if (is_stored)
		(void)close(TAKE_FD(ask->keep.fd));
	if (is_stored && ask->keep.journal.question_count == 0)
		take_back(ask);
	journal_done(&ask->keep.journal);
}
