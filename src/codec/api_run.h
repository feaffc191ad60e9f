/* api_run.h - the JSON body of a question to a model as a struct; as api.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/api.h"
#include "codec/json_read.h"

#define API_QUESTION_MAX (1024u * 1024u)
#define API_RUN_FILES_MAX 100u
#define API_RUN_BYTES_MAX (6u * 1024u * 1024u) /* of all contents */

struct api_run_file {
	const char *path;
	bool has_content; /* else it is in the workspace already */
	const char *text; /* or NULL: it was base 64 */
	size_t len;
	size_t at; /* of base 64: where in `decoded` */
};

struct api_run {
	struct json_value *document;
	const char *question;
	size_t question_len;
	const char *model, *session, *template_name, *language; /* or NULL */
	uint64_t steps, tokens, budget_micro, wall_ms;		/* 0: not said */
	bool has_limits, keep, stream, background;
	struct api_leave leave;
	struct api_run_file files[API_RUN_FILES_MAX];
	size_t file_count;
	size_t bytes;
	struct buf decoded;
};

int api_run_parse(const char *text, size_t len, struct api_run *ret, struct err *err);
/* The content of a file that has one. */
const char *api_run_content(const struct api_run *run, const struct api_run_file *file);
void api_run_done(struct api_run *run);
