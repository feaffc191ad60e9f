/*
 * list.c - lists of sandboxes: by metadata, template and state, page by page.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a query from a client.
 * Never:    holds more than one page of reckond's sessions at once.
 *
 * The token of a page is the id of the last sandbox before it. Ids begin with their time, so they
 * sort by time. reckond lists the newest first; for the oldest first, all live sessions are read
 * and their ids kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/moment.h"
#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define LIMIT_MAX 100u
#define PAGE 100u
#define ANSWER_MAX (8u << 20)
#define PAIRS_MAX 32u
#define VALUE_SIZE 4096u
#define ASCENDING_MAX 100000u

struct pair {
	const char *key, *value;
};

struct filter {
	struct pair pairs[PAIRS_MAX];
	size_t pair_count;
	const char *template, *after; /* the page's token */
	uint64_t since_ms;
	unsigned limit;
	bool wants_running, wants_paused, is_ascending;
};

/* ---- the query ------------------------------------------------------------------------------ */

/* `text` is k=v&k=v, whose names and values are percent-encoded a second time. */
static bool take_pairs(const struct e2b *e2b, const char *text, struct filter *ret)
{
	char name[VALUE_SIZE], value[VALUE_SIZE], key[VALUE_SIZE], once[VALUE_SIZE];
	struct err ignored;
	int more;

	while ((more = http_query_next(&text, name, sizeof(name), value, sizeof(value),
				       &ignored)) > 0) {
		struct pair *pair = &ret->pairs[ret->pair_count];

		if (ret->pair_count == PAIRS_MAX ||
		    !http_decode(name, strlen(name), key, sizeof(key)) ||
		    !http_decode(value, strlen(value), once, sizeof(once)))
			return false;
		pair->key = arena_text(e2b->arena, key, strlen(key));
		pair->value = arena_text(e2b->arena, once, strlen(once));
		ret->pair_count++;
	}
	return more == 0;
}

static bool take_one(const struct e2b *e2b, const char *name, const char *value,
		     struct filter *ret)
{
	if (strcmp(name, "metadata") == 0)
		return take_pairs(e2b, value, ret);
	if (strcmp(name, "state") == 0 && value[0] != '\0') {
		ret->wants_running = strstr(value, "running") != NULL;
		ret->wants_paused = strstr(value, "paused") != NULL;
	} else if (strcmp(name, "template") == 0 && value[0] != '\0')
		ret->template = arena_text(e2b->arena, value, strlen(value));
	else if (strcmp(name, "nextToken") == 0 && value[0] != '\0')
		ret->after = arena_text(e2b->arena, value, strlen(value));
	else if (strcmp(name, "order") == 0)
		ret->is_ascending = strcmp(value, "asc") == 0;
	else if (strcmp(name, "startedAfter") == 0 && value[0] != '\0')
		return api_moment(value, &ret->since_ms);
	else if (strcmp(name, "limit") == 0 && value[0] != '\0') {
		ret->limit = (unsigned)strtoul(value, NULL, 10);
		return ret->limit >= 1 && ret->limit <= LIMIT_MAX;
	}
	return true;
}

static bool take_filter(const struct e2b *e2b, struct filter *ret)
{
	const char *query = request_head(e2b->request)->query;
	char name[64], value[VALUE_SIZE];
	struct err ignored;
	int more;

	/* Version 1 of this call lists only running sandboxes by default. */
	*ret = (struct filter){ .limit = LIMIT_MAX,
				.wants_running = true,
				.wants_paused = e2b->version == 2 };
	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) > 0)
		if (!take_one(e2b, name, value, ret))
			return false;
	return more == 0;
}

/* ---- filters -------------------------------------------------------------------------------- */

static bool has_pairs(const struct filter *filter, const struct json_value *metadata)
{
	for (size_t i = 0; i < filter->pair_count; i++) {
		const char *text =
			json_read_text(json_read_member(metadata, filter->pairs[i].key), NULL);

		if (text == NULL || strcmp(text, filter->pairs[i].value) != 0)
			return false;
	}
	return true;
}

