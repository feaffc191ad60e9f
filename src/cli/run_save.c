/*
 * run_save.c - figures and files of a record.
 *
 * Runs in:  reckon.
 * Reads:    records: names of files and images as base 64, all from a box.
 * Never:    decodes an image; its bytes go to a file as they are.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "codec/base64.h"

struct image_kind {
	const char *mime, *label, *suffix;
	bool is_text;
};

/* In order of preference: a figure often comes in several. */
static const struct image_kind image_kinds[] = {
	{ "image/png", "PNG", "png", false },
	{ "image/jpeg", "JPEG", "jpg", false },
	{ "image/gif", "GIF", "gif", false },
	{ "image/webp", "WebP", "webp", false },
	{ "image/svg+xml", "SVG", "svg", true },
};

static const struct image_kind *find_image(const struct json_value *data, const char **ret_text,
					   size_t *ret_len)
{
	for (size_t i = 0; i < ARRAY_LEN(image_kinds); i++) {
		*ret_text = json_read_text(json_read_member(data, image_kinds[i].mime), ret_len);
		if (*ret_text != NULL)
			return &image_kinds[i];
	}
	return NULL;
}

static size_t decoded_size(const struct image_kind *kind, const char *text, size_t len)
{
	if (kind->is_text || len < 4)
		return len;
	return len / 4 * 3 - (text[len - 1] == '=') - (text[len - 2] == '=');
}

static void save_failed(struct run_output *output, const char *path, struct err *err)
{
	err_wrap(err, "cell %zu: save %.200s", output->cell, path);
	(void)cli_complain(err);
	output->unsaved = true;
}

static int save_bytes(int dir_fd, const char *path, const void *bytes, size_t len,
		      struct err *err)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(dir_fd, path, temp, &fd, err) < 0)
		return (int)err->code;
	if (fd_write_full(fd, bytes, len, err) == 0 &&
	    run_files_commit(dir_fd, temp, path, err) == 0)
		return 0;
	run_files_abandon(dir_fd, temp);
	return (int)err->code;
}

static int save_image(int dir_fd, const char *path, const struct image_kind *kind,
		      const char *text, size_t len, struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(RUN_JSON_MAX);

	if (kind->is_text)
		return save_bytes(dir_fd, path, text, len, err);
	if (base64_decode(text, len, &bytes, err) < 0)
		return (int)err->code;
	return save_bytes(dir_fd, path, buf_text(&bytes), bytes.len, err);
}

static void save_figures(struct run_output *output, const struct json_value *record)
{
	const struct json_value *results = json_read_member(record, "results");
	const size_t count = json_read_count(results);
	const bool talk = output->run->mode == RUN_MODE_TEXT;
	size_t number = 0;

	for (size_t i = 0; i < count; i++) {
		const struct json_value *data =
			json_read_member(json_read_at(results, i), "data");
		const struct image_kind *kind;
		char path[64], size[CLI_SIZE_TEXT];
		const char *text;
		struct err err;
		size_t len;

		kind = find_image(data, &text, &len);
		if (kind == NULL)
			continue;
		cli_format_size(decoded_size(kind, text, len), size);
		if (output->out_dir < 0) {
			if (talk)
				run_output_line("figure (%s, %s): use -o DIR to save it",
						kind->label, size);
			continue;
		}
		(void)snprintf(path, sizeof(path), "figure-%zu-%zu.%s", output->cell, ++number,
			       kind->suffix);
		if (save_image(output->out_dir, path, kind, text, len, &err) < 0)
			save_failed(output, path, &err);
		else if (talk)
			run_output_line("figure (%s, %s): saved as %s/%s", kind->label, size,
					output->run->out_path, path);
	}
}

/* The stored copy when there is one: it is what the record describes, whatever came later. */
static int fetch(struct run_output *output, const char *path, const char *artifact, int fd,
		 struct err *err)
{
	reckon_error error;
	int rc;

	if (artifact != NULL)
		rc = reckon_artifact_get(output->engine, artifact, 0, 0, fd, &error);
	else
		rc = reckon_file_get(output->session, path, fd, &error);
	if (rc == RECKON_OK)
		return 0;
	err_set(err, (enum err_code)rc, "%s", error.message);
	return err_remedy(err, "%s", error.remedy);
}

static int save_file(struct run_output *output, const char *path, const char *artifact,
		     struct err *err)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(output->out_dir, path, temp, &fd, err) < 0)
		return (int)err->code;
	if (fetch(output, path, artifact, fd, err) == 0 &&
	    run_files_commit(output->out_dir, temp, path, err) == 0)
		return 0;
	run_files_abandon(output->out_dir, temp);
	return (int)err->code;
}

static void one_file(struct run_output *output, const struct json_value *file)
{
	const char *path = json_read_text(json_read_member(file, "path"), NULL);
	const char *change = json_read_text(json_read_member(file, "change"), NULL);
	const char *kind = json_read_text(json_read_member(file, "kind"), NULL);
	const char *artifact = json_read_text(json_read_member(file, "artifact"), NULL);
	const bool talk = output->run->mode == RUN_MODE_TEXT;
	char size[CLI_SIZE_TEXT];
	int64_t bytes = 0;
	struct err err;

	if (path == NULL || change == NULL)
		return;
	(void)json_read_int(json_read_member(file, "size"), &bytes);
	cli_format_size(bytes > 0 ? (uint64_t)bytes : 0, size);
	if (strcmp(change, "deleted") == 0) {
		if (talk)
			run_output_line("%-8s  %s", change, path);
	} else if (kind != NULL && strcmp(kind, "file") != 0) {
		if (talk)
			run_output_line("%-8s  %s  (%s)", change, path, kind);
	} else if (output->out_dir < 0) {
		if (talk)
			run_output_line("%-8s  %s  %s  %s", change, path, size,
					artifact != NULL ? artifact : "");
	} else if (save_file(output, path, artifact, &err) < 0) {
		save_failed(output, path, &err);
	} else if (talk) {
		run_output_line("%-8s  %s  %s  saved as %s/%s", change, path, size,
				output->run->out_path, path);
	}
}

void run_save_all(struct run_output *output, const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");
	const size_t count = json_read_count(files);

	if (output->run->mode != RUN_MODE_TEXT && output->out_dir < 0)
		return;
	save_figures(output, record);
	for (size_t i = 0; i < count; i++)
		one_file(output, json_read_at(files, i));
	if (count > 0 && output->out_dir < 0 && !output->explained) {
		run_output_line("-o DIR saves files; reckon artifact ID -o FILE fetches one later");
		output->explained = true;
	}
}
