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

static int take_text(const char *name, const struct json_value *value, const char **ret,
		     size_t *ret_len, struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", name);
	if (ret_len == NULL && (len != strlen(text) || len == 0 || len > 63))
		return err_set(err, ERR_INVALID, "%s must have 1 to 63 characters", name);
	*ret = text;
	if (ret_len != NULL)
		*ret_len = len;
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

static int take_limit(const char *name, const struct json_value *value, struct api_limits *limits,
		      struct err *err)
{
	const int64_t bytes_max = (int64_t)1 << 50;
	const struct {
		const char *name;
		uint64_t *to;
		int64_t max;
	} numbers[] = {
		{ "memory_bytes", &limits->memory_bytes, bytes_max },
		{ "disk_bytes", &limits->disk_bytes, bytes_max },
		{ "files", &limits->inodes, 1000000000 },
		{ "file_bytes", &limits->file_bytes, bytes_max },
		{ "output_bytes", &limits->output_bytes, 64 << 20 },
		{ "processes", &limits->pids, 4194304 },
		{ "cpu_percent", &limits->cpu_percent, 1000000 },
		{ "displays", &limits->displays, 100000 },
	};

	if (strcmp(name, "wall_s") == 0)
		return api_take_seconds("limits.wall_s", value, 0.001, 86400, &limits->wall_ms, err);
	if (strcmp(name, "cpu_s") == 0)
		return api_take_seconds("limits.cpu_s", value, 0.001, 86400, &limits->cpu_ms, err);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		char full[64];

		if (strcmp(name, numbers[i].name) != 0)
			continue;
		(void)snprintf(full, sizeof(full), "limits.%s", name);
		return api_take_number(full, value, numbers[i].max, numbers[i].to, err);
	}
	return err_set(err, ERR_INVALID, "unknown field limits.%.60s", name);
}

static int take_limits(const struct json_value *value, struct api_limits *limits, struct err *err)
{
	const struct json_value *member;
	const char *name;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "limits must be an object");
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++)
		if (take_limit(name, member, limits, err) < 0)
			return (int)err->code;
	return 0;
}

static bool is_env_name(const char *name)
{
	return name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9') &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
		       strlen(name);
}

static int take_env(const struct json_value *value, struct api_session *ret, struct err *err)
{
	const struct json_value *member;
	const char *name;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "env must be an object of strings");
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		size_t len = 0;
		const char *text = json_read_text(member, &len);

		if (!is_env_name(name))
			return err_set(err, ERR_INVALID, "env: \"%.60s\" is no variable's name",
				       name);
		if (text == NULL || strlen(text) != len)
			return err_set(err, ERR_INVALID,
				       "env.%.60s must be a string without NUL", name);
		if (i >= API_ENV_MAX)
			return err_set(err, ERR_INVALID, "env: more than %u variables",
				       API_ENV_MAX);
		if (buf_addf(&ret->env, err, "%s=", name) < 0 ||
		    buf_add(&ret->env, text, len + 1, err) < 0)
			return err_set(err, ERR_INVALID, "env: more than %u bytes",
				       API_ENV_BYTES_MAX);
		ret->env_count++;
	}
	return 0;
}

static int take_metadata(const struct json_value *value, struct api_session *ret, struct err *err)
{
	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "metadata must be an object");
	if (json_read_dump(value, &ret->metadata, err) < 0)
		return err_set(err, ERR_INVALID, "metadata is larger than %u bytes or too deep",
			       API_METADATA_MAX);
	ret->has_metadata = true;
	return 0;
}

