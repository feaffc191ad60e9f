/*
 * script.c - saves the cells as a script that repeats the session.
 *
 * Runs in:  reckon repl, reckon ask.
 * Reads:    cells and records that this session made.
 * Never:    names a language: its row in languages/ says what its scripts need.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/repl/repl.h"
#include "codec/json_write.h"
#include "languages/languages.h"

#define WORKSPACE "/mnt/data"

/* How a cell is written into a script. */
enum stand {
	STANDS,	       /* unchanged */
	STANDS_AS_TEXT, /* as a string for a function of the prelude */
	STANDS_FAILED,	/* the same; the script goes on after its error */
	STANDS_COMMENT, /* as a comment: it was stopped from outside, and would not end by itself */
};

/* ---- paths ---- */

/* Whether a path can begin after this character: after a quote in code, at a word in a shell. */
static bool begins_path(const struct language *language, char before)
{
	return before == '"' || before == '\'' ||
	       (language->script.quotes[0] == NULL &&
		(before == '\0' || strchr(" \t\n=(<>|&;", before) != NULL));
}

static bool ends_name(char c)
{
	return !isalnum((unsigned char)c) && strchr("_-.", c) == NULL;
}

int repl_script_source(const struct language *language, const char *source, struct buf *ret,
		       struct err *err)
{
	const size_t len = sizeof(WORKSPACE) - 1;

	for (const char *at = source; *at != '\0';) {
		const char *found = strstr(at, WORKSPACE);
		const size_t before = found != NULL ? (size_t)(found - at) : strlen(at);

		if (buf_add(ret, at, before, err) < 0)
			return (int)err->code;
		at += before;
		if (found == NULL)
			continue;
		if (begins_path(language, found > source ? found[-1] : '\0') &&
		    (found[len] == '\0' || ends_name(found[len]))) {
			if (buf_addc(ret, '.', err) < 0)
				return (int)err->code;
		} else if (buf_add(ret, WORKSPACE, len, err) < 0) {
			return (int)err->code;
		}
		at += len;
	}
	return 0;
}

/* ---- texts ---- */

