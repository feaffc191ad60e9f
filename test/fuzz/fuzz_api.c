/*
 * fuzz_api.c - JSON bodies of the native API.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes; the first one says which body they are.
 * Never:    keeps anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/api.h"
#include "codec/api_files.h"
#include "codec/api_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int code, const struct err *err)
{
	if (code < 0 && (err->text[0] == '\0' ||
			 (err->code != ERR_INVALID && err->code != ERR_LIMIT)))
		abort();
}

static bool is_text(const char *text, size_t max)
{
	return text == NULL || (text[0] != '\0' && strlen(text) <= max);
}

/* 'e': mkdir; 'f': move; 'g': links. */
static void files(const char *text, size_t len, uint8_t which)
{
	struct api_files body;
	struct err err;
	const int code = which == 'e'	? api_mkdir_parse(text, len, &body, &err)
			 : which == 'f' ? api_move_parse(text, len, &body, &err)
					: api_link_parse(text, len, &body, &err);

	check(code, &err);
	if (code == 0) {
		if (!is_text(body.path, API_PATH_MAX) || !is_text(body.to, API_PATH_MAX) ||
		    !is_text(body.artifact, 40) || (which != 'g' && body.path == NULL) ||
		    (which == 'f' && body.to == NULL))
			abort();
		if (which == 'g' && ((body.path == NULL) == (body.artifact == NULL) ||
				     body.expires_s == 0 || body.expires_s > API_LINK_S_MAX))
			abort();
	}
	api_files_done(&body);
}

/* 'h': a question to a model. */
static void question(const char *text, size_t len)
{
	struct api_run body;
	struct err err;
	const int code = api_run_parse(text, len, &body, &err);
	size_t bytes = 0;

	check(code, &err);
	for (size_t i = 0; code == 0 && i < body.file_count; i++) {
		const struct api_run_file *file = &body.files[i];

		if (!is_text(file->path, 4095) || file->path == NULL ||
		    (file->has_content && api_run_content(&body, file) == NULL))
			abort();
		bytes += file->len;
	}
	if (code == 0 && (body.question == NULL || body.question_len == 0 ||
			  body.file_count > API_RUN_FILES_MAX || bytes > API_RUN_BYTES_MAX ||
			  body.steps > 1000 || !is_text(body.model, 318) ||
			  (body.stream && body.background) ||
			  (body.session != NULL && body.keep)))
		abort();
	api_run_done(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct err err;

	if (size == 0)
		return 0;
	if (data[0] >= 'e' && data[0] <= 'g')
		files(text, size - 1, data[0]);
	else if (data[0] == 'h')
		question(text, size - 1);
	else
		check(api_nothing_parse(text, size - 1, &err), &err);
	return 0;
}
