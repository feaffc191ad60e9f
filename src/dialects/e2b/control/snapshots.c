/*
 * snapshots.c - snapshots of sandboxes: created, listed, found by id or name, removed.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths, queries and bodies from clients.
 * Never:    creates a snapshot without memory when the client asks for memory: that is an error.
 *
 * E2B treats a snapshot as a template: TEMPLATE:TAG, or NAMESPACE/NAME:TAG. Here it has an id, and
 * a name that may have a tag; a namespace and the tag "default" are ignored. A tenant's snapshots
 * fit into one page of reckond's list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define ANSWER_MAX (256u * 1024u)
#define LIMIT_MAX 100u
#define PAGE 500u
#define VALUE_SIZE 256u
#define NAME_MAX_BYTES 128u
#define PREFIX "sn_"
#define TAG_DEFAULT ":default"

static const char *plain_name(const struct e2b *e2b, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t len;

	name = slash != NULL ? slash + 1 : name;
	len = strlen(name);
	if (len >= strlen(TAG_DEFAULT) &&
	    strcmp(name + len - strlen(TAG_DEFAULT), TAG_DEFAULT) == 0)
		len -= strlen(TAG_DEFAULT);
	return arena_text(e2b->arena, name, len);
}

static bool is_id(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

static void write_one(struct json_writer *json, const struct api_snapshot *snapshot)
{
	json_write_object_begin(json);
	json_write_member_string(json, "snapshotID", snapshot->id);
	json_write_key(json, "names");
	json_write_array_begin(json);
	if (snapshot->name != NULL)
		json_write_string(json, snapshot->name);
	json_write_array_end(json);
	json_write_object_end(json);
}

/* ---- making and removing -------------------------------------------------------------------- */

/* False: answered with an error. */
static bool take_options(const struct e2b *e2b, const struct json_value *given,
			 struct api_snapshot_create_in *ret)
{
	const struct json_value *name = json_read_member(given, "name");
	bool wants_memory = false;
	const char *text;
	size_t len;

	if (json_read_bool(json_read_member(given, "memory"), &wants_memory) && wants_memory) {
		e2b_refuse(e2b, 400,
			   "a snapshot here keeps files, and no memory: leave out `mode`, or say "
			   "that it is `filesystem`");
		return false;
	}
	if (name == NULL || json_read_kind(name) == JSON_KIND_NULL)
		return true;
	text = json_read_text(name, &len);
	if (text == NULL || strlen(text) != len) {
		e2b_refuse(e2b, 400, "name is a text");
		return false;
	}
	ret->name = plain_name(e2b, text);
	if (ret->name[0] != '\0' && strlen(ret->name) <= NAME_MAX_BYTES && !is_id(ret->name))
		return true;
	e2b_refuse(e2b, 400, "a name has 1 to 128 bytes, and does not begin with sn_");
	return false;
}

void e2b_snapshot_make(struct e2b *e2b)
{
	cleanup_json struct json_value *given = e2b_take_json(e2b);
	struct api_snapshot_create_in in = { .session = e2b_session_of(e2b) };
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_snapshot snapshot;
	struct json_writer json;

	if (given == NULL || !take_options(e2b, given, &in) ||
	    call_or_refuse(e2b->request, API_SNAPSHOT_CREATE, &in, &snapshot, &call) < 0)
		return;
	json_write_init(&json, &body);
	write_one(&json, &snapshot);
	e2b_answer_json(e2b, 201, &json, NULL);
}

