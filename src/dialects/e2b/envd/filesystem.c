/*
 * filesystem.c - the service filesystem.Filesystem: stat, list, create, move and remove.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients; file names that hostile programs chose.
 * Never:    removes or moves the home folder.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/inside.h"

#define ANSWER_MAX ((size_t)48 << 20)
#define DEPTH_MAX 32u
#define ENTRIES_MAX 100000u

static void refuse_path(const struct e2b *e2b)
{
	e2b_rpc_refuse(e2b->request, 400, e2b_path_remedy);
}

static void refuse_missing(const struct e2b *e2b, const char *path)
{
	char message[E2B_PATH_SIZE + 64];

	(void)snprintf(message, sizeof(message), "path not found: file not found: %s", path);
	e2b_rpc_refuse(e2b->request, 404, message);
}

/* reckond answers "denied" for a file where a folder is needed, or the reverse: that is 400. */
static void refuse(const struct e2b *e2b, const struct api_failure *failure)
{
	if (failure->error == API_ERR_DENIED)
		e2b_rpc_refuse(e2b->request, 400, failure->message);
	else
		call_refuse(e2b->request, failure);
}

/* ---- entries -------------------------------------------------------------------------------- */

/* 1: found; 0: not; negative: answered with an error, or the client disconnected. */
static int look(const struct e2b *e2b, const struct e2b_path *path, struct entry *ret)
{
	cleanup_call struct call call = CALL_INIT;
	const enum look found = entry_look(e2b, path, true, ret, &call);

	if (found == LOOK_FAILED)
		call_refuse(e2b->request, call.failure);
	return found;
}

static void answer_entry(const struct e2b *e2b, const struct entry *entry)
{
	cleanup_buf struct buf body = BUF_INIT(65536);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "entry");
	entry_write(&json, entry);
	json_write_object_end(&json);
	e2b_rpc_answer(e2b, &json);
}

static void answer_path(const struct e2b *e2b, const struct e2b_path *path)
{
	struct entry entry;
	const int found = look(e2b, path, &entry);

	if (found > 0)
		answer_entry(e2b, &entry);
	else if (found == 0)
		refuse_missing(e2b, path->whole);
}

static void stat_one(struct e2b *e2b, const struct json_value *message)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));

	if (e2b_path_of(e2b_rpc_text(message, "path"), path))
		answer_path(e2b, path);
	else
		refuse_path(e2b);
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct walk {
	const struct e2b *e2b;
	struct json_writer json;
	const char *root; /* absolute path */
	size_t inside_len; /* length of its path in the workspace */
	unsigned count;
	bool has_links; /* reckond does not describe what links point to */
};

/* Writes an entry of reckond's list. Negative: it is a link. */
static int walk_entry(struct walk *walk, const struct json_value *file, struct entry *entry)
{
	const char *path = e2b_rpc_text(file, "path");
	cleanup_buf struct buf whole = BUF_INIT(2 * E2B_PATH_SIZE);
	struct err err;

	if (!entry_of_listed(walk->e2b, file, entry)) {
		walk->has_links = true;
		return -1;
	}
	if (buf_addf(&whole, &err, "%s/%s", walk->root,
		     path + (walk->inside_len > 0 ? walk->inside_len + 1 : 0)) < 0)
		return 0;
	entry->path = whole.data;
	entry_write(&walk->json, entry);
	walk->count++;
	return 0;
}

/* Writes a folder's entries, in pre-order. Negative: it has links or is a file (`has_links`), or an
 * error was answered, or the client disconnected. */
