/*
 * program.c - passes arguments to a cell's program and reads its exit status.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    the command line, records.
 * Never:    names a language: its row in languages/ says how its programs get arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "codec/json_write.h"

const struct language *run_language(const struct run *run)
{
	return language_find_or_default(run->language);
}

static int quote(const struct language_arguments *form, const char *text, struct buf *ret,
		 struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(RUN_SOURCE_MAX);
	struct json_writer writer;

	if (run_input_check_source(text, strlen(text), err) < 0)
		return err_wrap(err, "an argument");
	if (form->is_shell)
		return text_quote_for_shell(text, ret, err);
	json_write_init(&writer, &json);
	json_write_string(&writer, text);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return buf_add(ret, json.data, json.len, err);
}

int run_program_load(struct run *run, struct err *err)
{
	const struct language *language = run_language(run);
	const struct language_arguments *form = &language->arguments;
	struct buf *ret = &run->prologue;

	if (!run->has_arguments)
		return 0;
	if (run->cell_count != 1) {
		(void)err_set(err, ERR_INVALID,
			      "arguments are for one program, and there are %zu cells",
			      run->cell_count);
		return err_remedy(err, "reckon run FILE -- ARGUMENT...");
	}
	if (form->before_name == NULL)
		return err_set(err, ERR_INVALID, "programs of %s take no arguments",
			       language->prose_name);
	*ret = BUF_INIT(RUN_SOURCE_MAX);
	if (buf_adds(ret, form->before_name, err) < 0 ||
	    quote(form, run->cells[0].origin, ret, err) < 0 ||
	    buf_adds(ret, form->after_name, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < run->argument_count; i++)
		if (buf_adds(ret, form->before_each, err) < 0 ||
		    quote(form, run->arguments[i], ret, err) < 0)
			return (int)err->code;
	return buf_adds(ret, form->after_all, err);
}

/*
 * Finds the error that means the program exited by itself (such as SystemExit): it is not a
 * failure.
 */
static const struct json_value *find_exit(const struct run *run, const struct json_value *record)
{
	const struct json_value *error = json_read_member(record, "error");
	const char *name = json_read_text(json_read_member(error, "name"), NULL);
	const char *exit_error = run_language(run)->exit_error;

	return name != NULL && exit_error != NULL && strcmp(name, exit_error) == 0 ? error : NULL;
}

bool run_program_exited(const struct run *run, const struct json_value *record, int *ret_status,
			const char **ret_message)
{
	const struct json_value *error = find_exit(run, record);
	const char *value = json_read_text(json_read_member(error, "value"), NULL);
	char *end = NULL;
	long status;

	if (error == NULL || value == NULL)
		return false;
	status = strtol(value, &end, 10);
	*ret_message = NULL;
	*ret_status = EXIT_CODE_FAILED;
	if (value[0] == '\0' || *end != '\0')
		*ret_message = value;
	else if ((status & 0xff) != 0)
		*ret_status = (int)(status & 0xff);
	return true;
}

int run_program_status(const struct run *run, const struct json_value *record, int status)
{
	const char *message;
	int own;

	return status == EXIT_CODE_FAILED && run_program_exited(run, record, &own, &message)
		       ? own
		       : status;
}