int e2b_snapshot_of(const struct e2b *e2b, const char *wanted, const char **ret)
{
	const char *name = plain_name(e2b, wanted);
	cleanup_call struct call call = CALL_INIT;
	const struct api_snapshot *found;
	struct api_snapshots out;
	enum call_status status;

	*ret = name;
	/* An id needs no look-up: reckond reports an unknown one when it is used. */
	if (is_id(name) || name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
		return is_id(name) ? 1 : 0;
	status = call_make(
		e2b->request, API_SNAPSHOT_LIST,
		&(struct api_snapshot_list_in){ .name = name, .has_limit = true, .limit = 1 }, &out,
		&call);
	if (status == CALL_GONE)
		return -1;
	/* There is none of this name, or the key may not list snapshots. */
	if (status == CALL_FAILED || out.snapshots.count == 0)
		return 0;
	found = out.snapshots.items;
	*ret = arena_text(e2b->arena, found->id, strlen(found->id));
	return 1;
}

void e2b_snapshot_remove(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;
	const char *id;
	const int found = e2b_snapshot_of(e2b, e2b->part[1], &id);

	if (found == 0)
		e2b_refuse(e2b, 404, "there is no such snapshot");
	if (found > 0 &&
	    call_or_refuse(e2b->request, API_SNAPSHOT_DELETE,
			   &(struct api_snapshot_delete_in){ .snapshot = id }, NULL, &call) == 0)
		e2b_answer_empty(e2b, 204);
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct filter {
	const char *session, *name, *after; /* a page's token: the last id of the page before */
	unsigned limit;
};

static bool take_one(const struct e2b *e2b, const char *name, const char *value,
		     struct filter *ret)
{
	char session[E2B_ID_SIZE];

	if (value[0] == '\0')
		return true;
	if (strcmp(name, "sandboxID") == 0) {
		e2b_session_id(value, session);
		ret->session = arena_text(e2b->arena, session, strlen(session));
	} else if (strcmp(name, "name") == 0) {
		ret->name = plain_name(e2b, value);
	} else if (strcmp(name, "nextToken") == 0) {
		ret->after = arena_text(e2b->arena, value, strlen(value));
	} else if (strcmp(name, "limit") == 0) {
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

	*ret = (struct filter){ .limit = LIMIT_MAX };
	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) > 0)
		if (!take_one(e2b, name, value, ret))
			return false;
	return more == 0;
}

/* `wanted` is an id, a name with its tag, or a name without a tag, which matches every tag. */
static bool is_called(const struct api_snapshot *snapshot, const char *wanted)
{
	const size_t len = strlen(wanted);

	if (strcmp(snapshot->id, wanted) == 0)
		return true;
	return snapshot->name != NULL && strncmp(snapshot->name, wanted, len) == 0 &&
	       (snapshot->name[len] == '\0' ||
		(snapshot->name[len] == ':' && strchr(wanted, ':') == NULL));
}

static bool fits(const struct filter *filter, const struct api_snapshot *snapshot)
{
	if (snapshot->name != NULL &&
	    strncmp(snapshot->name, E2B_SNAPSHOT_PREFIX, strlen(E2B_SNAPSHOT_PREFIX)) == 0)
		return false; /* it belongs to a template */
	return (filter->session == NULL || strcmp(snapshot->session, filter->session) == 0) &&
	       (filter->name == NULL || is_called(snapshot, filter->name)) &&
	       (filter->after == NULL || strcmp(snapshot->id, filter->after) < 0);
}

void e2b_snapshots(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_snapshot *at;
	char headers[E2B_ID_SIZE + 32] = "";
	const char *last = NULL;
	struct api_snapshots out;
	struct json_writer json;
	struct filter filter;
	unsigned count = 0;

	if (!take_filter(e2b, &filter)) {
		e2b_refuse(e2b, 400, "the query is malformed");
		return;
	}
	if (call_or_refuse(e2b->request, API_SNAPSHOT_LIST,
			   &(struct api_snapshot_list_in){ .has_limit = true, .limit = PAGE }, &out,
			   &call) < 0)
		return;
	at = out.snapshots.items;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.snapshots.count; i++, at++) {
		if (!fits(&filter, at))
			continue;
		if (count == filter.limit) {
			(void)snprintf(headers, sizeof(headers), "x-next-token: %.31s\r\n", last);
			break;
		}
		write_one(&json, at);
		last = at->id;
		count++;
	}
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, headers);
}
