/*
 * containers_show.c - a container and its files as JSON, and lists of both, in either order.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    queries of any client; names of files that hostile programs chose.
 * Never:    lists a file whose path is too long for an id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/openai/files/containers.h"

#define PATH_PREFIX OPENAI_CONTAINER_FILE "p"
#define PATH_BYTES_MAX 180u
#define MINUTE_MS 60000u
#define LIST_MAX 100u
#define LIST_USUAL 20u
#define IDS_PART 500u	   /* what one call to reckond lists */
#define SORTED_MAX 100000u /* files of a workspace, by path; the rest is not listed */

/* ---- containers ----------------------------------------------------------------------------- */

static const char *memory_of(const struct api_session *session)
{
	static const struct {
		uint64_t bytes;
		const char *word;
	} sizes[] = { { UINT64_C(16) << 30, "64g" }, { UINT64_C(4) << 30, "16g" },
		      { UINT64_C(1) << 30, "4g" } };
	const uint64_t bytes = session->limits != NULL ? session->limits->memory_bytes : 0;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (bytes > sizes[i].bytes)
			return sizes[i].word;
	return "1g";
}

void container_write(struct json_writer *json, const struct api_session *session)
{
	const bool is_live = strcmp(session->status, "live") == 0;
	const uint64_t created = clock_read_s(session->created_at);
	char id[NAME_SIZE];

	if (!name_swap(session->id, "se_", OPENAI_CONTAINER, id, sizeof(id)))
		id[0] = '\0';
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "object", "container");
	json_write_member_uint(json, "created_at", created);
	json_write_member_string(json, "status", is_live ? "running" : "expired");
	json_write_key(json, "expires_after");
	json_write_object_begin(json);
	json_write_member_string(json, "anchor", "last_active_at");
	json_write_member_uint(json, "minutes",
			       (session->idle_timeout_ms + MINUTE_MS - 1) / MINUTE_MS);
	json_write_object_end(json);
	json_write_member_uint(json, "last_active_at", created);
	json_write_member_string(json, "memory_limit", memory_of(session));
	openai_write_metadata(json, &session->metadata, CONTAINER_NAME_KEY, "name", "");
	json_write_key(json, "network_policy");
	json_write_raw(json, "{\"type\":\"disabled\"}", 19);
	json_write_object_end(json);
}

/* Ids of all live sessions, the newest first. */
struct ids {
	char (*ids)[ID_SIZE];
	size_t count;
};

static int collect_ids(struct request *request, struct ids *ret)
{
	char before[ID_SIZE] = "";

	for (bool has_more = true; has_more;) {
		cleanup_call struct call call = CALL_INIT;
		const struct api_session_list_in in = {
			.before = before[0] != '\0' ? before : NULL,
			.has_limit = true,
			.limit = IDS_PART,
			.status = API_SESSION_LIST_IN_STATUS_LIVE
		};
		struct api_sessions out;

		if (call_or_refuse(request, API_SESSION_LIST, &in, &out, &call) < 0)
			return -1;
		ret->ids = mem_grow(ret->ids, ret->count + out.sessions.count + 1,
				    sizeof(*ret->ids));
		for (size_t i = 0; i < out.sessions.count; i++)
			(void)snprintf(ret->ids[ret->count++], ID_SIZE, "%s",
				       ((const struct api_session *)out.sessions.items)[i].id);
		has_more = out.next != NULL;
		(void)snprintf(before, sizeof(before), "%s", has_more ? out.next : "");
	}
	return 0;
}

/*
 * reckond lists the newest first. A page in the other order is the part of its list that is just
 * newer than `after`, from its end: sets `in` to that part. Ids sort by time.
 */
static int turn_round(struct request *request, const char *after, struct api_session_list_in *in,
		      char before[ID_SIZE], bool *ret_has_more)
{
	struct ids ids = { 0 };
	size_t end = 0;
	const int rc = collect_ids(request, &ids);

	while (end < ids.count && strcmp(ids.ids[end], after) > 0)
		end++;
	*ret_has_more = end > in->limit;
	if (*ret_has_more) {
		(void)snprintf(before, ID_SIZE, "%s", ids.ids[end - in->limit - 1]);
		in->before = before;
	} else {
		in->limit = end > 0 ? end : 1;
	}
	free(ids.ids);
	return rc < 0 ? -1 : end > 0;
}

void containers_list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(4u * 1024 * 1024);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_list_in in = { .has_limit = true,
					  .status = API_SESSION_LIST_IN_STATUS_LIVE };
	struct api_sessions out = { 0 };
	struct json_writer json;
	struct list list;
	char after[ID_SIZE] = "", first[NAME_SIZE] = "", last[NAME_SIZE] = "";
	bool has_more = false;
	int found = 1;

	if (list_read(request, LIST_USUAL, LIST_MAX, &list) < 0)
		return;
	in.limit = list.limit;
	if (name_swap(list.after, OPENAI_CONTAINER, "se_", after, sizeof(after)))
		in.before = after;
	if (list.is_ascending) {
		char before[ID_SIZE];

		in.before = NULL;
		found = turn_round(request, after, &in, before, &has_more);
		(void)snprintf(after, sizeof(after), "%s", in.before != NULL ? before : "");
		in.before = in.before != NULL ? after : NULL;
	}
	if (found < 0 || (found > 0 && call_or_refuse(request, API_SESSION_LIST, &in, &out,
						      &call) < 0))
		return;
	list_begin(&json, &body);
	for (size_t i = 0; i < out.sessions.count; i++) {
		const size_t at = list.is_ascending ? out.sessions.count - 1 - i : i;
		const struct api_session *session =
			&((const struct api_session *)out.sessions.items)[at];

		container_write(&json, session);
		(void)name_swap(session->id, "se_", OPENAI_CONTAINER, last, sizeof(last));
		if (i == 0)
			(void)snprintf(first, sizeof(first), "%s", last);
	}
	list_end(&json, first, last, list.is_ascending ? has_more : out.next != NULL);
	openai_answer_json(request, &json);
}

