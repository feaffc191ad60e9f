/*
 * notebook.c - makes cells of a run from the code cells of a notebook (nbformat 3 and 4).
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    a notebook that the user named.
 * Never:    uses its outputs.
 */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/run/run.h"
#include "languages/languages.h"

bool run_is_notebook(const char *path)
{
	const size_t len = strlen(path);

	return len > 6 && strcasecmp(path + len - 6, ".ipynb") == 0;
}

/* A source is a string or a list of lines. */
static int add_source(const struct json_value *source, struct buf *ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(source, &len);

	if (text != NULL)
		return buf_add(ret, text, len, err);
	for (size_t i = 0; i < json_read_count(source); i++) {
		text = json_read_text(json_read_at(source, i), &len);
		if (text != NULL && buf_add(ret, text, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static bool is_blank(const struct buf *source)
{
	for (size_t i = 0; i < source->len; i++)
		if (strchr(" \t\r\n", source->data[i]) == NULL)
			return false;
	return true;
}

static int add_cells(struct run *run, const char *origin, const struct json_value *cells,
		     struct err *err)
{
	for (size_t i = 0; i < json_read_count(cells); i++) {
		const struct json_value *cell = json_read_at(cells, i);
		const char *kind = json_read_text(json_read_member(cell, "cell_type"), NULL);
		const struct json_value *source = json_read_member(cell, "source");
		struct buf code = BUF_INIT(RUN_SOURCE_MAX);

		if (kind == NULL || strcmp(kind, "code") != 0)
			continue;
		if (source == NULL)
			source = json_read_member(cell, "input"); /* the name in nbformat 3 */
		if (add_source(source, &code, err) < 0) {
			buf_done(&code);
			return (int)err->code;
		}
		if (is_blank(&code)) {
			buf_done(&code);
			continue;
		}
		if (run->cell_count == RUN_CELLS_MAX) {
			buf_done(&code);
			return err_set(err, ERR_INVALID, "more than %d cells", RUN_CELLS_MAX);
		}
		run_add_cell(run, origin, NULL)->source = code;
	}
	return 0;
}

/* Notebook writers use different members for the language. */
static const struct language *language_of(const struct json_value *notebook)
{
	const struct json_value *metadata = json_read_member(notebook, "metadata");
	const struct json_value *places[] = {
		json_read_member(json_read_member(metadata, "language_info"), "name"),
		json_read_member(json_read_member(metadata, "kernelspec"), "language"),
		json_read_member(json_read_member(metadata, "kernelspec"), "name"),
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		size_t len = 0;
		const char *text = json_read_text(places[i], &len);

		if (text != NULL)
			return language_find_label(text, len);
	}
	return language_default();
}

static int take_language(struct run *run, const struct json_value *notebook, struct err *err)
{
	const struct language *language = language_of(notebook);

	if (language == NULL) {
		(void)err_set(err, ERR_INVALID, "Reckon has no kernel for its language");
		return err_remedy(err, "-l says in which one to run it");
	}
	if (run->language == NULL)
		run->language = language->name;
	else if (!run->language_given && strcmp(run->language, language->name) != 0)
		return err_set(err, ERR_INVALID, "the notebook is in %s, other cells are not",
			       language->prose_name);
	return 0;
}

int run_notebook_add(struct run *run, const char *origin, const char *text, size_t len,
		     struct err *err)
{
	struct json_value *notebook;
	const struct json_value *cells;
	int code;

	if (json_read_parse(text, len, RUN_NOTEBOOK_MAX, &notebook, err) < 0)
		return err_set(err, ERR_INVALID, "is not a notebook: it is not JSON");
	cells = json_read_member(notebook, "cells");
	if (cells == NULL)
		cells = json_read_member(json_read_at(json_read_member(notebook, "worksheets"), 0),
					 "cells");
	code = cells == NULL ? err_set(err, ERR_INVALID, "is not a notebook: it has no cells")
			     : take_language(run, notebook, err);
	if (code == 0)
		code = add_cells(run, origin, cells, err);
	json_read_free(notebook);
	return code;
}
