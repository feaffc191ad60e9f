/*
 * resume.c - resumes a stored run.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    a stored run, which may come from another machine; files that it names.
 * Never:    connects to a server that only the stored run names, unless no key is sent: a file must
 *           not decide where a key goes. Never begins an empty session without saying so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/ask/runs/runs.h"
#include "cli/session/interrupt.h"
#include "codec/json_read.h"
#include "agent_client/record.h"

static char *copy(const char *text)
{
	return text != NULL ? mem_strdup(text) : NULL;
}

static int differs(const char *option, const char *value, struct err *err)
{
	err_set(err, ERR_INVALID, "--%s: the run that is resumed has '%.60s'", option, value);
	return err_remedy(err, "leave it out, or begin a new run");
}

/* Checks the settings that cannot change within a run. */
static int take_kind(struct ask *ask, struct err *err)
{
	struct run *run = &ask->view.run;
	struct ask_resume *resume = &ask->resume;

	if (run->language != NULL && resume->language != NULL &&
	    strcmp(run->language, resume->language) != 0)
		return differs("language", resume->language, err);
	if (run->template_name != NULL && resume->template_name != NULL &&
	    strcmp(run->template_name, resume->template_name) != 0)
		return differs("template", resume->template_name, err);
	run->language = resume->language;
	if (resume->template_name != NULL)
		run->template_name = resume->template_name;
	return 0;
}

static void take_calling(struct ask *ask, const char *calling)
{
	static const char *const names[] = { "tools", "fenced", "schema" };

	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (ask->settings.calling == MODELS_UNSET && strcmp(names[i], calling) == 0)
			ask->settings.calling = i;
}

static int take_over(struct ask *ask, struct err *err)
{
	const struct journal *journal = &ask->keep.journal;
	struct ask_resume *resume = &ask->resume;

	if (journal->model == NULL || journal->question_count == 0) {
		err_set(err, ERR_INVALID, "run %s has nothing to go on with", journal->id);
		return err_remedy(err, "reckon runs ls shows the others");
	}
	*resume = (struct ask_resume){
		.wanted = true,
		.rerun = resume->rerun,
		.questions = journal->question_count,
		.cells = journal->cell_count,
		.model = copy(journal->model),
		.base_url = copy(journal->base_url),
		.language = copy(journal->language),
		.template_name = copy(journal->template_name),
		.session_id = copy(journal->session_id),
		.session_name = copy(journal->session_name),
		.session_url = copy(journal->session_url),
	};
	if (ask->model_option == NULL)
		ask->model_option = resume->model;
	if (strcmp(ask->model_option, resume->model) == 0)
		take_calling(ask, journal->calling);
	return take_kind(ask, err);
}

int ask_resume_load(struct ask *ask, struct err *err)
{
	cleanup_fd int dir = -1;
	char id[JOURNAL_ID_SIZE];

	if (runs_open(false, &dir, err) < 0 || runs_find(dir, ask->resume.id, id, err) < 0 ||
	    runs_continue(dir, id, &ask->keep.journal, &ask->keep.fd, err) < 0)
		return (int)err->code;
	if (ask->keep.journal.is_cut)
		run_output_line("reckon: run %s: its last line is half written, and left out", id);
	/* With storing off, new lines are not added to the stored run. */
	if (ask->keep.off)
		(void)close(TAKE_FD(ask->keep.fd));
	ask->resume.is_history_sent = false;
	return take_over(ask, err);
}

/* Whether the model is that of the run. */
static bool is_same_model(const struct ask *ask)
{
	const char *model = ask->resume.model;
	const size_t len = strlen(ask->provider);

	return strncmp(model, ask->provider, len) == 0 && model[len] == '/' &&
	       strcmp(model + len + 1, ask->model) == 0;
}

/*
 * The address comes from the command line, the environment or the user's configuration. The address
 * in the run is used only if no key is sent.
 */
int ask_resume_find(struct ask *ask, struct err *err)
{
	const char *then = ask->resume.base_url;

	if (ask_model_find(ask, err) < 0) {
		if (then == NULL || ask->base_url_option != NULL ||
		    ask->model_option != ask->resume.model)
			return (int)err->code;
		ask->base_url_option = then;
		if (ask_model_find(ask, err) < 0)
			return (int)err->code;
		if (ask->key[0] != '\0')
			return err_set(err, ERR_INVALID, "there is a key, and no address for it");
	}
	if (then == NULL || ask->base_url_option != NULL || ask->is_local || !is_same_model(ask) ||
	    strcmp(then, ask->base_url) == 0)
		return 0;
	err_set(err, ERR_INVALID, "this run asked %.200s; now it would ask %.60s", then,
		ask->has_own_url ? ask->base_url : "the provider's own service");
	return err_remedy(err, "--base-url says which one is meant");
}