static int add_comment(const struct language *language, const char *text, struct buf *ret,
		       struct err *err)
{
	for (const char *line = text; *line != '\0';) {
		const size_t len = strcspn(line, "\n");

		if (buf_adds(ret, language->syntax.comment, err) < 0 ||
		    (len > 0 && buf_addc(ret, ' ', err) < 0) || buf_add(ret, line, len, err) < 0 ||
		    buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		line += len + (line[len] == '\n');
	}
	return 0;
}

/* Quotes the text with the language's raw quotes where they allow it, so that it stays readable. */
static int quote(const struct language_script *script, const char *text, struct buf *ret,
		 struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(RUN_JSON_MAX);
	struct json_writer writer;

	if (script->quotes[0] == NULL)
		return text_quote_for_shell(text, ret, err);
	for (size_t i = 0; i < ARRAY_LEN(script->quotes); i++)
		if (strstr(text, script->quotes[i]) == NULL)
			return buf_addf(ret, err, "r%s\n%s\n%s", script->quotes[i], text,
					script->quotes[i]);
	json_write_init(&writer, &json);
	json_write_string(&writer, text);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return buf_add(ret, json.data, json.len, err);
}

static bool has_word(const char *source, const char *const *words)
{
	for (; words != NULL && *words != NULL; words++)
		if (strstr(source, *words) != NULL)
			return true;
	return false;
}

/* Whether a line may need the kernel's magics: "!ls", "%time f()", "files = !ls". */
static bool has_magic(const struct language *language, const char *source)
{
	if ((language->features & LANGUAGE_HAS_MAGICS) == 0)
		return false;
	for (const char *line = source; *line != '\0';) {
		const size_t len = strcspn(line, "\n");
		const char *text = line + strspn(line, " \t");
		const char *equals = memchr(line, '=', len);

		if (*text == '!' || *text == '%')
			return true;
		text = equals != NULL ? equals + 1 + strspn(equals + 1, " \t") : text;
		if ((*text == '!' || *text == '%') && text < line + len)
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

/* ---- cells ---- */

static enum stand stand_of(const struct repl_cell *cell, const struct language *language,
			   const char *status)
{
	if (cell->is_prose)
		return STANDS;
	if (status[0] != '\0' && strcmp(status, "ok") != 0)
		return strcmp(status, "error") != 0 ? STANDS_COMMENT : STANDS_FAILED;
	if (language->script.cell != NULL &&
	    (has_magic(language, cell->source) ||
	     has_word(cell->source, language->script.given_as_text)))
		return STANDS_AS_TEXT;
	return STANDS;
}

static const char *status_of(const struct json_value *record)
{
	const char *status = json_read_text(json_read_member(record, "status"), NULL);

	return status != NULL ? status : "";
}

static bool needs_prelude(const struct repl *repl, const struct language *language)
{
	const struct language_script *script = &language->script;

	if (script->prelude == NULL)
		return false;
	for (size_t i = 0; i < repl->cell_count; i++) {
		const struct repl_cell *cell = &repl->cells[i];
		struct json_value *record = repl_cell_record(cell);
		const enum stand stand = stand_of(cell, language, status_of(record));

		json_read_free(record);
		if (!cell->is_prose &&
		    (stand == STANDS_AS_TEXT || stand == STANDS_FAILED ||
		     has_word(cell->source, script->draws) || has_word(cell->source, script->needs)))
			return true;
	}
	return false;
}

/* Writes a heading on one line, such as "# %% [3] failed: KeyError: 'Revenue'". */
static int add_head(const struct repl_cell *cell, const struct language *language,
		    const struct json_value *record, enum stand stand, struct buf *ret,
		    struct err *err)
{
	const struct json_value *error = json_read_member(record, "error");
	const char *name = json_read_text(json_read_member(error, "name"), NULL);
	const char *comment = language->syntax.comment;

	if (ret->len > 0 && buf_addc(ret, '\n', err) < 0)
		return (int)err->code;
	if (cell->is_prose)
		return buf_addf(ret, err, "%s %%%% [markdown]\n", comment);
	if (stand == STANDS_FAILED)
		return buf_addf(ret, err, "%s %%%% [%zu] failed with %.60s; what it had done stays\n",
				comment, cell->number, name != NULL ? name : "an error");
	if (stand == STANDS_COMMENT)
		return buf_addf(ret, err, "%s %%%% [%zu] not here: it did not end by itself (%s)\n",
				comment, cell->number, status_of(record));
	return buf_addf(ret, err, "%s %%%% [%zu]\n", comment, cell->number);
}

static int add_cell(const struct repl_cell *cell, const struct language *language,
		    enum stand stand, struct buf *ret, struct err *err)
{
	const struct language_script *script = &language->script;
	cleanup_buf struct buf source = BUF_INIT(RUN_JSON_MAX);
	const char *text;

	if (cell->is_prose)
		return add_comment(language, cell->source, ret, err);
	if (repl_script_source(language, cell->source, &source, err) < 0)
		return (int)err->code;
	text = buf_text(&source);
	if (stand == STANDS_COMMENT)
		return add_comment(language, text, ret, err);
	if (stand != STANDS && (stand == STANDS_FAILED ? script->failed : script->cell) != NULL) {
		if (buf_adds(ret, stand == STANDS_FAILED ? script->failed : script->cell, err) < 0 ||
		    quote(script, text, ret, err) < 0)
			return (int)err->code;
		return buf_addf(ret, err, "%s\n", script->close);
	}
	if (buf_add(ret, text, source.len, err) < 0 ||
	    (source.len > 0 && text[source.len - 1] != '\n' && buf_addc(ret, '\n', err) < 0))
		return (int)err->code;
	return script->end_of_cell != NULL && has_word(text, script->draws)
		       ? buf_addf(ret, err, "%s\n", script->end_of_cell)
		       : 0;
}

int repl_save_script(const struct repl *repl, struct buf *ret, struct err *err)
{
	const struct language *language = run_language(&repl->run);
	size_t failed = 0, ended = 0;

	if (needs_prelude(repl, language) && buf_adds(ret, language->script.prelude, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < repl->cell_count; i++) {
		const struct repl_cell *cell = &repl->cells[i];
		struct json_value *record = repl_cell_record(cell);
		const enum stand stand = stand_of(cell, language, status_of(record));
		int rc = add_head(cell, language, record, stand, ret, err);

		json_read_free(record);
		if (rc < 0 || add_cell(cell, language, stand, ret, err) < 0)
			return (int)err->code;
		failed += stand == STANDS_FAILED;
		ended += stand == STANDS_COMMENT;
	}
	if (failed > 0)
		run_output_line("%zu cell%s that failed: the script goes on behind %s, as the "
				"session did", failed, failed == 1 ? "" : "s",
				failed == 1 ? "it" : "them");
	if (ended > 0)
		run_output_line("%zu cell%s that did not end by %s: only as %s", ended,
				ended == 1 ? "" : "s", ended == 1 ? "itself" : "themselves",
				ended == 1 ? "a comment" : "comments");
	return 0;
}
