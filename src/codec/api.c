/*
 * api.c - the JSON bodies of the native API as structs.
 *
 * Runs in:  reckon-front.
 * Reads:    JSON text of clients.
 * Never:    passes over a field it does not know.
 */
#include "codec/api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "codec/api_field.h"

int api_parse_object(const char *text, size_t len, struct json_value **ret, struct err *err)
{
	/* No body is an empty object: everything has a default. */
	if (len == 0)
		return json_read_parse("{}", 2, API_BODY_MAX, ret, err);
	if (json_read_parse(text, len, API_BODY_MAX, ret, err) < 0)
		return err_wrap(err, "the body is not JSON");
	if (json_read_kind(*ret) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body must be a JSON object");
	return 0;
}

int api_take_bool(const char *name, const struct json_value *value, bool *ret, struct err *err)
{
	if (!json_read_bool(value, ret))
		return err_set(err, ERR_INVALID, "%s must be true or false", name);
	return 0;
}

int api_take_seconds(const char *name, const struct json_value *value, double min, double max,
			uint64_t *ret, struct err *err)
{
	double seconds;
	int64_t whole;

	if (json_read_int(value, &whole))
		seconds = (double)whole;
	else if (!json_read_double(value, &seconds))
		return err_set(err, ERR_INVALID, "%s must be a number of seconds", name);
	if (!isfinite(seconds) || seconds < min || seconds > max)
		return err_set(err, ERR_INVALID, "%s must be from %g to %g", name, min, max);
	*ret = (uint64_t)(seconds * 1000.0 + 0.5);
	return 0;
}

int api_take_number(const char *name, const struct json_value *value, int64_t max,
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

static int take_leave(const struct json_value *value, struct api_leave *ret, struct err *err)
{
	const char *text = json_read_text(value, NULL);

	if (text != NULL && strcmp(text, "continue") == 0)
		ret->policy = API_LEAVE_CONTINUE;
	else if (text != NULL && strcmp(text, "cancel") == 0)
		ret->policy = API_LEAVE_CANCEL;
	else
		return err_set(err, ERR_INVALID, "on_disconnect must be \"continue\" or \"cancel\"");
	return 0;
}

bool api_take_leave(const char *name, const struct json_value *value, struct api_leave *ret,
		    int *ret_code, struct err *err)
{
	if (strcmp(name, "on_disconnect") == 0) {
		*ret_code = take_leave(value, ret, err);
		return true;
	}
	if (strcmp(name, "disconnect_grace_s") != 0)
		return false;
	ret->has_grace = true;
	*ret_code = api_take_seconds(name, value, 0, API_GRACE_S_MAX, &ret->grace_ms, err);
	return true;
}

int api_check_leave(const struct api_leave *leave, bool background, int usual, struct err *err)
{
	const int policy = leave->policy == API_LEAVE_UNSAID ? usual : (int)leave->policy;
	const char *name = leave->policy != API_LEAVE_UNSAID ? "on_disconnect"
							     : "disconnect_grace_s";

	if (background && (leave->policy != API_LEAVE_UNSAID || leave->has_grace))
		return err_set(err, ERR_INVALID,
			       "%s and background exclude each other: no connection waits for it",
			       name);
	if (leave->has_grace && policy != API_LEAVE_CANCEL)
		return err_set(err, ERR_INVALID,
			       "disconnect_grace_s goes with \"on_disconnect\": \"cancel\"");
	return 0;
}

int api_nothing_parse(const char *text, size_t len, struct err *err)
{
	struct json_value *document;
	int code;

	if (api_parse_object(text, len, &document, err) < 0)
		return (int)err->code;
	code = json_read_count(document) == 0
		       ? 0
		       : err_set(err, ERR_INVALID, "no fields are taken here");
	json_read_free(document);
	return code;
}
