/*
 * outputs.c - what became of a run's files: new ones, changed inputs, and those that are as they were.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    names that a hostile program made.
 * Never:    leaves an input out that is still there: LibreChat would forget it.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/librechat/librechat.h"

#define OUTPUTS_MAX 200u

static struct librechat_input *input_of(struct librechat_exec *exec, const char *name)
{
	for (size_t i = 0; i < exec->count; i++)
		if (strcmp(exec->inputs[i].file.name, name) == 0)
			return &exec->inputs[i];
	return NULL;
}

/* Both sets of names: clients of two years know them. */
static void write_ids(struct json_writer *json, const char *id, const char *name,
		      const char *session)
{
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "name", name);
	json_write_member_string(json, "storage_session_id", session);
	json_write_member_string(json, "session_id", session);
}

static void write_made(struct json_writer *json, const struct librechat_input *input,
		       const char *artifact, const char *name, const char *session)
{
	char id[LIBRECHAT_ID_SIZE];

	librechat_file_id(artifact, 0, id);
	if (id[0] == '\0')
		return;
	json_write_object_begin(json);
	write_ids(json, id, name, session);
	if (input != NULL) {
		json_write_key(json, "modified_from");
		json_write_object_begin(json);
		json_write_member_string(json, "id", input->file.id);
		json_write_member_string(json, "storage_session_id", input->file.session);
		json_write_object_end(json);
	}
	json_write_object_end(json);
}

static void write_inherited(struct json_writer *json, const struct librechat_file *file)
{
	json_write_object_begin(json);
	write_ids(json, file->id, file->name, file->session);
	json_write_member_bool(json, "inherited", true);
	json_write_object_end(json);
}

/* ---- what the run did ----------------------------------------------------------------------- */

struct outputs {
	struct librechat_exec *exec;
	struct json_writer *json;
	const struct json_value *files;
	char session[LIBRECHAT_ID_SIZE];
	size_t told;
};

static bool is_among(const struct json_value *names, const char *name)
{
	for (size_t i = 0; i < json_read_count(names); i++) {
		const char *at = json_read_text(json_read_at(names, i), NULL);

		if (at != NULL && strcmp(at, name) == 0)
			return true;
	}
	return false;
}

/* A process has names in two lists, a record files that say what became of them. */
static bool is_listed(const struct json_value *files, const char *name, bool is_deleted)
{
	if (json_read_kind(files) == JSON_KIND_OBJECT)
		return is_among(json_read_member(files, is_deleted ? "deleted" : "changed"), name);
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);

		if (strcmp(librechat_text(file, "path"), name) == 0)
			return (strcmp(librechat_text(file, "change"), "deleted") == 0) ==
			       is_deleted;
	}
	return false;
}

/* What is too large to be kept is as it was put. */
static bool write_change(const struct librechat_file *file, void *arg)
{
	struct outputs *outputs = arg;
	struct librechat_input *input = input_of(outputs->exec, file->name);

	if (!is_listed(outputs->files, file->name, false) ||
	    (input != NULL && ((input->file.flags & LIBRECHAT_READ_ONLY) != 0 ||
			       strcmp(input->artifact, file->artifact) == 0)))
		return true;
	if (input != NULL)
		input->is_changed = true;
	write_made(outputs->json, input, file->artifact, file->name, outputs->session);
	return ++outputs->told < OUTPUTS_MAX;
}

int librechat_write_outputs(struct request *request, struct json_writer *json,
			    struct librechat_exec *exec, const struct json_value *files)
{
	struct outputs outputs = { .exec = exec, .json = json, .files = files };

	librechat_session_id(exec->code.program.session, outputs.session);
	json_write_key(json, "files");
	json_write_array_begin(json);
	if (json_read_count(files) > 0 &&
	    librechat_each(request, outputs.session, write_change, &outputs) < 0)
		return -1;
	for (size_t i = 0; i < exec->count; i++) {
		const struct librechat_file *file = &exec->inputs[i].file;
		const bool is_read_only = (file->flags & LIBRECHAT_READ_ONLY) != 0;

		if (!exec->inputs[i].is_changed &&
		    (is_read_only || !is_listed(files, file->name, true)))
			write_inherited(json, file);
	}
	json_write_array_end(json);
	return 0;
}
