/*
 * api_files.c - the JSON bodies about files and links as structs.
 *
 * Runs in:  reckon-front.
 * Reads:    JSON text of clients.
 * Never:    passes over a field it does not know.
 */
#include "codec/api_files.h"

#include <string.h>

#include "base/cleanup.h"
#include "codec/api.h"

#define ARTIFACT_MAX 40u
#define DOWNLOADS_MAX 1000000000

enum field_kind { FIELD_PATH, FIELD_ARTIFACT, FIELD_BOOL, FIELD_SECONDS, FIELD_COUNT };

struct field {
	const char *name;
	enum field_kind kind;
	void *to;
};

static int take_text(const char *name, const struct json_value *value, size_t max,
		     const char **ret, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", name);
	if (len == 0 || len > max || strlen(text) != len)
		return err_set(err, ERR_INVALID, "%s must have 1 to %zu bytes, and no NUL", name,
			       max);
	*ret = text;
	return 0;
}

static int take_number(const char *name, const struct json_value *value, int64_t max,
		       uint64_t *ret, struct err *err)
{
	int64_t number;

	if (!json_read_int(value, &number))
		return err_set(err, ERR_INVALID, "%s must be a whole number", name);
	if (number < 1 || number > max)
		return err_set(err, ERR_INVALID, "%s must be from 1 to %lld", name,
			       (long long)max);
	*ret = (uint64_t)number;
	return 0;
}

static int take_field(const struct field *field, const struct json_value *value, struct err *err)
{
	switch (field->kind) {
	case FIELD_PATH:
		return take_text(field->name, value, API_PATH_MAX, field->to, err);
	case FIELD_ARTIFACT:
		return take_text(field->name, value, ARTIFACT_MAX, field->to, err);
	case FIELD_BOOL:
		if (!json_read_bool(value, field->to))
			return err_set(err, ERR_INVALID, "%s must be true or false", field->name);
		return 0;
	case FIELD_SECONDS:
		return take_number(field->name, value, API_LINK_S_MAX, field->to, err);
	case FIELD_COUNT:
		return take_number(field->name, value, DOWNLOADS_MAX, field->to, err);
	}
	return err_set(err, ERR_INVALID, "%s is of no kind", field->name);
}

static int parse(const char *text, size_t len, const struct field *fields, size_t count,
		 struct api_files *ret, struct err *err)
{
	const struct json_value *value;
	const char *name;

	if (json_read_parse(len > 0 ? text : "{}", len > 0 ? len : 2, API_BODY_MAX, &ret->document,
			    err) < 0)
		return err_wrap(err, "the body is not JSON");
	if (json_read_kind(ret->document) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body must be a JSON object");
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++) {
		size_t at = 0;

		while (at < count && strcmp(fields[at].name, name) != 0)
			at++;
		if (at == count)
			return err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (take_field(&fields[at], value, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int api_mkdir_parse(const char *text, size_t len, struct api_files *ret, struct err *err)
{
	const struct field fields[] = { { "path", FIELD_PATH, &ret->path } };

	memset(ret, 0, sizeof(*ret));
	if (parse(text, len, fields, ARRAY_LEN(fields), ret, err) < 0)
		return (int)err->code;
	return ret->path != NULL ? 0 : err_set(err, ERR_INVALID, "path is missing");
}

int api_move_parse(const char *text, size_t len, struct api_files *ret, struct err *err)
{
	const struct field fields[] = { { "from", FIELD_PATH, &ret->path },
					{ "to", FIELD_PATH, &ret->to },
					{ "overwrite", FIELD_BOOL, &ret->overwrite } };

	memset(ret, 0, sizeof(*ret));
	if (parse(text, len, fields, ARRAY_LEN(fields), ret, err) < 0)
		return (int)err->code;
	if (ret->path == NULL || ret->to == NULL)
		return err_set(err, ERR_INVALID, "%s is missing", ret->path == NULL ? "from" : "to");
	return 0;
}

int api_link_parse(const char *text, size_t len, struct api_files *ret, struct err *err)
{
	const struct field fields[] = { { "path", FIELD_PATH, &ret->path },
					{ "artifact", FIELD_ARTIFACT, &ret->artifact },
					{ "expires_in_s", FIELD_SECONDS, &ret->expires_s },
					{ "max_downloads", FIELD_COUNT, &ret->max_downloads } };

	memset(ret, 0, sizeof(*ret));
	ret->expires_s = API_LINK_S_DEFAULT;
	if (parse(text, len, fields, ARRAY_LEN(fields), ret, err) < 0)
		return (int)err->code;
	if ((ret->path == NULL) == (ret->artifact == NULL))
		return err_set(err, ERR_INVALID, "one of path and artifact is needed");
	return 0;
}

void api_files_done(struct api_files *files)
{
	json_read_free(files->document);
}
