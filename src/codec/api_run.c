/*
 * api_run.c - the JSON body of a question to a model.
 *
 * Runs in:  reckon-front.
 * Reads:    JSON text of clients.
 * Never:    passes over a field it does not know.
 */
#include "codec/api_run.h"

#include <math.h>
#include <string.h>

#include "codec/api_field.h"
#include "codec/base64.h"

#define NAME_BYTES_MAX 63u
#define MODEL_BYTES_MAX 318u /* PROVIDER/NAME */
#define PATH_BYTES_MAX 4095u
#define COUNT_MAX 1000000000
#define STEPS_MAX 1000
#define WALL_S_MAX 86400
#define BUDGET_MAX 1e6

static int take_name(const char *field, const struct json_value *value, size_t max,
		     const char **ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL || len == 0 || len > max || strlen(text) != len)
		return err_set(err, ERR_INVALID, "%s must be a string of 1 to %zu bytes", field,
			       max);
	*ret = text;
	return 0;
}

static int take_question(const struct json_value *value, struct api_run *ret, struct err *err)
{
	ret->question = json_read_text(value, &ret->question_len);
	if (ret->question == NULL || ret->question_len == 0)
		return err_set(err, ERR_INVALID, "question must be a string, and not empty");
	if (ret->question_len > API_QUESTION_MAX)
		return err_set(err, ERR_INVALID, "question is longer than %u bytes",
			       API_QUESTION_MAX);
	return 0;
}

static int take_budget(const struct json_value *value, uint64_t *ret, struct err *err)
{
	double amount;
	int64_t whole;

	if (json_read_int(value, &whole))
		amount = (double)whole;
	else if (!json_read_double(value, &amount))
		amount = -1;
	if (!isfinite(amount) || amount < 1e-6 || amount > BUDGET_MAX)
		return err_set(err, ERR_INVALID, "limits.budget must be an amount of money, from "
						 "0.000001 to 1000000");
	*ret = (uint64_t)(amount * 1e6 + 0.5);
	return 0;
}

static int take_limits(const struct json_value *value, struct api_run *ret, struct err *err)
{
	const struct json_value *member;
	const char *name;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "limits must be an object");
	ret->has_limits = true;
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		int code;

		if (strcmp(name, "steps") == 0)
			code = api_take_number("limits.steps", member, STEPS_MAX, &ret->steps, err);
		else if (strcmp(name, "tokens") == 0)
			code = api_take_number("limits.tokens", member, COUNT_MAX, &ret->tokens,
					       err);
		else if (strcmp(name, "budget") == 0)
			code = take_budget(member, &ret->budget_micro, err);
		else if (strcmp(name, "wall_s") == 0)
			code = api_take_seconds("limits.wall_s", member, 0.001, WALL_S_MAX,
						&ret->wall_ms, err);
		else
			code = err_set(err, ERR_INVALID, "unknown field limits.%.60s", name);
		if (code < 0)
			return code;
	}
	return 0;
}

static int take_content(struct api_run *ret, struct api_run_file *file,
			const struct json_value *value, bool is_base64, struct err *err)
{
	const char *text = json_read_text(value, &file->len);

	if (text == NULL || file->has_content)
		return err_set(err, ERR_INVALID, "files: text or base64, a string");
	file->has_content = true;
	file->text = is_base64 ? NULL : text;
	file->at = ret->decoded.len;
	if (is_base64 && base64_decode(text, file->len, &ret->decoded, err) < 0)
		return err_set(err, ERR_INVALID, "files: that is no base64");
	if (is_base64)
		file->len = ret->decoded.len - file->at;
	ret->bytes += file->len;
	if (ret->bytes > API_RUN_BYTES_MAX)
		return err_set(err, ERR_INVALID, "files of more than 6 MiB: upload them first, and "
						 "name their paths");
	return 0;
}