static int walk_folder(struct walk *walk, const char *inside, unsigned depth)
{
	cleanup_json struct json_value *all = NULL;
	cleanup_call struct call call = CALL_INIT;
	const struct json_value *files;
	struct api_file_list_out out;
	struct err err;
	const enum call_status status =
		call_make(walk->e2b->request, API_FILE_LIST,
			  &(struct api_file_list_in){ .session = walk->e2b->target.session,
						      .path = inside[0] != '\0' ? inside : NULL,
						      .has_recursive = true,
						      .has_details = true,
						      .details = true },
			  &out, &call);

	if (status == CALL_FAILED && call.failure->error == API_ERR_DENIED)
		walk->has_links = true; /* or it is a file: list_inside() answers which */
	else if (status == CALL_FAILED)
		refuse(walk->e2b, call.failure);
	if (status != CALL_OK)
		return -1;
	if (json_read_parse(out.files.data, out.files.len, ANSWER_MAX, &all, &err) < 0) {
		e2b_rpc_refuse(walk->e2b->request, 500, err.text);
		return -1;
	}
	call_done(&call);
	files = json_read_member(all, "files");
	for (size_t i = 0; i < json_read_count(files) && walk->count < ENTRIES_MAX; i++) {
		const struct json_value *file = json_read_at(files, i);
		struct entry entry;

		if (walk_entry(walk, file, &entry) < 0 ||
		    (S_ISDIR(entry.mode) && depth > 1 &&
		     walk_folder(walk, e2b_rpc_text(file, "path"), depth - 1) < 0))
			return -1;
	}
	return 0;
}

/* Lists through a program in the box. */
static void list_inside(const struct e2b *e2b, const struct e2b_path *path, int64_t depth)
{
	cleanup_json struct json_value *answer = inside_ask(
		e2b,
		&(struct inside_order){ .command = "list", .path = path->whole, .depth = depth });
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	const struct json_value *entries = json_read_member(answer, "entries");
	struct json_writer json;

	if (answer == NULL || inside_refused(e2b, answer))
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "entries");
	json_write_array_begin(&json);
	for (size_t i = 0; i < json_read_count(entries) && i < ENTRIES_MAX; i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct e2b one = { .arena = &arena };
		struct entry entry;

		inside_entry(&one, json_read_at(entries, i), &entry);
		entry_write(&json, &entry);
	}
	json_write_array_end(&json);
	json_write_object_end(&json);
	e2b_rpc_answer(e2b, &json);
}

static void list_folder(struct e2b *e2b, const struct json_value *message)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct walk walk = { .e2b = e2b };
	int64_t depth = 1;

	if (!e2b_path_of(e2b_rpc_text(message, "path"), path)) {
		refuse_path(e2b);
		return;
	}
	(void)json_read_int(json_read_member(message, "depth"), &depth);
	depth = depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
	if (path->inside == NULL) {
		list_inside(e2b, path, depth);
		return;
	}
	walk.root = path->whole;
	walk.inside_len = strlen(path->inside);
	json_write_init(&walk.json, &body);
	json_write_object_begin(&walk.json);
	json_write_key(&walk.json, "entries");
	json_write_array_begin(&walk.json);
	if (walk_folder(&walk, path->inside, (unsigned)depth) < 0) {
		if (walk.has_links)
			list_inside(e2b, path, depth);
		return;
	}
	json_write_array_end(&walk.json);
	json_write_object_end(&walk.json);
	e2b_rpc_answer(e2b, &walk.json);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* Makes a change through a program in the box; answers with the entry that it returns, if any. */
static void change_inside(const struct e2b *e2b, const struct inside_order *order,
			  const struct e2b_path *path)
{
	cleanup_json struct json_value *answer = inside_ask(e2b, order);
	struct entry entry;
	bool is_new = true;

	if (answer == NULL || inside_refused(e2b, answer))
		return;
	(void)json_read_bool(json_read_member(answer, "is_new"), &is_new);
	if (!is_new) {
		e2b_rpc_refuse(e2b->request, 409, "directory already exists");
		return;
	}
	if (json_read_member(answer, "entry") == NULL) {
		e2b_rpc_empty(e2b);
		return;
	}
	inside_entry(e2b, json_read_member(answer, "entry"), &entry);
	entry.path = path->whole;
	answer_entry(e2b, &entry);
}

