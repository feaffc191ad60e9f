/*
 * read.c - reads a line of a stored run into the journal.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs and tests.
 * Reads:    untrusted lines: a stored run can come from another machine.
 * Never:    trusts a number, a length or an order; prints anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/journal/journal.h"
#include "codec/json_read.h"
#include "languages/languages.h"

#define NAME_MAX_BYTES 512u
#define PATH_MAX_BYTES 8192u
/* writing replaces an invalid byte by three */
#define TEXT_MAX_BYTES (3u * AGENT_ANSWER_MAX)

static int broken(struct err *err, const char *what)
{
	return err_set(err, ERR_PROTOCOL, "%s", what);
}

/* ---- members ---- */

/* A text of at most `max` bytes; NULL, with *err set, for anything else. */
static const char *text_of(const struct json_value *line, const char *key, size_t max,
			   struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(line, key), &len);

	if (text == NULL)
		err_set(err, ERR_PROTOCOL, "\"%s\" is not text", key);
	else if (len > max || strlen(text) != len)
		err_set(err, ERR_PROTOCOL, "\"%s\" is too long", key);
	else
		return text;
	return NULL;
}

static bool is_null(const struct json_value *line, const char *key)
{
	return json_read_kind(json_read_member(line, key)) == JSON_KIND_NULL;
}

static const char *name_of(const struct json_value *line, const char *key, struct err *err)
{
	const char *text = text_of(line, key, NAME_MAX_BYTES, err);

	if (text == NULL || (text[0] != '\0' && text_is_plain(text)))
		return text;
	err_set(err, ERR_PROTOCOL, "\"%s\" is not a name", key);
	return NULL;
}

static void replace(char **field, const char *text)
{
	free(*field);
	*field = text != NULL ? mem_strdup(text) : NULL;
}

static int count_of(const struct json_value *object, const char *key, uint64_t *ret,
		    struct err *err)
{
	int64_t value = 0;

	if (!json_read_int(json_read_member(object, key), &value) || value < 0 ||
	    value > JOURNAL_TOKENS_MAX)
		return err_set(err, ERR_PROTOCOL, "\"%s\" is not a count", key);
	*ret = (uint64_t)value;
	return 0;
}

static int usage_of(const struct json_value *line, struct journal_question *question,
		    struct err *err)
{
	const struct json_value *object = json_read_member(line, "usage");
	struct agent_usage usage = { 0 };
	double cost = 0;
	bool has_cost;

	if (count_of(object, "requests", &usage.requests, err) < 0 ||
	    count_of(object, "steps", &usage.steps, err) < 0 ||
	    count_of(object, "input_tokens", &usage.in, err) < 0 ||
	    count_of(object, "cached_tokens", &usage.cached, err) < 0 ||
	    count_of(object, "output_tokens", &usage.out, err) < 0 ||
	    count_of(object, "reasoning_tokens", &usage.reasoning, err) < 0)
		return (int)err->code;
	has_cost = json_read_double(json_read_member(line, "cost"), &cost);
	if (!has_cost && !is_null(line, "cost"))
		return broken(err, "\"cost\" is not a number");
	/* This form of the condition is also false for NaN. */
	if (!(cost >= 0 && cost * 1e6 <= (double)JOURNAL_TOKENS_MAX))
		return broken(err, "\"cost\" is out of range");
	usage.cost_micro = (uint64_t)(cost * 1e6 + 0.5);
	question->usage = usage;
	question->has_cost = has_cost;
	return 0;
}

/* ---- lines ---- */

static int take_run(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *schema = name_of(line, "schema", err), *id, *command, *at;

	if (schema == NULL)
		return (int)err->code;
	if (strcmp(schema, JOURNAL_SCHEMA) != 0) {
		err_set(err, ERR_PROTOCOL, "it is \"%.60s\", not %s", schema, JOURNAL_SCHEMA);
		return err_remedy(err, "another version of Reckon wrote it");
	}
	id = name_of(line, "id", err);
	command = id != NULL ? name_of(line, "command", err) : NULL;
	at = command != NULL ? name_of(line, "at", err) : NULL;
	if (at == NULL)
		return (int)err->code;
	if (strlen(id) >= sizeof(journal->id) || strlen(at) >= sizeof(journal->started))
		return broken(err, "\"id\" or \"at\" is too long");
	memcpy(journal->id, id, strlen(id) + 1);
	memcpy(journal->started, at, strlen(at) + 1);
	replace(&journal->command, command);
	return 0;
}

