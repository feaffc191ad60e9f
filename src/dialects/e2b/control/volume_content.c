/*
 * volume_content.c - /volumecontent: files and folders of a volume, with its token.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    queries and bodies from clients; names of files that hostile programs chose.
 * Never:    gives a file to a user that a box does not have: that is an error.
 *
 * Clients' paths are relative to the volume: "/a", "a" and "/a/" are one file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define PATH_SIZE 4096u
#define ANSWER_MAX (64u << 20)
#define USER 1000u /* the user and the group of a box */
#define DEPTH_MAX 64u

/* The parameters of the query. */
struct query {
	char path[PATH_SIZE]; /* relative; "": the volume itself */
	bool has_mode, force;
	unsigned mode, depth;
};

/* ---- the query ------------------------------------------------------------------------------ */

static bool number_of(const char *text, unsigned long most, unsigned *ret)
{
	const size_t len = strspn(text, "0123456789");
	const unsigned long value = strtoul(text, NULL, 10);

	if (len == 0 || len > 9 || text[len] != '\0' || value > most)
		return false;
	*ret = (unsigned)value;
	return true;
}

/* Root in a box is the box's user. */
static bool is_user(unsigned id)
{
	return id == 0 || id == USER;
}

static void take_path(const char *given, char *ret)
{
	size_t len;

	given += strspn(given, "/");
	(void)snprintf(ret, PATH_SIZE, "%s", strcmp(given, ".") == 0 ? "" : given);
	for (len = strlen(ret); len > 0 && ret[len - 1] == '/'; len--)
		ret[len - 1] = '\0';
}

/* Returns the error message, or NULL. */
static const char *take_one(const char *name, const char *value, struct query *ret)
{
	unsigned id;

	if (strcmp(name, "path") == 0)
		take_path(value, ret->path);
	else if (strcmp(name, "depth") == 0)
		return number_of(value, DEPTH_MAX, &ret->depth) && ret->depth > 0
			       ? NULL
			       : "depth is a number from 1 to 64";
	else if (strcmp(name, "mode") == 0)
		return (ret->has_mode = number_of(value, 0777, &ret->mode))
			       ? NULL
			       : "mode is a number from 0 to 511 (0o777)";
	else if (strcmp(name, "force") == 0)
		ret->force = strcmp(value, "true") == 0 || strcmp(value, "True") == 0 ||
			     strcmp(value, "1") == 0;
	else if (strcmp(name, "uid") == 0 || strcmp(name, "gid") == 0)
		return number_of(value, 999999999, &id) && is_user(id)
			       ? NULL
			       : "files of a volume belong to the user 1000 of a sandbox, who is "
				 "also its root";
	return NULL;
}

static bool take_query(const struct e2b *e2b, struct query *ret)
{
	const char *query = request_head(e2b->request)->query, *why = NULL;
	char name[64], value[PATH_SIZE];
	struct err err;
	int more;

	*ret = (struct query){ .depth = 1 };
	while (why == NULL && (more = http_query_next(&query, name, sizeof(name), value,
						      sizeof(value), &err)) > 0)
		why = take_one(name, value, ret);
	if (why == NULL && more < 0)
		why = err.text;
	if (why != NULL)
		e2b_refuse(e2b, 400, why);
	return why == NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void write_entry(struct json_writer *json, const struct api_volume_entry *entry)
{
	static const char *const types[] = {
		[API_VOLUME_ENTRY_KIND_FILE] = "file",
		[API_VOLUME_ENTRY_KIND_FOLDER] = "directory",
		[API_VOLUME_ENTRY_KIND_LINK] = "symlink",
		[API_VOLUME_ENTRY_KIND_OTHER] = "unknown",
	};
	const char *slash = strrchr(entry->path, '/');
	char path[PATH_SIZE + 1];

	(void)snprintf(path, sizeof(path), "/%s", entry->path);
	json_write_object_begin(json);
	json_write_member_string(json, "name",
				 slash != NULL ? slash + 1
				 : path[1] != '\0' ? entry->path
						   : "/");
	json_write_member_string(json, "type", types[entry->kind]);
	json_write_member_string(json, "path", path);
	json_write_member_uint(json, "size", entry->bytes);
	json_write_member_uint(json, "mode", entry->mode);
	json_write_member_uint(json, "uid", USER);
	json_write_member_uint(json, "gid", USER);
	e2b_write_moment(json, "atime", entry->accessed_at_ms);
	e2b_write_moment(json, "mtime", entry->modified_at_ms);
	e2b_write_moment(json, "ctime", entry->changed_at_ms);
	if (entry->target != NULL)
		json_write_member_string(json, "target", entry->target);
	json_write_object_end(json);
}

static void answer_entry(const struct e2b *e2b, unsigned status,
			 const struct api_volume_entry *entry)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	json_write_init(&json, &body);
	write_entry(&json, entry);
	e2b_answer_json(e2b, status, &json, NULL);
}

