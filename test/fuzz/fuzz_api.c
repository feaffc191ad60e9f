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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int code, const struct err *err)
{
	if (code < 0 && (err->text[0] == '\0' ||
			 (err->code != ERR_INVALID && err->code != ERR_LIMIT)))
		abort();
}

static void session(const char *text, size_t len, bool is_patch)
{
	struct api_session body;
	struct json_value *again;
	struct err err;
	const int code = api_session_parse(text, len, is_patch, &body, &err);
	size_t at = 0;

	check(code, &err);
	if (code == 0) {
		for (size_t i = 0; i < body.env_count; i++) {
			if (strchr(body.env.data + at, '=') == NULL)
				abort();
			at += strlen(body.env.data + at) + 1;
		}
		if (at != body.env.len || (is_patch && body.template_name != NULL))
			abort();
		if (body.has_idle &&
		    (body.idle_ms < API_IDLE_MS_MIN || body.idle_ms > API_IDLE_MS_MAX))
			abort();
		/* What is kept has to be JSON still. */
		if (body.has_metadata) {
			if (json_read_parse(body.metadata.data, body.metadata.len, API_METADATA_MAX,
					    &again, &err) < 0)
				abort();
			json_read_free(again);
		}
	}
	api_session_done(&body);
}

static void execute(const char *text, size_t len, bool is_complete)
{
	struct api_execute body;
	struct err err;
	const int code = is_complete ? api_complete_parse(text, len, &body, &err)
				     : api_execute_parse(text, len, &body, &err);

	check(code, &err);
	if (code == 0 && (body.code == NULL || body.cursor > body.code_len ||
			  (body.stream && body.background)))
		abort();
	api_execute_done(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size == 0)
		return 0;
	if (data[0] % 4 < 2)
		session(text, size - 1, data[0] % 4 == 1);
	else
		execute(text, size - 1, data[0] % 4 == 3);
	return 0;
}