/* ---- files ---- */

static int add_name(struct buf *names, const char *name, struct err *err)
{
	return buf_addf(names, err, "%s%s", names->len > 0 ? ", " : "", name);
}

static void add_file(struct run *run, const struct journal_file *file, int fd)
{
	run->files = mem_grow(run->files, run->file_count + 1, sizeof(*run->files));
	run->files[run->file_count++] = (struct run_file){
		.path = mem_strdup(file->path), .name = mem_strdup(file->name), .fd = fd,
	};
}

/* Opens a regular file that this user may read; that it was given is only the run's claim. */
static int open_file(const struct journal_file *file)
{
	cleanup_fd int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !fs_path_is_safe(file->name))
		return -1;
	return TAKE_FD(fd);
}

int ask_resume_files(struct ask *ask, struct err *err)
{
	const struct journal *journal = &ask->keep.journal;

	for (size_t i = 0; i < journal->file_count; i++) {
		const struct journal_file *file = &journal->files[i];
		int fd;

		if (ask_is_new_file(ask, file->name))
			continue;
		if (ask->view.run.file_count == RUN_FILES_MAX)
			return err_set(err, ERR_INVALID, "at most %d files", RUN_FILES_MAX);
		fd = open_file(file);
		if (fd >= 0)
			add_file(&ask->view.run, file, fd);
	}
	return 0;
}

static bool is_there(const struct ask *ask, const char *name)
{
	const struct run *run = &ask->view.run;

	for (size_t i = 0; i < run->file_count; i++)
		if (strcmp(run->files[i].name, name) == 0)
			return true;
	return false;
}

/* ---- a session that is new ---- */

static int tell_files(struct ask *ask, struct err *err)
{
	cleanup_buf struct buf back = BUF_INIT(65536), gone = BUF_INIT(65536);
	const struct journal *journal = &ask->keep.journal;

	for (size_t i = 0; i < journal->file_count; i++) {
		const char *name = journal->files[i].name;

		if (add_name(is_there(ask, name) ? &back : &gone, name, err) < 0)
			return (int)err->code;
	}
	if (back.len > 0 &&
	    buf_addf(&ask->note, err, " Of the person's files these are there again: %s.",
		     back.data) < 0)
		return (int)err->code;
	if (gone.len == 0)
		return 0;
	return buf_addf(&ask->note, err, " These are not there any more: %s.", gone.data);
}

static bool did_run(const struct journal_item *cell)
{
	return cell->status != NULL && strcmp(cell->status, "refused") != 0;
}

/* A stored run is untrusted, so its cells need the same approval as a model's. */
static char approval_of(struct ask *ask, const struct journal_item *cell, size_t number)
{
	if (!ask_needs_approval(ask))
		return 'y';
	run_output_line("reckon: cell %zu of run %s:", number, ask->keep.journal.id);
	return ask_approval(ask, cell->text, strlen(cell->text));
}

/* Runs the cell again: whether it ended as before; negative: nothing more can run. */
static int run_again(struct ask *ask, const struct journal_item *cell, struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(RUN_JSON_MAX);
	cleanup_free char *code = mem_strdup(cell->text), *before = mem_strdup(cell->status);
	struct json_value *record = NULL;
	const char *status;
	bool same;

	if (ask_place_execute(ask, code, strlen(code), &json, err) < 0 ||
	    json_read_parse(buf_text(&json), json.len, RUN_JSON_MAX, &record, err) < 0)
		return (int)err->code;
	status = json_read_text(json_read_member(record, "status"), NULL);
	same = status != NULL && strcmp(status, before) == 0;
	json_read_free(record);
	return same;
}

struct reruns {
	size_t ran, other, left_out;
};

static int run_approved(struct ask *ask, struct reruns *counts, struct err *err)
{
	for (size_t i = 1; i <= ask->resume.cells && interrupt_count() == 0; i++) {
		const struct journal_item *cell = journal_cell(&ask->keep.journal, i);
		char word;
		int same;

		if (!did_run(cell))
			continue;
		word = approval_of(ask, cell, i);
		if (word == 'q')
			break;
		if (word == 'n') {
			counts->left_out++;
			continue;
		}
		same = run_again(ask, cell, err);
		if (same < 0)
			return err_wrap(err, "--rerun: cell %zu", i);
		counts->ran++;
		counts->other += !same;
		if (!same)
			run_output_line("reckon: cell %zu ended otherwise than before", i);
	}
	return 0;
}