static int take_setting(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *model = name_of(line, "model", err), *url = NULL, *language, *calling,
		   *template_name = NULL;

	if (model == NULL)
		return (int)err->code;
	if (strchr(model, '/') == NULL)
		return broken(err, "\"model\" is not PROVIDER/NAME");
	language = name_of(line, "language", err);
	calling = language != NULL ? name_of(line, "calling", err) : NULL;
	if (calling == NULL)
		return (int)err->code;
	if (language_find(language) == NULL)
		return broken(err, "\"language\" is none");
	if (!is_null(line, "base_url") && (url = name_of(line, "base_url", err)) == NULL)
		return (int)err->code;
	if (!is_null(line, "template") && (template_name = name_of(line, "template", err)) == NULL)
		return (int)err->code;
	replace(&journal->model, model);
	replace(&journal->base_url, url);
	replace(&journal->language, language);
	replace(&journal->template_name, template_name);
	replace(&journal->calling, calling);
	return 0;
}

static int take_session(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *id = NULL, *name = NULL, *url = NULL;

	if ((!is_null(line, "id") && (id = name_of(line, "id", err)) == NULL) ||
	    (!is_null(line, "name") && (name = name_of(line, "name", err)) == NULL) ||
	    (!is_null(line, "url") && (url = name_of(line, "url", err)) == NULL))
		return (int)err->code;
	replace(&journal->session_id, id);
	replace(&journal->session_name, name);
	replace(&journal->session_url, url);
	return 0;
}

static int take_file(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *path = text_of(line, "path", PATH_MAX_BYTES, err);
	const char *name = path != NULL ? text_of(line, "name", PATH_MAX_BYTES, err) : NULL;
	struct journal_file *file;

	if (name == NULL)
		return (int)err->code;
	if (path[0] != '/' || name[0] == '\0')
		return broken(err, "\"path\" is not absolute, or \"name\" is empty");
	for (size_t i = 0; i < journal->file_count; i++)
		if (strcmp(journal->files[i].name, name) == 0) {
			replace(&journal->files[i].path, path);
			return 0;
		}
	if (journal->file_count == JOURNAL_FILES_MAX)
		return broken(err, "too many files");
	journal->files = mem_grow(journal->files, journal->file_count + 1, sizeof(*journal->files));
	file = &journal->files[journal->file_count++];
	*file = (struct journal_file){ .path = mem_strdup(path), .name = mem_strdup(name) };
	return 0;
}

static int take_text(struct journal *journal, enum journal_kind kind, const struct json_value *line,
		     struct err *err)
{
	const char *text = text_of(line, "text", TEXT_MAX_BYTES, err);

	if (text == NULL)
		return (int)err->code;
	journal_add(journal, kind)->text = mem_strdup(text);
	return 0;
}

static int take_usage(struct journal *journal, const struct json_value *line, struct err *err)
{
	struct journal_question *question = journal_last_question(journal);

	if (question == NULL)
		return broken(err, "usage before a question");
	return usage_of(line, question, err);
}

static int take_cell(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *code = text_of(line, "code", TEXT_MAX_BYTES, err);
	uint64_t number;

	if (code == NULL || count_of(line, "cell", &number, err) < 0)
		return (int)err->code;
	if (number != journal->cell_count + 1)
		return broken(err, "a cell out of order");
	journal_add(journal, JOURNAL_CELL)->text = mem_strdup(code);
	return 0;
}

static int take_execution(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *id = name_of(line, "id", err);
	struct journal_item *cell;
	uint64_t number;

	if (id == NULL || count_of(line, "cell", &number, err) < 0)
		return (int)err->code;
	cell = number <= journal->cell_count ? journal_cell(journal, number) : NULL;
	if (cell == NULL || cell->status != NULL || id[0] == '\0')
		return broken(err, "an execution of no cell");
	replace(&cell->execution, id);
	return 0;
}