static int take_file(struct api_run *ret, const struct json_value *value, struct err *err)
{
	struct api_run_file *file = &ret->files[ret->file_count];
	const struct json_value *member;
	const char *name;

	if (json_read_text(value, NULL) != NULL)
		return take_name("files", value, PATH_BYTES_MAX, &file->path, err);
	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "files: a path, or an object with path and text or "
						 "base64");
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		int code;

		if (strcmp(name, "path") == 0)
			code = take_name("files: path", member, PATH_BYTES_MAX, &file->path, err);
		else if (strcmp(name, "text") == 0 || strcmp(name, "base64") == 0)
			code = take_content(ret, file, member, name[0] == 'b', err);
		else
			code = err_set(err, ERR_INVALID, "unknown field files.%.60s", name);
		if (code < 0)
			return code;
	}
	return file->path != NULL ? 0 : err_set(err, ERR_INVALID, "files: path is missing");
}

static int take_files(const struct json_value *value, struct api_run *ret, struct err *err)
{
	if (json_read_kind(value) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "files must be a list");
	if (json_read_count(value) > API_RUN_FILES_MAX)
		return err_set(err, ERR_INVALID, "files: at most %u", API_RUN_FILES_MAX);
	for (size_t i = 0; i < json_read_count(value); i++, ret->file_count++)
		if (take_file(ret, json_read_at(value, i), err) < 0)
			return (int)err->code;
	return 0;
}

static int take_field(const char *name, const struct json_value *value, struct api_run *ret,
		      struct err *err)
{
	int code;

	if (strcmp(name, "question") == 0)
		return take_question(value, ret, err);
	if (strcmp(name, "model") == 0)
		return take_name(name, value, MODEL_BYTES_MAX, &ret->model, err);
	if (strcmp(name, "session") == 0)
		return take_name(name, value, NAME_BYTES_MAX, &ret->session, err);
	if (strcmp(name, "template") == 0)
		return take_name(name, value, NAME_BYTES_MAX, &ret->template_name, err);
	if (strcmp(name, "language") == 0)
		return take_name(name, value, NAME_BYTES_MAX, &ret->language, err);
	if (strcmp(name, "keep") == 0)
		return api_take_bool(name, value, &ret->keep, err);
	if (strcmp(name, "stream") == 0)
		return api_take_bool(name, value, &ret->stream, err);
	if (strcmp(name, "background") == 0)
		return api_take_bool(name, value, &ret->background, err);
	if (strcmp(name, "limits") == 0)
		return take_limits(value, ret, err);
	if (strcmp(name, "files") == 0)
		return take_files(value, ret, err);
	if (api_take_leave(name, value, &ret->leave, &code, err))
		return code;
	return err_set(err, ERR_INVALID, "unknown field %.60s", name);
}

int api_run_parse(const char *text, size_t len, struct api_run *ret, struct err *err)
{
	const struct json_value *value;
	const char *name;

	memset(ret, 0, sizeof(*ret));
	ret->decoded = BUF_INIT(API_RUN_BYTES_MAX);
	if (api_parse_object(text, len, &ret->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++)
		if (take_field(name, value, ret, err) < 0)
			return (int)err->code;
	if (ret->question == NULL)
		return err_set(err, ERR_INVALID, "question is missing");
	if (ret->stream && ret->background)
		return err_set(err, ERR_INVALID, "stream and background exclude each other");
	if (ret->session != NULL &&
	    (ret->keep || ret->template_name != NULL || ret->language != NULL))
		return err_set(err, ERR_INVALID, "keep, template and language are of a new session");
	return api_check_leave(&ret->leave, ret->background, API_LEAVE_CANCEL, err);
}

const char *api_run_content(const struct api_run *run, const struct api_run_file *file)
{
	return file->text != NULL ? file->text : buf_text(&run->decoded) + file->at;
}

void api_run_done(struct api_run *run)
{
	json_read_free(run->document);
	buf_done(&run->decoded);
}