static int run_all_again(struct ask *ask, struct err *err)
{
	struct reruns counts = { 0 };
	int rc;

	run_output_line("reckon: running the cells of run %s again", ask->keep.journal.id);
	ask->is_quiet = true;
	rc = run_approved(ask, &counts, err);
	ask->is_quiet = false;
	if (rc < 0)
		return rc;
	run_output_line("reckon: %zu cell%s ran again, %zu ended otherwise%s", counts.ran,
			counts.ran == 1 ? "" : "s", counts.other,
			interrupt_count() > 0 ? "; stopped before the last" : "");
	if (counts.left_out > 0)
		run_output_line("reckon: %zu did not run, as you said", counts.left_out);
	if (buf_addf(&ask->note, err,
		     " The cells above were run again in it: %zu ran%s, %zu of them "
		     "ended otherwise than before.",
		     counts.ran, interrupt_count() > 0 ? " before the user stopped that" : "",
		     counts.other) < 0)
		return (int)err->code;
	if (counts.left_out == 0)
		return 0;
	return buf_addf(&ask->note, err, " %zu did not run, because the user did not allow it.",
			counts.left_out);
}

static int tell_loss(struct ask *ask, struct err *err)
{
	if (buf_adds(&ask->note, "The session of this conversation is gone, with its variables and "
				 "the files that cells made. A new one has begun.", err) < 0 ||
	    tell_files(ask, err) < 0)
		return (int)err->code;
	run_output_line("reckon: the session of run %s is gone, with its variables and the files "
			"that cells made", ask->keep.journal.id);
	run_output_line("reckon: a new one has begun%s%s",
			ask->resume.rerun ? "" : "; --rerun runs the cells again first",
			ask->keep.journal.file_count > 0
				? "; your files are there if they still exist"
				: "");
	return 0;
}

/* Fetches the records of cells that a daemon finished after the program ended. */
static int recall_cells(struct ask *ask, struct err *err)
{
	struct journal *journal = &ask->keep.journal;

	for (size_t i = 1; i <= ask->resume.cells && ask->place->recall != NULL; i++) {
		cleanup_buf struct buf json = BUF_INIT(RUN_JSON_MAX);
		const struct journal_item *cell = journal_cell(journal, i);
		struct json_value *record = NULL;
		struct agent_client_result result;
		int rc;

		if (cell->status != NULL || cell->execution == NULL)
			continue;
		rc = ask->place->recall(ask, cell->execution, &json, err);
		if (rc == 0)
			continue;
		if (rc < 0 ||
		    json_read_parse(buf_text(&json), json.len, RUN_JSON_MAX, &record, err) < 0)
			return (int)err->code;
		agent_client_result_read(record, &result);
		ask_keep_record(ask, i, buf_text(&json), &result);
		json_read_free(record);
		run_output_line(
			"reckon: cell %zu of run %s ended while nobody was there; its record "
			"is here now",
			i, journal->id);
	}
	return 0;
}

int ask_resume_session(struct ask *ask)
{
	struct err err;
	int rc;

	if (!ask->resume.wanted)
		return EXIT_CODE_OK;
	if (recall_cells(ask, &err) < 0)
		return cli_complain(&err);
	if (!ask->is_fresh) {
		if (ask->resume.rerun)
			run_output_line("reckon: --rerun: the session is there still; nothing runs "
					"again");
		return EXIT_CODE_OK;
	}
	if (ask->resume.cells == 0) /* nothing was lost */
		return EXIT_CODE_OK;
	rc = tell_loss(ask, &err);
	if (rc == 0 && ask->resume.rerun)
		rc = run_all_again(ask, &err);
	ask->is_quiet = false;
	interrupt_clear();
	if (rc == 0)
		ask_keep_note(ask, ask->note.data);
	return rc < 0 ? cli_complain(&err) : EXIT_CODE_OK;
}

void ask_resume_done(struct ask *ask)
{
	struct ask_resume *resume = &ask->resume;

	free(resume->model);
	free(resume->base_url);
	free(resume->language);
	free(resume->template_name);
	free(resume->session_id);
	free(resume->session_name);
	free(resume->session_url);
	buf_done(&ask->note);
}
