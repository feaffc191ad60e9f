/*
 * save.c - saves the cells as a notebook (nbformat 4) or, with script.c, as a script.
 *
 * Runs in:  reckon repl, reckon ask.
 * Reads:    records that this session made.
 * Never:    runs anything again: the notebook has the recorded outputs.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "codec/json_get.h"
#include "codec/json_write.h"
#include "languages/languages.h"

/* ---- a notebook ---- */

static void write_value(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct err ignored;

	if (value != NULL && json_read_dump(value, &text, &ignored) == 0)
		json_write_raw(json, buf_text(&text), text.len);
	else
		json_write_null(json);
}

static void write_stream(struct json_writer *json, const struct json_value *record,
			 const char *name)
{
	if (json_get_str(record, name)[0] == '\0')
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "output_type", "stream");
	json_write_member_string(json, "name", name);
	json_write_key(json, "text");
	write_value(json, json_read_member(record, name));
	json_write_object_end(json);
}

static void write_result(struct json_writer *json, const struct json_value *result, size_t number)
{
	const struct json_value *metadata = json_read_member(result, "metadata");
	bool is_main = false;

	(void)json_read_bool(json_read_member(result, "is_main_result"), &is_main);
	json_write_object_begin(json);
	json_write_member_string(json, "output_type", is_main ? "execute_result" : "display_data");
	if (is_main)
		json_write_member_uint(json, "execution_count", number);
	json_write_key(json, "data");
	write_value(json, json_read_member(result, "data"));
	json_write_key(json, "metadata");
	write_value(json, metadata);
	json_write_object_end(json);
}

static void write_error(struct json_writer *json, const struct json_value *error)
{
	if (json_read_kind(error) != JSON_KIND_OBJECT)
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "output_type", "error");
	json_write_member_string(json, "ename", json_get_str(error, "name"));
	json_write_member_string(json, "evalue", json_get_str(error, "value"));
	json_write_key(json, "traceback");
	json_write_array_begin(json);
	for (const char *line = json_get_str(error, "traceback"); *line != '\0';) {
		const size_t len = strcspn(line, "\n");

		json_write_text(json, line, len);
		line += len + (line[len] == '\n');
	}
	json_write_array_end(json);
	json_write_object_end(json);
}

static void write_prose(struct json_writer *json, const struct repl_cell *cell, size_t index)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "text-%zu", index + 1);
	json_write_object_begin(json);
	json_write_member_string(json, "cell_type", "markdown");
	json_write_member_string(json, "id", id);
	json_write_key(json, "metadata");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_member_string(json, "source", cell->source);
	json_write_object_end(json);
}

/*
 * nbclient and papermill go on after an error in a cell with the tag raises-exception. Cells that
 * were stopped from outside are tagged to be skipped.
 */
static void write_cell_metadata(struct json_writer *json, const struct json_value *record)
{
	const char *status = json_get_str(record, "status");
	const bool has_failed = json_read_kind(json_read_member(record, "error")) == JSON_KIND_OBJECT;
	const bool was_ended = status[0] != '\0' && strcmp(status, "ok") != 0 &&
			       strcmp(status, "error") != 0;

	json_write_key(json, "metadata");
	json_write_object_begin(json);
	if (has_failed || was_ended) {
		json_write_key(json, "tags");
		json_write_array_begin(json);
		json_write_string(json, was_ended ? "skip-execution" : "raises-exception");
		json_write_array_end(json);
	}
	json_write_object_end(json);
}

/* Paths in the workspace become relative, so that they work where the notebook is. */
static void write_source(struct json_writer *json, const struct language *language,
			 const struct repl_cell *cell)
{
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct err ignored; /* out of memory: use the original source */

	json_write_member_string(json, "source",
				 repl_script_source(language, cell->source, &text, &ignored) == 0
					 ? buf_text(&text)
					 : cell->source);
}

/*
 * Writes the outputs in their original order. A result is copied from `results`, where it is
 * complete; records from before `outputs` existed have the results after the streams.
 */
