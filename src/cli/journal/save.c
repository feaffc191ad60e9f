/*
 * save.c - saves a run for people: as a notebook, a script or Markdown.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs.
 * Reads:    texts of a model, and records.
 * Never:    runs anything again, or overwrites a file.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/repl/repl.h"
#include "cli/run/run.h"
#include "cli/journal/form.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "languages/languages.h"

/* ---- Markdown ---- */

/* The fence is longer than any run of backticks in the text, so the text cannot close it. */
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

/* The text in place of a missing output. */
static const char *why_no_record(const struct journal_item *cell)
{
	if (cell->status == NULL)
		return "(no output was recorded: the program ended while it ran)\n\n";
	if (strcmp(cell->status, "refused") == 0)
		return "(not run)\n\n";
	return "(its record was too long to be kept; what the model saw:)\n\n";
}

/* Embeds the images that a cell displayed, so that the page needs no other file. */
static int add_images(struct buf *ret, const struct json_value *record, struct err *err)
{
	const struct json_value *results = json_read_member(record, "results");

	for (size_t i = 0; i < json_read_count(results); i++) {
		const struct json_value *data =
			json_read_member(json_read_at(results, i), "data");
		struct image_found image;

		/*
		 * SVG is text, not base64, so it cannot be embedded here; few figures are only SVG.
		 */
		if (!repl_find_image(data, &image) || image.is_text)
			continue;
		if (buf_addf(ret, err, "![%s](data:%s;base64,", image.label, image.mime) < 0)
			return (int)err->code;
		for (size_t k = 0; k < image.len; k++)
			if (image.text[k] != '\n' && buf_addc(ret, image.text[k], err) < 0)
				return (int)err->code;
		if (buf_adds(ret, ")\n\n", err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int add_output(struct buf *ret, const struct journal_item *cell, struct err *err)
{
	struct json_value *record = NULL;
	const char *text;
	int rc = 0;

	if (cell->record == NULL) {
		if (buf_adds(ret, why_no_record(cell), err) < 0)
			return (int)err->code;
		return cell->left_out > 0 ? add_block(ret, "text", cell->output, err) : 0;
	}
	if (json_read_parse(cell->record, strlen(cell->record), JOURNAL_LINE_MAX, &record, err) < 0)
		return (int)err->code;
	text = json_read_text(json_read_member(record, "text"), NULL);
	if (text != NULL && text[0] != '\0')
		rc = add_block(ret, "text", text, err);
	if (rc == 0)
		rc = add_images(ret, record, err);
	json_read_free(record);
	return rc;
}

/* Adds the text as a block quote. */
static int add_question(struct buf *ret, const char *line, struct err *err)
{
	while (*line != '\0') {
		const size_t len = strcspn(line, "\n");

		if (buf_adds(ret, "> ", err) < 0 || buf_add(ret, line, len, err) < 0 ||
		    buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		line += len + (line[len] == '\n');
	}
	return 0;
}

static const char *language_of(const struct journal *journal)
{
	return journal->language != NULL ? journal->language : language_default()->name;
}

static int list_claims(const struct outcome_checked *checked, bool links, const char *what,
		       struct buf *ret, struct err *err)
{
	const char *between = what;

	for (size_t i = 0; i < checked->count; i++) {
		const struct outcome_claim *claim = &checked->claims[i];

		if (claim->is_link != links)
			continue;
		if (buf_adds(ret, between, err) < 0 ||
		    buf_add(ret, claim->text, claim->len, err) < 0)
			return (int)err->code;
		between = ", ";
	}
	return between != what ? buf_adds(ret, ". ", err) : 0;
}

/* Adds a line about unsupported statements of the answer at `item`, if there are any. */
static int add_checked(struct buf *ret, const struct journal *journal,
		       const struct journal_item *item, struct err *err)
{
	const struct journal_question *question =
		journal_question_of(journal, (size_t)(item - journal->items));
	struct outcome_checked checked;

	if (question == NULL || item->kind != JOURNAL_ANSWER || question->checked.unsupported == 0)
		return 0;
	journal_read_checked(question, &checked);
	if (list_claims(&checked, false, "In no output of this run: ", ret, err) < 0 ||
	    list_claims(&checked, true, "No such file: ", ret, err) < 0)
		return (int)err->code;
	if (checked.unsupported > checked.count &&
	    buf_addf(ret, err, "%llu more are not listed. ",
		     (unsigned long long)(checked.unsupported - checked.count)) < 0)
		return (int)err->code;
	while (ret->len > 0 && ret->data[ret->len - 1] == ' ')
		ret->data[--ret->len] = '\0';
	return 0;
}

static int add_answer(struct buf *ret, const struct journal *journal,
		      const struct journal_item *item, struct err *err)
{
	cleanup_buf struct buf checked = BUF_INIT(JOURNAL_LINE_MAX);

	if (item->text[0] == '\0')
		return 0;
	if (add_checked(&checked, journal, item, err) < 0 ||
	    buf_addf(ret, err, "%s\n\n", item->text) < 0)
		return (int)err->code;
	return checked.len > 0 ? buf_addf(ret, err, "> **Not verified.** %s\n\n",
					  buf_text(&checked))
			       : 0;
}

static bool is_undone(const struct journal *journal, const struct journal_item *item)
{
	const struct journal_question *question =
		journal_question_of(journal, (size_t)(item - journal->items));

	return question != NULL && question->is_undone;
}

static int add_item(struct buf *ret, const struct journal *journal, const struct journal_item *item,
		    struct err *err)
{
	switch (item->kind) {
	case JOURNAL_QUESTION:
		if (add_question(ret, item->text, err) < 0 || buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		return is_undone(journal, item)
			       ? buf_adds(ret, "*(taken back: later answers do not know of it)*\n\n",
					  err)
			       : 0;
	case JOURNAL_CELL:
		if (add_block(ret, language_of(journal), item->text, err) < 0)
			return (int)err->code;
		return add_output(ret, item, err);
	case JOURNAL_NOTE:
		return buf_addf(ret, err, "*%s*\n\n", item->text);
	case JOURNAL_PROSE:
	case JOURNAL_ANSWER:
		break;
	}
	return add_answer(ret, journal, item, err);
}

int journal_markdown(const struct journal *journal, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < journal->item_count; i++)
		if (add_item(ret, journal, &journal->items[i], err) < 0)
			return (int)err->code;
	/* Remove one of the two newlines at the end. */
	if (ret->len > 1 && ret->data[ret->len - 2] == '\n')
		ret->data[--ret->len] = '\0';
	return 0;
}

/* ---- notebook and script, as the console saves them ---- */

/* {"status", "stdout"} from the output that the model was told; the record itself is gone. */
static int brief_record(const struct journal_item *cell, struct buf *ret, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "status", cell->status);
	json_write_member_string(&writer, "stdout", cell->output);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

static int add_cell(struct repl *view, const struct journal_item *cell, struct err *err)
{
	cleanup_buf struct buf brief = BUF_INIT(JOURNAL_LINE_MAX);

	if (cell->record != NULL) {
		repl_cells_add(view, cell->text, strlen(cell->text), cell->record);
		return 0;
	}
	if (cell->status == NULL || strcmp(cell->status, "refused") == 0)
		return 0; /* its effect is not known, or it did nothing */
	if (brief_record(cell, &brief, err) < 0)
		return (int)err->code;
	repl_cells_add(view, cell->text, strlen(cell->text), buf_text(&brief));
	return 0;
}

static int add_prose(struct repl *view, const struct journal *journal,
		     const struct journal_item *item, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(JOURNAL_LINE_MAX);
	int rc = item->kind == JOURNAL_QUESTION ? add_question(&text, item->text, err)
		 : item->kind == JOURNAL_NOTE   ? buf_addf(&text, err, "*%s*", item->text)
					      : add_answer(&text, journal, item, err);

	while (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	if (rc == 0 && text.len > 0)
		repl_cells_prose(view, text.data);
	return rc;
}

static int add_cells(struct repl *view, const struct journal *journal, struct err *err)
{
	view->run.language = language_of(journal);
	for (size_t i = 0; i < journal->item_count; i++) {
		const struct journal_item *item = &journal->items[i];

		if (item->kind != JOURNAL_CELL) {
			if (add_prose(view, journal, item, err) < 0)
				return (int)err->code;
			continue;
		}
		view->number++;
		if (add_cell(view, item, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int write_cells(const struct journal *journal, bool notebook, struct buf *ret,
		       struct err *err)
{
	struct repl *view = mem_new0(1, sizeof(*view));
	int rc = add_cells(view, journal, err);

	if (rc == 0)
		rc = notebook ? repl_save_notebook(view, ret, err)
			      : repl_save_script(view, ret, err);
	repl_cells_done(view);
	free(view);
	return rc;
}

static int write_form(const struct journal *journal, const char *path, bool as_ask,
		      const char *folder, struct buf *ret, struct err *err)
{
	if (text_ends_with(path, ".json") && as_ask && journal->question_count == 1)
		return journal_json_question(journal, 0, folder, ret, err);
	if (text_ends_with(path, ".json"))
		return journal_json_all(journal, folder, ret, err);
	if (text_ends_with(path, ".md"))
		return journal_markdown(journal, ret, err);
	return write_cells(journal, text_ends_with(path, ".ipynb"), ret, err);
}

/* ---- onto the disk ---- */

/* Check before the run, whose result would be lost if it could not be saved. */
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

int journal_save_check(const char *path, struct err *err)
{
	if (text_ends_with(path, ".ipynb") || text_ends_with(path, ".py") ||
	    text_ends_with(path, ".sh") || text_ends_with(path, ".md") ||
	    text_ends_with(path, ".json"))
		return check_place(path, err);
	err_set(err, ERR_INVALID, "unknown file format '%.100s'", path);
	return err_remedy(err, "use a name that ends in .ipynb, .py, .sh, .md or .json");
}

int journal_save(const struct journal *journal, const char *path, bool as_ask, const char *folder,
	       struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(JOURNAL_FORM_MAX);

	if (write_form(journal, path, as_ask, folder, &text, err) < 0)
		return (int)err->code;
	return repl_files_write(path, false, buf_text(&text), text.len, err);
}