static int take_brief(struct journal_item *cell, const struct json_value *line, struct err *err)
{
	const char *status = name_of(line, "status", err), *output;
	uint64_t left_out;

	if (status == NULL || count_of(line, "left_out", &left_out, err) < 0)
		return (int)err->code;
	output = text_of(line, "text", TEXT_MAX_BYTES, err);
	if (output == NULL)
		return (int)err->code;
	replace(&cell->status, status);
	replace(&cell->output, output);
	cell->left_out = left_out;
	return 0;
}

static int take_record(struct journal *journal, const struct json_value *line, struct err *err)
{
	const struct json_value *record = json_read_member(line, "record");
	cleanup_buf struct buf json = BUF_INIT(JOURNAL_LINE_MAX);
	struct journal_item *cell;
	const char *status;
	uint64_t number;

	if (count_of(line, "cell", &number, err) < 0)
		return (int)err->code;
	cell = number <= journal->cell_count ? journal_cell(journal, number) : NULL;
	if (cell == NULL || cell->status != NULL)
		return broken(err, "a record of no cell");
	if (json_read_kind(record) == JSON_KIND_NULL)
		return take_brief(cell, line, err);
	if (json_read_kind(record) != JSON_KIND_OBJECT)
		return broken(err, "\"record\" is none");
	status = name_of(record, "status", err);
	if (status == NULL || json_read_dump(record, &json, err) < 0)
		return (int)err->code;
	replace(&cell->status, status);
	replace(&cell->record, buf_text(&json));
	return 0;
}

/* ---- the check of an answer's statements ---- */

static int take_claim(struct journal_checked *checked, const struct json_value *claim,
		      struct err *err)
{
	const char *text = text_of(claim, "text", PATH_MAX_BYTES, err);
	const char *kind = text != NULL ? name_of(claim, "kind", err) : NULL;

	if (kind == NULL)
		return (int)err->code;
	if (checked->count == AGENT_CLAIMS_MAX ||
	    (strcmp(kind, "number") != 0 && strcmp(kind, "link") != 0))
		return broken(err, "\"unsupported\" has too much, or what is neither");
	checked->claims =
		mem_grow(checked->claims, checked->count + 1, sizeof(*checked->claims));
	checked->claims[checked->count++] = (struct journal_claim){
		.is_link = strcmp(kind, "link") == 0, .text = mem_strdup(text)
	};
	return 0;
}

/* Runs of earlier versions have no "checked". */
static int take_checked(struct journal_question *question, const struct json_value *line,
			struct err *err)
{
	const struct json_value *object = json_read_member(line, "checked");
	const struct json_value *claims = json_read_member(object, "unsupported");
	struct journal_checked *checked = &question->checked;

