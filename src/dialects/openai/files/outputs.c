/*
 * outputs.c - a cell's outputs, and the files that an answer cites.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    records of hostile programs, text of a model.
 * Never:    cites a file that no cell wrote.
 */
#include "dialects/openai/files/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "dialects/model_api.h"

#define FILES_MAX 1000u
#define SANDBOX "sandbox:" OPENAI_WORKSPACE

/* ---- outputs -------------------------------------------------------------------------------- */

static const char *const types[] = { "image/png", "image/jpeg" };

bool outputs_has_picture(const struct json_value *result)
{
	return outputs_picture(result, NULL, NULL) != NULL;
}

const char *outputs_picture(const struct json_value *result, const char **ret_mime, size_t *ret_len)
{
	const struct json_value *data = json_read_member(result, "data");

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *base64 = json_read_text(json_read_member(data, types[i]), ret_len);

		if (base64 != NULL && ret_mime != NULL)
			*ret_mime = types[i];
		if (base64 != NULL)
			return base64;
	}
	return NULL;
}

static void write_image(struct json_writer *json, const char *mime, const char *base64, size_t len)
{
	cleanup_buf struct buf url = BUF_INIT(OPENAI_OUT_MAX);
	struct err full; /* larger than an answer; the container still has the file */

	if (buf_addf(&url, &full, "data:%s;base64,", mime) < 0 ||
	    buf_add(&url, base64, len, &full) < 0)
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "type", "image");
	json_write_member_text(json, "url", url.data, url.len);
	json_write_object_end(json);
}

void outputs_logs(const struct json_value *record, struct buf *ret)
{
	model_api_add_text(record, "stdout", ret);
	model_api_add_text(record, "stderr", ret);
	model_api_add_values(record, ret);
	model_api_add_text(json_read_member(record, "error"), "traceback", ret);
}

void outputs_write_logs(struct json_writer *json, const struct json_value *record)
{
	cleanup_buf struct buf logs = BUF_INIT(OPENAI_OUT_MAX);

	outputs_logs(record, &logs);
	if (logs.len == 0)
		return;
	json_write_object_begin(json);
	json_write_member_string(json, "type", "logs");
	json_write_member_text(json, "logs", logs.data, logs.len);
	json_write_object_end(json);
}

void outputs_write(struct json_writer *json, const struct json_value *record)
{
	const struct json_value *results = json_read_member(record, "results");

	outputs_write_logs(json, record);
	for (size_t i = 0; i < json_read_count(results); i++)
		for (size_t k = 0; k < ARRAY_LEN(types); k++) {
			const struct json_value *data =
				json_read_member(json_read_at(results, i), "data");
			size_t len;
			const char *base64 =
				json_read_text(json_read_member(data, types[k]), &len);

			if (base64 != NULL)
				write_image(json, types[k], base64, len);
		}
}

/* ---- citations ------------------------------------------------------------------------------ */

static void know_file(struct cites *cites, const struct json_value *file)
{
	const char *path = json_read_text(json_read_member(file, "path"), NULL);
	const char *artifact = json_read_text(json_read_member(file, "artifact"), NULL);
	struct cites_file *at = NULL;

	if (path == NULL || artifact == NULL || strlen(path) >= sizeof(at->path) ||
	    strlen(artifact) >= sizeof(at->artifact))
		return;
	for (size_t i = 0; i < cites->count && at == NULL; i++)
		if (strcmp(cites->files[i].path, path) == 0)
			at = &cites->files[i];
	if (at == NULL && cites->count == FILES_MAX)
		return;
	if (at == NULL) {
		cites->files = mem_grow(cites->files, cites->count + 1, sizeof(*at));
		at = &cites->files[cites->count++];
	}
	(void)snprintf(at->path, sizeof(at->path), "%s", path);
	(void)snprintf(at->artifact, sizeof(at->artifact), "%s", artifact);
}

static const struct cites_file *file_at(const struct cites *cites, const char *path, size_t *ret)
{
	const struct cites_file *found = NULL;

	*ret = 0;
	for (size_t i = 0; i < cites->count; i++) {
		const size_t len = strlen(cites->files[i].path);

		if (len > *ret && strncmp(cites->files[i].path, path, len) == 0) {
			found = &cites->files[i];
			*ret = len;
		}
	}
	return found;
}

void cites_add(struct cites *cites, const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");

	for (size_t i = 0; i < json_read_count(files); i++)
		know_file(cites, json_read_at(files, i));
}

void cites_done(struct cites *cites)
{
	free(cites->files);
	*cites = (struct cites){ 0 };
}

bool cites_next(const struct cites *cites, const char *text, const char **at, struct cite *ret)
{
	const char *mark;

	while ((mark = strstr(*at, SANDBOX)) != NULL) {
		size_t len;
		const struct cites_file *file = file_at(cites, mark + strlen(SANDBOX), &len);

		*at = mark + strlen(SANDBOX) + len;
		if (file == NULL)
			continue;
		ret->file = file;
		ret->text = mark;
		ret->len = (size_t)(*at - mark);
		ret->start = utf8_count(text, (size_t)(mark - text));
		ret->end = ret->start + utf8_count(mark, ret->len);
		return true;
	}
	return false;
}
