/*
 * api_admin.c - the JSON bodies of tenants and keys as structs.
 *
 * Runs in:  reckon-front.
 * Reads:    JSON text of clients.
 * Never:    passes over a field it does not know.
 */
#include "codec/api_admin.h"

#include <stdio.h>
#include <string.h>

#include "codec/api.h"
#include "codec/api_field.h"

#define NAME_BYTES_MAX 63u

/* A name is shown to people: no control characters, nothing that is not text. */
static int take_name(const char *field, const struct json_value *value, const char **ret,
		     struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return err_set(err, ERR_INVALID, "%s must be a string", field);
	if (len == 0 || len > NAME_BYTES_MAX)
		return err_set(err, ERR_INVALID, "%s must have 1 to %u bytes", field,
			       NAME_BYTES_MAX);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return err_set(err, ERR_INVALID, "%s holds a control character", field);
	*ret = text;
	return 0;
}

static int take_id(const char *field, const struct json_value *value, const char **ret,
		   struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL || len == 0 || len > 31 || strlen(text) != len)
		return err_set(err, ERR_INVALID, "%s must be an id", field);
	*ret = text;
	return 0;
}

/* ---- tenants -------------------------------------------------------------------------------- */

static int take_quota(const char *name, const struct json_value *value,
		      const struct api_quota_kind *kind, uint64_t *ret, struct err *err)
{
	char full[64];

	*ret = 0;
	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	(void)snprintf(full, sizeof(full), "quotas.%s", name);
	if (kind->is_seconds)
		return api_take_seconds(full, value, 0.001, (double)kind->max / 1000.0, ret, err);
	return api_take_number(full, value, (int64_t)kind->max, ret, err);
}

static int take_quotas(const struct json_value *value, const struct api_quota_kind *kinds,
		       size_t count, struct api_tenant *ret, struct err *err)
{
	const struct json_value *member;
	const char *name;

	if (json_read_kind(value) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "quotas must be an object");
	for (size_t i = 0; json_read_member_at(value, i, &name, &member); i++) {
		size_t at = 0;

		while (at < count && strcmp(kinds[at].name, name) != 0)
			at++;
		if (at == count)
			return err_set(err, ERR_INVALID, "unknown field quotas.%.60s", name);
		if (take_quota(name, member, &kinds[at], &ret->value[at], err) < 0)
			return (int)err->code;
		ret->given |= (uint64_t)1 << at;
	}
	return 0;
}

int api_tenant_parse(const char *text, size_t len, bool is_patch,
		     const struct api_quota_kind *kinds, size_t count, struct api_tenant *ret,
		     struct err *err)
{
	const struct json_value *value;
	const char *name;

	memset(ret, 0, sizeof(*ret));
	if (api_parse_object(text, len, &ret->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++) {
		int code;

		if (strcmp(name, "name") == 0)
			code = take_name(name, value, &ret->name, err);
		else if (strcmp(name, "quotas") == 0)
			code = take_quotas(value, kinds, count, ret, err);
		else if (is_patch && strcmp(name, "state") == 0)
			code = take_name(name, value, &ret->state, err);
		else
			code = err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (code < 0)
			return code;
	}
	if (!is_patch && ret->name == NULL)
		return err_set(err, ERR_INVALID, "name is missing");
	return 0;
}

void api_tenant_done(struct api_tenant *tenant)
{
	json_read_free(tenant->document);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static int take_scopes(const struct json_value *value, const char *const *scopes, size_t count,
		       uint32_t *ret, struct err *err)
{
	if (json_read_kind(value) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "scopes must be a list of names");
	*ret = 0;
	for (size_t i = 0; i < json_read_count(value); i++) {
		size_t len = 0, at = 0;
		const char *text = json_read_text(json_read_at(value, i), &len);

		while (text != NULL && at < count && strcmp(scopes[at], text) != 0)
			at++;
		if (text == NULL || at == count || strlen(text) != len)
			return err_set(err, ERR_INVALID, "scopes: \"%.40s\" is none",
				       text != NULL ? text : "?");
		*ret |= 1u << at;
	}
	return 0;
}

int api_key_parse(const char *text, size_t len, const char *const *scopes, size_t count,
		  struct api_key *ret, struct err *err)
{
	const struct json_value *value;
	const char *name;

	memset(ret, 0, sizeof(*ret));
	if (api_parse_object(text, len, &ret->document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(ret->document, i, &name, &value); i++) {
		int code;

		if (strcmp(name, "name") == 0)
			code = take_name(name, value, &ret->name, err);
		else if (strcmp(name, "tenant") == 0)
			code = take_id(name, value, &ret->tenant, err);
		else if (strcmp(name, "scopes") == 0)
			code = take_scopes(value, scopes, count, &ret->scopes, err);
		else if (strcmp(name, "expires_s") == 0)
			code = api_take_seconds(name, value, 1, API_LIFETIME_S_MAX,
						&ret->expires_ms, err);
		else
			code = err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (code < 0)
			return code;
	}
	/* Rights are never given by leaving something out. */
	if (ret->scopes == 0)
		return err_set(err, ERR_INVALID, "scopes is missing or empty");
	return 0;
}

int api_rotate_parse(const char *text, size_t len, uint64_t otherwise, uint64_t *ret_ms,
		     struct err *err)
{
	__attribute__((cleanup(api_key_done))) struct api_key body = { 0 };
	const struct json_value *value;
	const char *name;

	*ret_ms = otherwise;
	if (api_parse_object(text, len, &body.document, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(body.document, i, &name, &value); i++) {
		if (strcmp(name, "overlap_s") != 0)
			return err_set(err, ERR_INVALID, "unknown field %.60s", name);
		if (api_take_seconds(name, value, 0, API_LIFETIME_S_MAX, ret_ms, err) < 0)
			return (int)err->code;
	}
	return 0;
}

void api_key_done(struct api_key *key)
{
	json_read_free(key->document);
}
