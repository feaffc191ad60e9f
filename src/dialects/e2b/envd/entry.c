/*
 * entry.c - looks up a file or folder of a sandbox, in the workspace or elsewhere.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    answers of reckond, whose names and attributes hostile programs chose.
 * Never:    answers with another file than the one that the path names in the box.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dialects/e2b/envd/inside.h"

#define ANSWER_MAX ((size_t)48 << 20)

static enum look ask_inside(const struct e2b *e2b, const struct e2b_path *path, struct entry *ret)
{
	cleanup_json struct json_value *answer =
		inside_ask(e2b, &(struct inside_order){ .command = "stat", .path = path->whole });

	if (answer == NULL)
		return LOOK_ANSWERED;
	if (strcmp(e2b_rpc_text(answer, "error"), "not_found") == 0 ||
	    strcmp(e2b_rpc_text(answer, "error"), "not_folder") == 0)
		return LOOK_NOTHING;
	if (inside_refused(e2b, answer))
		return LOOK_ANSWERED;
	inside_entry(e2b, json_read_member(answer, "entry"), ret);
	ret->name = text_base_name(path->whole)[0] != '\0' ? text_base_name(path->whole) : "/";
	ret->path = path->whole;
	return LOOK_FOUND;
}

/* Finds the file in the list of its parent folder. */
static enum look find_listed(const struct e2b *e2b, const struct e2b_path *path, bool may_ask,
			     struct entry *ret, struct call *call)
{
	const char *base = text_base_name(path->inside);
	const size_t above = base > path->inside ? (size_t)(base - path->inside) - 1 : 0;
	cleanup_json struct json_value *all = NULL;
	const struct json_value *files;
	struct api_file_list_out out;
	struct err err;
	const enum call_status status = call_make(
		e2b->request, API_FILE_LIST,
		&(struct api_file_list_in){
			.session = e2b->target.session,
			.path = above > 0 ? arena_text(e2b->arena, path->inside, above) : NULL,
			.has_recursive = true,
			.has_details = true,
			.details = true,
			.name = base },
		&out, call);

	if (status == CALL_GONE)
		return LOOK_GONE;
	if (status == CALL_FAILED && call->failure->error == API_ERR_DENIED && may_ask)
		return ask_inside(e2b, path, ret); /* a parent is a link or a file */
	if (status == CALL_FAILED)
		return call->failure->error == API_ERR_NOT_FOUND ||
				       call->failure->error == API_ERR_DENIED
			       ? LOOK_NOTHING
			       : LOOK_FAILED;
	if (json_read_parse(out.files.data, out.files.len, ANSWER_MAX, &all, &err) < 0) {
		answer_break_off(e2b->request);
		return LOOK_GONE;
	}
	files = json_read_member(all, "files");
	if (json_read_count(files) == 0)
		return LOOK_NOTHING;
	if (!entry_of_listed(e2b, json_read_at(files, 0), ret) && may_ask)
		return ask_inside(e2b, path, ret);
	ret->path = path->whole;
	return LOOK_FOUND;
}

enum look entry_look(const struct e2b *e2b, const struct e2b_path *path, bool may_ask,
		     struct entry *ret, struct call *call)
{
	enum call_status status;

	if (path->inside == NULL)
		return may_ask ? ask_inside(e2b, path, ret) : LOOK_NOTHING;
	if (path->inside[0] != '\0')
		return find_listed(e2b, path, may_ask, ret, call);
	*ret = (struct entry){ .name = text_base_name(path->whole),
			       .path = path->whole,
			       .modified = entry_moment(e2b, 0),
			       .mode = S_IFDIR | 0755u,
			       .link_mode = S_IFDIR | 0755u };
	/* Checks that the sandbox exists. */
	status = call_make(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = e2b->target.session }, NULL,
			   call);
	return status == CALL_OK       ? LOOK_FOUND
	       : status == CALL_FAILED ? LOOK_FAILED
				       : LOOK_GONE;
}

int entry_add(const struct e2b *e2b, const char *whole, struct json_writer *json)
{
	cleanup_arena struct arena arena = { 0 };
	struct e2b looking = *e2b;
	cleanup_call struct call call = CALL_INIT;
	struct e2b_path *path = arena_new(&arena, 1, sizeof(*path));
	struct entry entry;
	enum look found = LOOK_NOTHING;

	looking.arena = &arena; /* a stream lasts long, so the request's arena would grow */
	if (e2b_path_of(whole, path))
		found = entry_look(&looking, path, false, &entry, &call);
	if (found == LOOK_GONE)
		return -1;
	if (found == LOOK_FOUND) {
		json_write_key(json, "entry");
		entry_write(json, &entry);
	}
	return 0;
}