static const char *given(const char *path)
{
	return path[0] != '\0' ? path : NULL;
}

/* ---- folders and entries -------------------------------------------------------------------- */

static void list(const struct e2b *e2b, const struct query *query)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	const struct api_volume_entry *entries;
	struct api_volume_entries out;
	struct json_writer json;

	if (call_or_refuse(e2b->request, API_VOLUME_ENTRIES,
			   &(struct api_volume_entries_in){ .volume = e2b->part[1],
							    .path = given(query->path),
							    .has_depth = true,
							    .depth = query->depth },
			   &out, &call) < 0)
		return;
	if (!out.complete) { /* the protocol cannot say that a list is incomplete */
		e2b_refuse(e2b, 400, "more than 10,000 entries: list folders further down");
		return;
	}
	entries = out.entries.items;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.entries.count; i++)
		write_entry(&json, &entries[i]);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

static void make_folder(const struct e2b *e2b, const struct query *query)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_volume_entry entry;

	if (query->path[0] == '\0')
		e2b_refuse(e2b, 409, "the volume itself is there");
	else if (call_or_refuse(e2b->request, API_VOLUME_MKDIR,
				&(struct api_volume_mkdir_in){ .volume = e2b->part[1],
							       .path = query->path,
							       .has_parents = true,
							       .parents = query->force,
							       .has_mode = query->has_mode,
							       .mode = query->mode },
				&entry, &call) == 0)
		answer_entry(e2b, 201, &entry);
}

static void stat_one(const struct e2b *e2b, const struct query *query)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_volume_entry entry;

	if (call_or_refuse(e2b->request, API_VOLUME_STAT,
			   &(struct api_volume_stat_in){ .volume = e2b->part[1],
							 .path = given(query->path) },
			   &entry, &call) == 0)
		answer_entry(e2b, 200, &entry);
}

/* Reads the mode, and checks uid and gid. False: answered with an error. */
static bool take_mode(const struct e2b *e2b, const struct json_value *body, bool *ret_has,
		      unsigned *ret)
{
	static const char *const names[] = { "uid", "gid", "mode" };

	*ret_has = false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct json_value *value = json_read_member(body, names[i]);
		const bool is_mode = i == 2;
		double number;

		if (value == NULL || json_read_kind(value) == JSON_KIND_NULL)
			continue;
		if (!json_read_double(value, &number) || number < 0 ||
		    number > (is_mode ? 0777 : USER) || number != (double)(unsigned)number ||
		    (!is_mode && !is_user((unsigned)number))) {
			e2b_refuse(e2b, 400,
				   is_mode ? "mode is a number from 0 to 511 (0o777)"
					   : "files of a volume belong to the user 1000 of a "
					     "sandbox, who is also its root");
			return false;
		}
		*ret_has = *ret_has || is_mode;
		if (is_mode)
			*ret = (unsigned)number;
	}
	return true;
}

static void change(const struct e2b *e2b, const struct query *query)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	cleanup_call struct call call = CALL_INIT;
	struct api_volume_entry entry;
	unsigned mode = 0;
	bool has_mode;

	if (body == NULL || !take_mode(e2b, body, &has_mode, &mode))
		return;
	if (!has_mode)
		stat_one(e2b, query);
	else if (query->path[0] == '\0')
		e2b_refuse(e2b, 400, "the volume itself cannot be changed");
	else if (call_or_refuse(e2b->request, API_VOLUME_CHANGE,
				&(struct api_volume_change_in){ .volume = e2b->part[1],
								.path = query->path,
								.mode = mode },
				&entry, &call) == 0)
		answer_entry(e2b, 200, &entry);
}

