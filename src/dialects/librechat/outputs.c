/*
 * outputs.c - what became of a run's files: new ones, changed inputs, and those that are as they were.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    the record of a hostile program.
 * Never:    leaves an input out that is still there: LibreChat would forget it.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/librechat/librechat.h"

#define OUTPUTS_MAX 200u

static const char *text_of(const struct json_value *value, const char *key)
{
	const char *text = json_read_text(json_read_member(value, key), NULL);

	return text != NULL ? text : "";
}

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

static bool is_ours(const char *name)
{
	return name[0] == '.';
}

/* One file of the record. */
static bool write_change(struct json_writer *json, struct librechat_exec *exec,
			 const struct json_value *file, const char *session)
{
	const char *name = text_of(file, "path"), *artifact = text_of(file, "artifact");
	struct librechat_input *input = input_of(exec, name);

	if (input != NULL && (input->file.flags & LIBRECHAT_READ_ONLY) != 0)
		return false;
	if (input != NULL) {
		input->is_deleted = strcmp(text_of(file, "change"), "deleted") == 0;
		input->is_changed = artifact[0] != '\0';
	}
	if (artifact[0] == '\0' || is_ours(name))
		return false;
	write_made(json, input, artifact, name, session);
	return true;
}

void librechat_write_outputs(struct json_writer *json, struct librechat_exec *exec)
{
	const struct json_value *files = json_read_member(exec->code.ran.record, "files");
	char session[LIBRECHAT_ID_SIZE];
	size_t told = 0;

	librechat_session_id(exec->code.program.session, session);
	json_write_key(json, "files");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(files) && told < OUTPUTS_MAX; i++)
		told += write_change(json, exec, json_read_at(files, i), session);
	for (size_t i = 0; i < exec->count; i++)
		if (!exec->inputs[i].is_changed && !exec->inputs[i].is_deleted)
			write_inherited(json, &exec->inputs[i].file);
	json_write_array_end(json);
}
