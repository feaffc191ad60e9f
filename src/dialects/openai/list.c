/*
 * list.c - the query and the end of a list, which all lists of OpenAI's API share.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    queries of any client.
 * Never:    looks up an id of a query: the list that it is for does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/openai/openai.h"

static int refuse_limit(struct request *request, unsigned max)
{
	char message[60];

	(void)snprintf(message, sizeof(message), "limit: from 1 to %u", max);
	answer_refuse_simple(request, 400, "invalid", message, NULL);
	return -1;
}

int list_read(struct request *request, unsigned usual, unsigned max, struct list *ret)
{
	const char *at = request_head(request)->query;
	char name[64], value[NAME_SIZE];
	struct err err;
	int more;

	*ret = (struct list){ .limit = usual };
	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value), &err)) == 1) {
		if (strcmp(name, "limit") == 0 && value[0] >= '0' && value[0] <= '9')
			ret->limit = strtoull(value, NULL, 10);
		else if (strcmp(name, "order") == 0)
			ret->is_ascending = strcmp(value, "asc") == 0;
		else if (strcmp(name, "after") == 0)
			(void)snprintf(ret->after, sizeof(ret->after), "%s", value);
		else if (strcmp(name, "before") == 0)
			(void)snprintf(ret->before, sizeof(ret->before), "%s", value);
		else if (strcmp(name, "purpose") == 0)
			(void)snprintf(ret->purpose, sizeof(ret->purpose), "%.64s", value);
	}
	if (more != 0) {
		answer_refuse_invalid(request, &err);
		return -1;
	}
	return ret->limit >= 1 && ret->limit <= max ? 0 : refuse_limit(request, max);
}

void list_begin(struct json_writer *json, struct buf *body)
{
	json_write_begin_with(json, body, "object", "list");
	json_write_key(json, "data");
	json_write_array_begin(json);
}

void list_end(struct json_writer *json, const char *first, const char *last, bool has_more)
{
	const bool is_empty = first == NULL || first[0] == '\0';

	json_write_array_end(json);
	json_write_member_string(json, "first_id", is_empty ? NULL : first);
	json_write_member_string(json, "last_id", is_empty ? NULL : last);
	json_write_member_bool(json, "has_more", has_more);
	json_write_object_end(json);
}