/* Two or more digits that are all there is of a number. */
static bool take_digits(const char **at, int count, int *ret)
{
	*ret = 0;
	for (int i = 0; i < count; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static bool take_char(const char **at, char c)
{
	return *(*at)++ == c;
}

static bool take_zone(const char **at, int *ret_minutes)
{
	int hours, minutes, sign;

	*ret_minutes = 0;
	if (**at == 'Z' || **at == 'z') {
		(*at)++;
		return true;
	}
	sign = **at == '-' ? -1 : 1;
	if ((**at != '+' && **at != '-') || !(*at)++ || !take_digits(at, 2, &hours) ||
	    !take_char(at, ':') || !take_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

/* RFC 3339, "2026-11-22T06:00:00Z"; a fraction is passed over. */
static bool parse_moment(const char *at, uint64_t *ret_ms)
{
	struct tm tm = { 0 };
	time_t seconds;
	int zone;

	if (!take_digits(&at, 4, &tm.tm_year) || !take_char(&at, '-') ||
	    !take_digits(&at, 2, &tm.tm_mon) || !take_char(&at, '-') ||
	    !take_digits(&at, 2, &tm.tm_mday) || (*at != 'T' && *at != 't' && *at != ' ') || !at++ ||
	    !take_digits(&at, 2, &tm.tm_hour) || !take_char(&at, ':') ||
	    !take_digits(&at, 2, &tm.tm_min) || !take_char(&at, ':') ||
	    !take_digits(&at, 2, &tm.tm_sec))
		return false;
	if (*at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	if (!take_zone(&at, &zone) || *at != '\0' || tm.tm_year < 1970 || tm.tm_mon < 1 ||
	    tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm) - zone * 60;
	if (seconds <= 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000u;
	return true;
}

static int take_expiry(const char *name, const struct json_value *value, bool is_patch,
		       struct api_session *ret, struct err *err)
{
	size_t len = 0;
	const char *text;

	if (ret->has_expiry)
		return err_set(err, ERR_INVALID, "expires_in_s and expires_at exclude each other");
	ret->has_expiry = true;
	if (is_patch && json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (strcmp(name, "expires_in_s") == 0)
		return api_take_seconds(name, value, API_IDLE_MS_MIN / 1000.0,
				    (double)API_EXPIRES_MS_MAX / 1000.0, &ret->expires_in_ms, err);
	text = json_read_text(value, &len);
	if (text == NULL || strlen(text) != len || !parse_moment(text, &ret->expires_at_ms))
		return err_set(err, ERR_INVALID, "expires_at must be a time as in RFC 3339, for "
						 "example 2030-01-31T12:00:00Z");
	return 0;
}

/* Of a box that is there already only what is not built into it can change. */
static int take_changed_limits(const struct json_value *value, struct api_session *ret,
			       struct err *err)
{
	const struct json_value *member;
	const char *name;

	if (take_limits(value, &ret->limits, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++)
		if (strcmp(name, "wall_s") != 0 && strcmp(name, "output_bytes") != 0)
			return err_set(err, ERR_INVALID, "limits.%.60s cannot be changed while the "
				       "session lives; wall_s and output_bytes can", name);
	ret->has_limits = true;
	return 0;
}

static int take_name(const struct json_value *value, const char **ret, struct err *err)
{
	size_t len = 0;

	if (take_text("name", value, ret, &len, err) < 0)
		return (int)err->code;
	if (!id_is_name(*ret, len, "se"))
		return err_set(err, ERR_INVALID, "name must have 1 to %d letters, digits, '.', '_' and "
			       "'-', and not begin with se_", ID_NAME_MAX);
	return 0;
}

static int take_isolate_cpu(const struct json_value *value, unsigned *ret, struct err *err)
{
	static const char *const names[] = { API_ISOLATE_CPU };

	if (json_read_kind(value) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "policy.isolate_cpu must be a list of names");
	for (size_t i = 0; i < json_read_count(value); i++) {
		const char *text = json_read_text(json_read_at(value, i), NULL);
		size_t at = 0;

		while (text != NULL && at < ARRAY_LEN(names) && strcmp(names[at], text) != 0)
			at++;
		if (text == NULL || at == ARRAY_LEN(names))
			return err_set(err, ERR_INVALID, "policy.isolate_cpu: \"%.40s\" is neither "
				       "core nor speculation", text != NULL ? text : "");
		*ret |= 1u << at;
	}
	return 0;
}

static int take_policy(const struct json_value *value, struct api_session *ret, struct err *err)
{
	const struct json_value *member;
	const char *name, *text;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "policy must be an object");
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		if (strcmp(name, "isolate_cpu") == 0) {
			if (take_isolate_cpu(member, &ret->isolate_cpu, err) < 0)
				return (int)err->code;
		} else if (strcmp(name, "network") == 0) {
			text = json_read_text(member, NULL);
			if (text == NULL || strcmp(text, "none") != 0)
				return err_set(err, ERR_INVALID, "policy.network can only be \"none\": "
					       "a box has no network");
		} else {
			return err_set(err, ERR_INVALID, "unknown field policy.%.60s", name);
		}
	}
	return 0;
}

int api_take_session(const char *name, const struct json_value *value, bool is_patch,
		     struct api_session *ret, struct err *err)
{
	if (strcmp(name, "metadata") == 0)
		return take_metadata(value, ret, err);
	if (strcmp(name, "idle_timeout_s") == 0) {
		ret->has_idle = true;
		return api_take_seconds(name, value, API_IDLE_MS_MIN / 1000.0,
				    (double)API_IDLE_MS_MAX / 1000.0, &ret->idle_ms, err);
	}
	if (strcmp(name, "expires_in_s") == 0 || strcmp(name, "expires_at") == 0)
		return take_expiry(name, value, is_patch, ret, err);
	if (is_patch && strcmp(name, "limits") == 0)
		return take_changed_limits(value, ret, err);
	if (!is_patch && strcmp(name, "template") == 0)
		return take_text(name, value, &ret->template_name, NULL, err);
	if (!is_patch && strcmp(name, "language") == 0)
		return take_text(name, value, &ret->language, NULL, err);
	if (!is_patch && strcmp(name, "name") == 0)
		return take_name(value, &ret->name, err);
	if (!is_patch && strcmp(name, "limits") == 0)
		return take_limits(value, &ret->limits, err);
	if (!is_patch && strcmp(name, "env") == 0)
		return take_env(value, ret, err);
	if (!is_patch && strcmp(name, "policy") == 0)
		return take_policy(value, ret, err);
	return err_set(err, ERR_INVALID, "unknown field %.60s", name);
}

int api_session_parse(const char *text, size_t len, bool is_patch, struct api_session *ret,
		      struct err *err)
{
	const struct json_value *value;
	const char *name;

	memset(ret, 0, sizeof(*ret));
	ret->env = BUF_INIT(API_ENV_BYTES_MAX);
	ret->metadata = BUF_INIT(API_METADATA_MAX);
	if (api_parse_object(text, len, &ret->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++)
		if (api_take_session(name, value, is_patch, ret, err) < 0)
			return (int)err->code;
	return 0;
}

void api_session_done(struct api_session *session)
{
	json_read_free(session->document);
	buf_done(&session->env);
	buf_done(&session->metadata);
}

static int take_code(const struct json_value *value, struct api_execute *ret, struct err *err)
{
	if (take_text("code", value, &ret->code, &ret->code_len, err) < 0)
		return (int)err->code;
	if (ret->code_len > API_CODE_MAX)
		return err_set(err, ERR_INVALID, "code is longer than %u bytes", API_CODE_MAX);
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

int api_take_execute(const char *name, const struct json_value *value, struct api_execute *ret,
		     struct err *err)
{
	int code;

	if (strcmp(name, "code") == 0)
		return take_code(value, ret, err);
	if (strcmp(name, "timeout_s") == 0)
		return api_take_seconds(name, value, 0.001, 86400, &ret->timeout_ms, err);
	if (strcmp(name, "max_text") == 0) {
		if (api_take_number(name, value, API_TEXT_MAX, &ret->text_bytes, err) < 0)
			return (int)err->code;
		return ret->text_bytes >= API_TEXT_MIN
			       ? 0
			       : err_set(err, ERR_INVALID, "max_text must be at least %d",
					 API_TEXT_MIN);
	}
	if (strcmp(name, "stream") == 0)
		return api_take_bool(name, value, &ret->stream, err);
	if (strcmp(name, "background") == 0)
		return api_take_bool(name, value, &ret->background, err);
	if (strcmp(name, "context") == 0)
		return take_text(name, value, &ret->context, NULL, err);
	if (strcmp(name, "language") == 0)
		return take_text(name, value, &ret->language, NULL, err);
	if (api_take_leave(name, value, &ret->leave, &code, err))
		return code;
	return err_set(err, ERR_INVALID, "unknown field %.60s", name);
}

int api_execute_parse(const char *text, size_t len, struct api_execute *ret, struct err *err)
{
	const struct json_value *value;
	const char *name;

	memset(ret, 0, sizeof(*ret));
	if (api_parse_object(text, len, &ret->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++)
		if (api_take_execute(name, value, ret, err) < 0)
			return (int)err->code;
	if (ret->code == NULL)
		return err_set(err, ERR_INVALID, "code is missing");
	if (ret->stream && ret->background)
		return err_set(err, ERR_INVALID, "stream and background exclude each other");
	return api_check_leave(&ret->leave, ret->background, API_LEAVE_CONTINUE, err);
}

void api_execute_done(struct api_execute *execute)
{
	json_read_free(execute->document);
}