/* ---- files ---------------------------------------------------------------------------------- */

bool container_id_of_path(const char *path, char ret[NAME_SIZE])
{
	const size_t len = strlen(path);
	size_t used = strlen(PATH_PREFIX);

	if (len == 0 || len > PATH_BYTES_MAX)
		return false;
	memcpy(ret, PATH_PREFIX, used);
	for (size_t i = 0; i < len; i++, used += 2)
		(void)snprintf(ret + used, NAME_SIZE - used, "%02x", (unsigned char)path[i]);
	return true;
}

static int digit(char c)
{
	static const char hex[] = "0123456789abcdef";
	const char *at = c != '\0' ? strchr(hex, c) : NULL;

	return at != NULL ? (int)(at - hex) : -1;
}

bool container_path_of_id(const char *id, char *ret, size_t size)
{
	size_t len = 0;

	if (strncmp(id, PATH_PREFIX, strlen(PATH_PREFIX)) != 0)
		return false;
	for (const char *at = id + strlen(PATH_PREFIX); *at != '\0'; at += 2) {
		const int high = digit(at[0]), low = high >= 0 ? digit(at[1]) : -1;

		if (low < 0 || (high | low) == 0 || len + 1 >= size)
			return false;
		ret[len++] = (char)(high * 16 + low);
	}
	ret[len] = '\0';
	return len > 0;
}

void container_write_file(const struct container *container, struct json_writer *json,
			  const char *id, const char *path, uint64_t size, uint64_t created,
			  const char *source)
{
	char whole[4200];

	(void)snprintf(whole, sizeof(whole), OPENAI_WORKSPACE "%s", path);
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "object", "container.file");
	json_write_member_uint(json, "created_at", created);
	json_write_member_uint(json, "bytes", size);
	json_write_member_string(json, "container_id", container->id);
	json_write_member_string(json, "path", whole);
	json_write_member_string(json, "source", source);
	json_write_object_end(json);
}

struct listed {
	const char *path, *modified;
	int64_t size;
};

static int compare_listed(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;
	const int by_time = strcmp(a->modified, b->modified);

	return by_time != 0 ? by_time : strcmp(a->path, b->path);
}

/* Collects the files whose paths fit an id, oldest first. */
static size_t sort_files(const struct json_value *files, struct listed *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		struct listed *listed = &ret[count];
		char id[NAME_SIZE];

		*listed = (struct listed){ .path = json_get_str(file, "path"),
					   .modified = json_get_str(file, "modified") };
		(void)json_read_int(json_read_member(file, "size"), &listed->size);
		count += container_id_of_path(listed->path, id) ? 1 : 0;
	}
	if (count > 0)
		qsort(ret, count, sizeof(*ret), compare_listed);
	return count;
}

/* Writes a page. False: the file that `after` names does not exist. */
static bool write_files(const struct container *container, struct json_writer *json,
			const struct list *list, const struct listed *files, size_t count)
{
	char path[NAME_SIZE], first[NAME_SIZE] = "", id[NAME_SIZE] = "";
	bool is_found = list->after[0] == '\0';
	uint64_t left = list->limit;
	bool has_more = false;

	if (!is_found && !container_path_of_id(list->after, path, sizeof(path)))
		return false;
	for (size_t i = 0; i < count && !has_more; i++) {
		const struct listed *file = &files[list->is_ascending ? i : count - 1 - i];

		if (!is_found) {
			is_found = strcmp(file->path, path) == 0;
			continue;
		}
		has_more = left == 0;
		if (has_more || !container_id_of_path(file->path, id))
			continue;
		container_write_file(container, json, id, file->path, (uint64_t)file->size,
			   clock_read_s(file->modified), "assistant");
		if (first[0] == '\0')
			(void)snprintf(first, sizeof(first), "%s", id);
		left--;
	}
	list_end(json, first, id, has_more);
	return is_found;
}

void container_list_files(const struct container *container)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_file_list_out out;
	struct json_value *document = NULL;
	const struct json_value *files;
	struct listed *sorted;
	struct json_writer json;
	struct list list;
	struct err err;

	if (list_read(container->request, LIST_USUAL, LIST_MAX, &list) < 0 ||
	    call_or_refuse(container->request, API_FILE_LIST,
			   &(struct api_file_list_in){ .session = container->session,
						       .has_limit = true,
						       .limit = SORTED_MAX,
						       .has_recursive = true,
						       .recursive = true },
			   &out, &call) < 0)
		return;
	if (json_read_parse(out.files.data, out.files.len, OPENAI_OUT_MAX, &document, &err) < 0) {
		answer_refuse_simple(container->request, 500, "internal", err.text, NULL);
		return;
	}
	files = json_read_member(document, "files");
	sorted = mem_new0(json_read_count(files) + 1, sizeof(*sorted));
	list_begin(&json, &body);
	if (write_files(container, &json, &list, sorted, sort_files(files, sorted)))
		openai_answer_json(container->request, &json);
	else
		answer_refuse_simple(container->request, 404, "not_found",
				     "after: there is no such file", NULL);
	free(sorted);
	json_read_free(document);
}