static bool fits(const struct filter *filter, const struct api_session *session)
{
	cleanup_json struct json_value *metadata = NULL;
	const char *template;
	struct err ignored;
	uint64_t started;

	if (!(session->has_paused_at_ms ? filter->wants_paused : filter->wants_running))
		return false;
	if (filter->since_ms != 0 &&
	    (!api_moment(session->created_at, &started) || started < filter->since_ms))
		return false;
	(void)json_read_parse(session->metadata.data, session->metadata.len, E2B_BODY_MAX,
			      &metadata, &ignored);
	if (json_read_member(metadata, E2B_BUILD_MEMBER) != NULL)
		return false;
	template = json_read_text(json_read_member(metadata, E2B_TEMPLATE_MEMBER), NULL);
	if (template == NULL)
		template = session->template != NULL ? session->template : "base";
	return has_pairs(filter, metadata) &&
	       (filter->template == NULL || strcmp(filter->template, template) == 0);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* The answer so far, and the position in reckond's list. */
struct pages {
	const struct e2b *e2b;
	struct filter filter;
	struct json_writer json;
	const char *before; /* the position in reckond's list */
	const char *last;   /* the last sandbox in the answer */
	unsigned count;
	bool has_more;
};

/* Newest first. Stops at the first match after a full page, which shows that there are more. */
static int descend(struct pages *pages)
{
	do {
		cleanup_call struct call call = CALL_INIT;
		const struct api_session *at;
		struct api_sessions out;

		if (call_or_refuse(pages->e2b->request, API_SESSION_LIST,
				   &(struct api_session_list_in){
					   .has_limit = true,
					   .limit = PAGE,
					   .before = pages->before,
					   .status = API_SESSION_LIST_IN_STATUS_LIVE },
				   &out, &call) < 0)
			return -1;
		at = out.sessions.items;
		for (size_t i = 0; i < out.sessions.count && !pages->has_more; i++, at++) {
			if (!fits(&pages->filter, at))
				continue;
			pages->has_more = pages->count == pages->filter.limit;
			if (pages->has_more)
				break;
			e2b_write_listed(&pages->json, at, NULL, false);
			pages->last = arena_text(pages->e2b->arena, at->id, strlen(at->id));
			pages->count++;
		}
		pages->before = out.next != NULL
					? arena_text(pages->e2b->arena, out.next, strlen(out.next))
					: NULL;
	} while (pages->before != NULL && !pages->has_more);
	return 0;
}

/* Collects the ids of all matching sandboxes after the token, newest first. */
static int collect(struct pages *pages, const char ***ret_ids, size_t *ret_count)
{
	const char **ids = arena_new(pages->e2b->arena, ASCENDING_MAX, sizeof(*ids));
	const char *before = NULL;
	size_t count = 0;

	do {
		cleanup_call struct call call = CALL_INIT;
		const struct api_session *at;
		struct api_sessions out;

		if (call_or_refuse(pages->e2b->request, API_SESSION_LIST,
				   &(struct api_session_list_in){
					   .has_limit = true,
					   .limit = PAGE,
					   .before = before,
					   .status = API_SESSION_LIST_IN_STATUS_LIVE },
				   &out, &call) < 0)
			return -1;
		at = out.sessions.items;
		for (size_t i = 0; i < out.sessions.count && count < ASCENDING_MAX; i++, at++)
			if (fits(&pages->filter, at) &&
			    (pages->filter.after == NULL ||
			     strcmp(at->id, pages->filter.after) > 0))
				ids[count++] = arena_text(pages->e2b->arena, at->id,
							  strlen(at->id));
		before = out.next != NULL
				 ? arena_text(pages->e2b->arena, out.next, strlen(out.next))
				 : NULL;
	} while (before != NULL && count < ASCENDING_MAX);
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

static int ascend(struct pages *pages)
{
	const char **ids;
	size_t count;

	if (collect(pages, &ids, &count) < 0)
		return -1;
	for (size_t i = count; i > 0 && pages->count < pages->filter.limit; i--) {
		cleanup_call struct call call = CALL_INIT;
		struct api_session session;
		const enum call_status status =
			call_make(pages->e2b->request, API_SESSION_SHOW,
				  &(struct api_session_show_in){ .session = ids[i - 1] }, &session,
				  &call);

		if (status == CALL_GONE)
			return -1;
		if (status == CALL_FAILED)
			continue; /* it has ended since */
		e2b_write_listed(&pages->json, &session, NULL, false);
		pages->last = ids[i - 1];
		pages->count++;
		pages->has_more = i > 1;
	}
	return 0;
}

void e2b_list(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct pages pages = { .e2b = e2b };
	char headers[E2B_ID_SIZE + 32] = "";

	if (!take_filter(e2b, &pages.filter)) {
		e2b_refuse(e2b, 400, "the query is malformed");
		return;
	}
	pages.before = pages.filter.after;
	json_write_init(&pages.json, &body);
	json_write_array_begin(&pages.json);
	if ((pages.filter.is_ascending ? ascend(&pages) : descend(&pages)) < 0)
		return;
	json_write_array_end(&pages.json);
	if (pages.has_more && pages.last != NULL)
		(void)snprintf(headers, sizeof(headers), "x-next-token: %.60s\r\n", pages.last);
	e2b_answer_json(e2b, 200, &pages.json, headers);
}