static void make_folder(struct e2b *e2b, const struct json_value *message)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	cleanup_call struct call call = CALL_INIT;
	enum call_status status;
	struct entry entry;
	int found;

	if (!e2b_path_of(e2b_rpc_text(message, "path"), path)) {
		refuse_path(e2b);
		return;
	}
	if (path->inside == NULL) {
		change_inside(e2b, &(struct inside_order){ .command = "mkdir", .path = path->whole },
			      path);
		return;
	}
	found = look(e2b, path, &entry);
	if (found > 0)
		e2b_rpc_refuse(e2b->request, S_ISDIR(entry.mode) ? 409 : 400,
			       S_ISDIR(entry.mode) ? "directory already exists"
						   : "path already exists but it is not a directory");
	if (found != 0)
		return;
	status = call_make(e2b->request, API_FILE_MKDIR,
			   &(struct api_file_mkdir_in){ .session = e2b->target.session,
							.path = path->inside },
			   NULL, &call);
	if (status == CALL_FAILED)
		refuse(e2b, call.failure);
	else if (status == CALL_OK)
		answer_path(e2b, path);
}

static bool is_home(const struct e2b_path *path)
{
	return path->inside != NULL && path->inside[0] == '\0';
}

static void move(struct e2b *e2b, const struct json_value *message)
{
	struct e2b_path *from = arena_new(e2b->arena, 1, sizeof(*from));
	struct e2b_path *to = arena_new(e2b->arena, 1, sizeof(*to));
	cleanup_call struct call call = CALL_INIT;
	enum call_status status;

	if (!e2b_path_of(e2b_rpc_text(message, "source"), from) ||
	    !e2b_path_of(e2b_rpc_text(message, "destination"), to)) {
		refuse_path(e2b);
		return;
	}
	if (is_home(from) || is_home(to)) {
		e2b_rpc_refuse(e2b->request, 400, "the home folder stays where it is");
		return;
	}
	if (from->inside == NULL || to->inside == NULL) {
		change_inside(e2b,
			      &(struct inside_order){ .command = "move",
						      .path = from->whole,
						      .to = to->whole },
			      to);
		return;
	}
	status = call_make(e2b->request, API_FILE_MOVE,
			   &(struct api_file_move_in){ .session = e2b->target.session,
						       .from = from->inside,
						       .to = to->inside,
						       .overwrite = true,
						       .has_overwrite = true },
			   NULL, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		refuse_missing(e2b, from->whole);
	else if (status == CALL_FAILED)
		refuse(e2b, call.failure);
	else if (status == CALL_OK)
		answer_path(e2b, to);
}

/* Removing a missing file succeeds. */
static void remove_one(struct e2b *e2b, const struct json_value *message)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));
	cleanup_call struct call call = CALL_INIT;
	enum call_status status;

	if (!e2b_path_of(e2b_rpc_text(message, "path"), path)) {
		refuse_path(e2b);
		return;
	}
	if (is_home(path)) {
		e2b_rpc_refuse(e2b->request, 400, "the home folder stays");
		return;
	}
	if (path->inside == NULL) {
		change_inside(e2b, &(struct inside_order){ .command = "remove", .path = path->whole },
			      path);
		return;
	}
	status = call_make(e2b->request, API_FILE_DELETE,
			   &(struct api_file_delete_in){ .session = e2b->target.session,
							 .path = path->inside,
							 .has_recursive = true,
							 .recursive = true },
			   NULL, &call);
	if (status == CALL_FAILED && call.failure->error != API_ERR_NOT_FOUND)
		refuse(e2b, call.failure);
	else if (status != CALL_GONE)
		e2b_rpc_empty(e2b);
}

void e2b_filesystem(struct e2b *e2b, const char *method)
{
	static const struct {
		const char *name;
		void (*fn)(struct e2b *e2b, const struct json_value *message);
	} methods[] = {
		{ "Stat", stat_one },
		{ "ListDir", list_folder },
		{ "MakeDir", make_folder },
		{ "Move", move },
		{ "Remove", remove_one },
		{ "WatchDir", e2b_watch_dir },
		{ "CreateWatcher", e2b_watcher_create },
		{ "GetWatcherEvents", e2b_watcher_events },
		{ "RemoveWatcher", e2b_watcher_remove },
	};

	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, method) != 0)
			continue;
		cleanup_json struct json_value *message = e2b_rpc_take(e2b);

		if (message != NULL && e2b_rpc_user(e2b))
			methods[i].fn(e2b, message);
		return;
	}
	e2b_rpc_refuse(e2b->request, 501, "there is no such method");
}