	if (json_read_kind(object) != JSON_KIND_OBJECT)
		return object == NULL || json_read_kind(object) == JSON_KIND_NULL
			       ? 0
			       : broken(err, "\"checked\" is not an object");
	journal_drop_checked(checked);
	if (count_of(object, "numbers", &checked->numbers, err) < 0 ||
	    count_of(object, "links", &checked->links, err) < 0 ||
	    count_of(object, "unsupported_count", &checked->unsupported, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < json_read_count(claims); i++)
		if (take_claim(checked, json_read_at(claims, i), err) < 0) {
			journal_drop_checked(checked);
			return (int)err->code;
		}
	checked->is_checked = true;
	return 0;
}

static int take_answer(struct journal *journal, const struct json_value *line, struct err *err)
{
	struct journal_question *question = journal_last_question(journal);
	const char *stop = name_of(line, "stop", err), *message = NULL, *text = NULL;
	enum agent_stop end;

	if (stop == NULL)
		return (int)err->code;
	end = journal_stop_of(stop);
	if (question == NULL || question->stop != AGENT_STOP_COUNT_ || end == AGENT_STOP_COUNT_)
		return broken(err, "an answer to no question, or of an end that is none");
	if ((!is_null(line, "message") &&
	     (message = text_of(line, "message", AGENT_MESSAGE_MAX * 2, err)) == NULL) ||
	    (!is_null(line, "text") &&
	     (text = text_of(line, "text", TEXT_MAX_BYTES, err)) == NULL))
		return (int)err->code;
	if (usage_of(line, question, err) < 0 || take_checked(question, line, err) < 0)
		return (int)err->code;
	question->stop = end;
	replace(&question->message, message);
	if (text != NULL)
		journal_add(journal, JOURNAL_ANSWER)->text = mem_strdup(text);
	return 0;
}

static int take_undo(struct journal *journal, struct err *err)
{
	size_t number;

	if (!journal_last_live(journal, &number))
		return broken(err, "no question to take back");
	journal->questions[number].is_undone = true;
	return 0;
}

/* The text that the model had begun before the interruption is not an answer. */
static int take_resume(struct journal *journal, struct err *err)
{
	struct journal_question *question = journal_last_question(journal);

	if (!journal_is_open(journal))
		return broken(err, "no question to go on with");
	question->stop = AGENT_STOP_COUNT_;
	replace(&question->message, NULL);
	journal_drop_checked(&question->checked);
	for (size_t i = question->item; i < journal->item_count; i++)
		if (journal->items[i].kind == JOURNAL_ANSWER)
			journal->items[i].kind = JOURNAL_PROSE;
	return 0;
}

static int take(struct journal *journal, const char *type, const struct json_value *line,
		struct err *err)
{
	if (strcmp(type, "setting") == 0)
		return take_setting(journal, line, err);
	if (strcmp(type, "session") == 0)
		return take_session(journal, line, err);
	if (strcmp(type, "file") == 0)
		return take_file(journal, line, err);
	if (strcmp(type, "question") == 0)
		return take_text(journal, JOURNAL_QUESTION, line, err);
	if (strcmp(type, "said") == 0)
		return take_text(journal, JOURNAL_PROSE, line, err);
	if (strcmp(type, "note") == 0)
		return take_text(journal, JOURNAL_NOTE, line, err);
	if (strcmp(type, "usage") == 0)
		return take_usage(journal, line, err);
	if (strcmp(type, "cell") == 0)
		return take_cell(journal, line, err);
	if (strcmp(type, "execution") == 0)
		return take_execution(journal, line, err);
	if (strcmp(type, "record") == 0)
		return take_record(journal, line, err);
	if (strcmp(type, "undo") == 0)
		return take_undo(journal, err);
	if (strcmp(type, "resume") == 0)
		return take_resume(journal, err);
	if (strcmp(type, "answer") == 0)
		return take_answer(journal, line, err);
	return strcmp(type, "run") == 0 ? broken(err, "a second beginning") : 0;
}

static int judge(struct journal *journal, const struct json_value *line, struct err *err)
{
	const char *type;

	if (json_read_kind(line) != JSON_KIND_OBJECT)
		return broken(err, "it is not an object");
	type = name_of(line, "type", err);
	if (type == NULL)
		return (int)err->code;
	if (journal->lines > 0)
		return take(journal, type, line, err);
	if (strcmp(type, "run") != 0)
		return broken(err, "it is not the beginning of a run");
	return take_run(journal, line, err);
}

int journal_read(struct journal *journal, const char *line, size_t len, struct err *err)
{
	struct json_value *document = NULL;
	int rc;

	if (journal->item_count >= JOURNAL_ITEMS_MAX ||
	    journal->bytes + len > JOURNAL_BYTES_MAX + JOURNAL_LINE_MAX)
		return broken(err, "the run is too long");
	if (json_read_parse(line, len, JOURNAL_LINE_MAX, &document, err) < 0) {
		err->code = ERR_PROTOCOL;
		return ERR_PROTOCOL;
	}
	rc = judge(journal, document, err);
	json_read_free(document);
	if (rc < 0)
		return rc;
	journal->lines++;
	journal->bytes += len + 1;
	return 0;
}
