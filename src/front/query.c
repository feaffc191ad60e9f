/*
 * query.c - what follows the "?" of a request line.
 *
 * Runs in:  reckon-front.
 * Reads:    queries of anybody.
 * Never:    passes on what it did not check: types, names and bounds are judged here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"

int query_u64(const char *name, const char *value, uint64_t *ret, struct err *err)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return err_set(err, ERR_INVALID, "%s must be a number", name);
	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (errno != 0 || *end != '\0')
		return err_set(err, ERR_INVALID, "%s must be a number", name);
	return 0;
}

static int take_limit(const char *value, uint64_t *ret, struct err *err)
{
	if (query_u64("limit", value, ret, err) < 0)
		return (int)err->code;
	if (*ret == 0 || *ret > FRONT_LIST_MAX)
		return err_set(err, ERR_INVALID, "limit takes 1 to %u", FRONT_LIST_MAX);
	return 0;
}

static int take_bool(const char *name, const char *value, struct query *ret, struct err *err)
{
	const bool is_yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;

	if (!is_yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
		return err_set(err, ERR_INVALID, "%s must be 0 or 1", name);
	ret->recursive = is_yes ? QUERY_YES : QUERY_NO;
	return 0;
}

static int take_text(const char *name, const char *value, struct query *ret, struct err *err)
{
	const struct {
		const char *name, *what;
		char *to;
		size_t size;
	} texts[] = {
		{ "before", "an id", ret->before, sizeof(ret->before) },
		{ "format", "tar, tar.gz, tar.zst or zip", ret->format, sizeof(ret->format) },
		{ "path", "the path of a folder", ret->path, sizeof(ret->path) },
		{ "cursor", "the `next` of a page", ret->cursor, sizeof(ret->cursor) },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(name, texts[i].name) != 0)
			continue;
		if (value[0] == '\0' || strlen(value) >= texts[i].size)
			return err_set(err, ERR_INVALID, "%s must be %s", name, texts[i].what);
		(void)snprintf(texts[i].to, texts[i].size, "%s", value);
		return 0;
	}
	return err_set(err, ERR_INVALID, "unknown parameter %.60s", name);
}

int query_take(const struct conn *conn, const char *known, struct query *ret, struct err *err)
{
	const char *at = conn->http.query;
	char name[32], value[4097], word[36];
	int more;

	memset(ret, 0, sizeof(*ret));
	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value), err)) > 0) {
		int code = 0;

		(void)snprintf(word, sizeof(word), " %s ", name);
		if (strchr(name, ' ') != NULL || known == NULL || strstr(known, word) == NULL)
			return err_set(err, ERR_INVALID, "unknown parameter %.60s", name);
		if (strcmp(name, "limit") == 0)
			code = take_limit(value, &ret->limit, err);
		else if (strcmp(name, "after") == 0)
			code = query_u64(name, value, &ret->after, err);
		else if (strcmp(name, "offset") == 0)
			code = query_u64(name, value, &ret->offset, err);
		else if (strcmp(name, "length") == 0)
			code = query_u64(name, value, &ret->length, err);
		else if (strcmp(name, "recursive") == 0)
			code = take_bool(name, value, ret, err);
		else
			code = take_text(name, value, ret, err);
		if (code < 0)
			return code;
	}
	return more;
}