static void write_outputs(struct json_writer *json, const struct json_value *record,
			  size_t number)
{
	const struct json_value *results = json_read_member(record, "results");
	const struct json_value *outputs = json_read_member(record, "outputs");
	size_t shown = 0;

	if (json_read_count(outputs) == 0) {
		write_stream(json, record, "stdout");
		write_stream(json, record, "stderr");
	}
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const struct json_value *output = json_read_at(outputs, i);
		const char *type = json_get_str(output, "output_type");

		if (strcmp(type, "stream") == 0)
			write_value(json, output);
		else if (strcmp(type, "error") != 0 && shown < json_read_count(results))
			write_result(json, json_read_at(results, shown++), number);
	}
	for (; shown < json_read_count(results); shown++)
		write_result(json, json_read_at(results, shown), number);
	write_error(json, json_read_member(record, "error"));
}

static void write_cell(struct json_writer *json, const struct language *language,
		       const struct repl_cell *cell, size_t index)
{
	struct json_value *record = repl_cell_record(cell);
	char id[32];

	(void)snprintf(id, sizeof(id), "cell-%zu", index + 1);
	json_write_object_begin(json);
	json_write_member_string(json, "cell_type", "code");
	json_write_member_string(json, "id", id);
	json_write_member_uint(json, "execution_count", cell->number);
	write_cell_metadata(json, record);
	write_source(json, language, cell);
	json_write_key(json, "outputs");
	json_write_array_begin(json);
	write_outputs(json, record, cell->number);
	json_write_array_end(json);
	json_write_object_end(json);
	json_read_free(record);
}

/* The kernelspec and language_info that nbformat requires. */
static void write_language(struct json_writer *json, const struct language *language)
{
	char extension[32];

	(void)snprintf(extension, sizeof(extension), ".%s", language->suffixes[0]);
	json_write_key(json, "metadata");
	json_write_object_begin(json);
	json_write_key(json, "kernelspec");
	json_write_object_begin(json);
	json_write_member_string(json, "display_name", language->kernelspec_display_name);
	json_write_member_string(json, "language", language->name);
	json_write_member_string(json, "name", language->kernelspec_name);
	json_write_object_end(json);
	json_write_key(json, "language_info");
	json_write_object_begin(json);
	json_write_member_string(json, "name", language->name);
	json_write_member_string(json, "file_extension", extension);
	json_write_member_string(json, "mimetype", language->mime);
	json_write_object_end(json);
	json_write_object_end(json);
}

int repl_save_notebook(const struct repl *repl, struct buf *ret, struct err *err)
{
	const struct language *language = run_language(&repl->run);
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "cells");
	json_write_array_begin(&json);
	for (size_t i = 0; i < repl->cell_count; i++)
		if (repl->cells[i].is_prose)
			write_prose(&json, &repl->cells[i], i);
		else
			write_cell(&json, language, &repl->cells[i], i);
	json_write_array_end(&json);
	write_language(&json, language);
	json_write_member_uint(&json, "nbformat", 4);
	json_write_member_uint(&json, "nbformat_minor", 5);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	return buf_addc(ret, '\n', err);
}

/* ---- the command ---- */

void repl_save(struct repl *repl, char **words, size_t count)
{
	const bool force = count > 0 && strcmp(words[0], "-f") == 0;
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct err err;
	int rc;

	words += force;
	count -= force;
	if (count != 1) {
		run_output_line(
			"usage: %%save [-f] PATH (.ipynb: a notebook with its outputs, else a "
			"script)");
		return;
	}
	rc = text_ends_with(words[0], ".ipynb") ? repl_save_notebook(repl, &text, &err)
						: repl_save_script(repl, &text, &err);
	if (rc == 0)
		rc = repl_files_write(words[0], force, buf_text(&text), text.len, &err);
	if (rc < 0) {
		err_wrap(&err, "%.200s", words[0]);
		(void)cli_complain(&err);
		return;
	}
	run_output_line("saved as %s", words[0]);
}
