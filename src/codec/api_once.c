/*
 * api_once.c - the body of code that gets a session, which ends with it or stays.
 *
 * Runs in:  reckon-front.
 * Reads:    JSON text of clients.
 * Never:    passes over a field it does not know.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/api_field.h"

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int api_once_parse(const char *text, size_t len, struct api_session *ret_session,
		   struct api_execute *ret, struct err *err)
{
	static const char *const of_code[] = { "code", "timeout_s", "max_text" };
	static const char *const of_session[] = { "template", "language", "limits",
						  "env",      "policy",	  "metadata" };
	static const char *const of_its_life[] = { "name", "idle_timeout_s", "expires_in_s",
						   "expires_at" };
	const char *name, *wants_keep = NULL;
	const struct json_value *value;

	memset(ret, 0, sizeof(*ret));
	/* The document is the session's, and goes with it. */
	if (api_session_parse("", 0, false, ret_session, err) < 0)
		return (int)err->code;
	json_read_free(TAKE_PTR(ret_session->document));
	if (api_parse_object(text, len, &ret_session->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret_session->document, i, &name, &value); i++) {
		const bool is_life = is_one_of(name, of_its_life, ARRAY_LEN(of_its_life));
		int code;

		if (is_life)
			wants_keep = name;
		if (strcmp(name, "keep") == 0)
			code = api_take_bool(name, value, &ret->keep, err);
		else if (is_one_of(name, of_code, ARRAY_LEN(of_code)))
			code = api_take_execute(name, value, ret, err);
		else if (is_life || is_one_of(name, of_session, ARRAY_LEN(of_session)))
			code = api_take_session(name, value, false, ret_session, err);
		else
			code = err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (code < 0)
			return code;
	}
	if (wants_keep != NULL && !ret->keep)
		return err_set(err, ERR_INVALID, "%s is of a session that stays: it goes with "
						 "\"keep\": true", wants_keep);
	return ret->code != NULL ? 0 : err_set(err, ERR_INVALID, "code is missing");
}
