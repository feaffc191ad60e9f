/*
 * outputs.c - lists a run's files: new ones, changed inputs and unchanged inputs.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    file names of a hostile program.
 * Never:    leaves out an input that still exists: LibreChat would forget it.
 */
#include <stdio.h>
#include <string.h>

#include "codec/json_get.h"
#include "dialects/librechat/librechat.h"

#define OUTPUTS_MAX 200u

static struct librechat_input *input_of(struct librechat_exec *exec, const char *name)
{
	for (size_t i = 0; i < exec->count; i++)
		if (strcmp(exec->inputs[i].file.name, name) == 0)
			return &exec->inputs[i];
	return NULL;
}

/* Writes old and new names of the members: different versions of clients use either. */
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
	char session[LIBRECHAT_ID_SIZE];
	size_t count;
};

/* A file that was too large to store keeps the version that was put there. */
static void write_change(struct outputs *outputs, const char *name, const char *artifact)
{
	struct librechat_input *input = input_of(outputs->exec, name);

	if (name[0] == '\0' || name[0] == '.' || artifact == NULL ||
	    outputs->count == OUTPUTS_MAX ||
	    (input != NULL && ((input->file.flags & LIBRECHAT_READ_ONLY) != 0 ||
			       strcmp(input->artifact, artifact) == 0)))
		return;
	if (input != NULL)
		input->is_changed = true;
	write_made(outputs->json, input, artifact, name, outputs->session);
	outputs->count++;
}

static void take_deleted(struct outputs *outputs, const char *name)
{
	struct librechat_input *input = input_of(outputs->exec, name);

	if (input != NULL && (input->file.flags & LIBRECHAT_READ_ONLY) == 0)
		input->is_changed = true;
}

static const char *at(const struct json_value *list, size_t index)
{
	return json_read_text(json_read_at(list, index), NULL);
}

/* A process has lists of names and of their artifacts. */
static void write_lists(struct outputs *outputs, const struct json_value *files)
{
	const struct json_value *changed = json_read_member(files, "changed");
	const struct json_value *artifacts = json_read_member(files, "artifacts");
	const struct json_value *deleted = json_read_member(files, "deleted");

	for (size_t i = 0; i < json_read_count(changed); i++)
		if (at(changed, i) != NULL)
			write_change(outputs, at(changed, i), at(artifacts, i));
	for (size_t i = 0; i < json_read_count(deleted); i++)
		if (at(deleted, i) != NULL)
			take_deleted(outputs, at(deleted, i));
}

/* A record has files, each with its kind of change. */
static void write_files(struct outputs *outputs, const struct json_value *files)
{
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *name = json_get_str(file, "path");

		if (strcmp(json_get_str(file, "change"), "deleted") == 0)
			take_deleted(outputs, name);
		else
			write_change(outputs, name,
				     json_read_text(json_read_member(file, "artifact"), NULL));
	}
}

void librechat_write_outputs(struct json_writer *json, struct librechat_exec *exec,
			     const struct json_value *files)
{
	struct outputs outputs = { .exec = exec, .json = json };

	librechat_session_id(exec->code.program.session, outputs.session);
	json_write_key(json, "files");
	json_write_array_begin(json);
	if (json_read_kind(files) == JSON_KIND_OBJECT)
		write_lists(&outputs, files);
	else
		write_files(&outputs, files);
	for (size_t i = 0; i < exec->count; i++)
		if (!exec->inputs[i].is_changed)
			write_inherited(json, &exec->inputs[i].file);
	json_write_array_end(json);
}