static void drop(const struct e2b *e2b, const struct query *query)
{
	cleanup_call struct call call = CALL_INIT;

	if (query->path[0] == '\0')
		e2b_refuse(e2b, 400, "the volume itself is removed by DELETE /volumes/ID");
	else if (call_or_refuse(e2b->request, API_VOLUME_REMOVE,
				&(struct api_volume_remove_in){ .volume = e2b->part[1],
								.path = query->path },
				NULL, &call) == 0)
		e2b_answer_empty(e2b, 204);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void read_file(const struct e2b *e2b, const struct query *query)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;

	if (query->path[0] == '\0') {
		e2b_refuse(e2b, 400, "the volume itself is a folder");
		return;
	}
	if (call_or_refuse(e2b->request, API_VOLUME_GET,
			   &(struct api_volume_get_in){ .volume = e2b->part[1],
							.path = query->path },
			   &file, &call) < 0)
		return;
	if (call.reply.fd < 0)
		e2b_refuse(e2b, 500, "there is no file to read");
	else if (answer_begin(e2b->request, 200, "application/octet-stream", file.size,
			      E2B_CORS "Content-Disposition: attachment\r\n"
				       "Content-Security-Policy: sandbox; default-src 'none'\r\n") ==
			 0 &&
		 answer_file(e2b->request, call.reply.fd, 0, file.size) == 0)
		answer_end(e2b->request);
}

static void write_file(const struct e2b *e2b, const struct query *query)
{
	const struct http *http = request_head(e2b->request);
	cleanup_call struct call call = CALL_INIT;
	struct api_volume_entry entry;
	struct api_upload upload;

	if (query->path[0] == '\0') {
		e2b_refuse(e2b, 400, "the volume itself is a folder");
		return;
	}
	if (call_or_refuse(e2b->request, API_VOLUME_PUT,
			   &(struct api_volume_put_in){ .volume = e2b->part[1],
							.path = query->path,
							.has_size = !http->is_chunked,
							.size = http->length,
							.has_mode = query->has_mode,
							.mode = query->mode,
							.has_parents = true,
							.parents = query->force },
			   &upload, &call) < 0)
		return;
	upstream_cancel_when_gone(e2b->request, upload.ticket);
	if (call.reply.fd < 0) {
		e2b_refuse(e2b, 500, "there is no file to write to");
		return;
	}
	if (request_body_to(e2b->request, call.reply.fd, upload.size_max) < 0) {
		upstream_cancel_now(e2b->request);
		return;
	}
	(void)close(TAKE_FD(call.reply.fd));
	upstream_cancel_when_gone(e2b->request, 0);
	if (call_or_refuse(e2b->request, API_VOLUME_COMMIT,
			   &(struct api_volume_commit_in){ .ticket = upload.ticket }, &entry,
			   &call) == 0)
		answer_entry(e2b, 201, &entry);
}

void e2b_volume_content(struct e2b *e2b)
{
	static const struct {
		enum http_verb verb;
		const char *third;
		void (*fn)(const struct e2b *e2b, const struct query *query);
	} routes[] = {
		{ HTTP_VERB_GET, "dir", list },	       { HTTP_VERB_POST, "dir", make_folder },
		{ HTTP_VERB_GET, "path", stat_one },   { HTTP_VERB_PATCH, "path", change },
		{ HTTP_VERB_DELETE, "path", drop },    { HTTP_VERB_GET, "file", read_file },
		{ HTTP_VERB_PUT, "file", write_file },
	};
	struct query *query = arena_new(e2b->arena, 1, sizeof(*query));
	unsigned verbs = 0;

	for (size_t i = 0; e2b->part_count == 3 && i < ARRAY_LEN(routes); i++) {
		if (strcmp(routes[i].third, e2b->part[2]) != 0)
			continue;
		verbs |= (unsigned)routes[i].verb;
		if (routes[i].verb != request_head(e2b->request)->verb)
			continue;
		if (take_query(e2b, query))
			routes[i].fn(e2b, query);
		return;
	}
	if (verbs != 0)
		e2b_refuse_method(e2b, verbs);
	else
		e2b_refuse(e2b, 404, "there is nothing here");
}
