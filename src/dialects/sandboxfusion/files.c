/*
 * files.c - files of a request: into the box (relative to the code or anywhere), and out.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    names and contents of any client; files that hostile programs wrote.
 * Never:    leaves the box: a command inside it moves files outside the workspace.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "codec/base64.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define WORKSPACE "/mnt/data/"
#define PASSAGE ".reckon-passage"
#define IGNORED "IGNORE_THIS_FILE"
#define MOVE_MS 10000u

/* The path relative to the workspace; NULL: it is outside. */
static const char *inside(const char *path)
{
	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0)
		path += strlen(WORKSPACE);
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path[0] != '/' ? path : NULL;
}

static int move(struct program *program, const char *from, const char *to, const char *command,
		struct program_end *end)
{
	cleanup_buf struct buf text = BUF_INIT(16384);
	struct err err;

	if (buf_adds(&text, "from=", &err) < 0 || text_quote_for_shell(from, &text, &err) < 0 ||
	    buf_adds(&text, "; to=", &err) < 0 || text_quote_for_shell(to, &text, &err) < 0 ||
	    buf_addf(&text, &err, "; %s", command) < 0)
		return fusion_refuse_field(program->request, "files", err.text);
	return program_run(program,
			   &(struct program_stage){ .command = buf_text(&text),
						    .timeout_ms = MOVE_MS },
			   end);
}

static int put_file(struct program *program, const char *path, const char *text, size_t len)
{
	cleanup_buf struct buf bytes = BUF_INIT(FUSION_BODY_MAX);
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	const char *relative = inside(path);
	struct err err;

	if (base64_decode(text, len, &bytes, &err) < 0)
		return fusion_refuse_field(program->request, "files", "no base 64");
	if (program_put(program, relative != NULL ? relative : PASSAGE, buf_text(&bytes),
			bytes.len) < 0)
		return -1;
	if (relative != NULL)
		return 0;
	if (move(program, PASSAGE, path,
		 "mkdir -p -- \"$(dirname -- \"$to\")\" && mv -f -- \"$from\" \"$to\"", &end) < 0)
		return -1;
	return fusion_is_good(&end) ? 0
				    : fusion_refuse_field(program->request, "files",
							  "a file cannot be written there");
}

int fusion_put_files(struct program *program, const struct json_value *body)
{
	const struct json_value *files = json_read_member(body, "files"), *value;
	const char *path, *text;
	size_t len;

	if (json_read_kind(files) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(files) != JSON_KIND_OBJECT || json_read_count(files) > FUSION_FILES_MAX)
		return fusion_refuse_field(program->request, "files",
					   "Input should be a dictionary of at most 1000 files");
	for (size_t i = 0; json_read_member_at(files, i, &path, &value); i++) {
		if (json_read_kind(value) == JSON_KIND_NULL || strstr(path, IGNORED) != NULL)
			continue;
		text = json_read_text(value, &len);
		if (text == NULL)
			return fusion_refuse_field(program->request, "files",
						   "Input should be a valid string");
		if (put_file(program, path, text, len) < 0)
			return -1;
	}
	return 0;
}

static int get_file(struct program *program, const char *path, struct buf *ret)
{
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	const char *relative = inside(path);

	if (relative != NULL)
		return program_get(program, relative, ret);
	if (move(program, path, PASSAGE, "cp -f -- \"$from\" \"$to\"", &end) < 0)
		return -1;
	return fusion_is_good(&end) ? program_get(program, PASSAGE, ret) : 0;
}

int fusion_write_files(struct program *program, const struct json_value *body,
		       struct json_writer *json)
{
	const struct json_value *paths = json_read_member(body, "fetch_files");
	size_t count = json_read_kind(paths) == JSON_KIND_ARRAY ? json_read_count(paths) : 0;

	if (count > FUSION_FILES_MAX)
		count = FUSION_FILES_MAX;
	json_write_key(json, "files");
	json_write_object_begin(json);
	for (size_t i = 0; i < count; i++) {
		cleanup_buf struct buf bytes = BUF_INIT(FUSION_BODY_MAX);
		const char *path = json_read_text(json_read_at(paths, i), NULL);
		const int found = path != NULL ? get_file(program, path, &bytes) : 0;

		if (found < 0)
			return -1;
		if (found == 0)
			continue;
		json_write_key(json, path);
		json_write_base64(json, buf_text(&bytes), bytes.len);
	}
	json_write_object_end(json);
	return 0;
}
