/* outputs.h - what a cell left, and the files that an answer speaks of. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/names.h"

#define OPENAI_WORKSPACE "/mnt/data/"
#define OPENAI_OUT_MAX ((size_t)64 * 1024 * 1024)

/* The items of an array: {"type": "logs"}, {"type": "image"} with a data URL. */
void outputs_write(struct json_writer *json, const struct json_value *record);
/* What was printed, the value of the last expression, what was raised: as in a notebook. */
void outputs_logs(const struct json_value *record, struct buf *ret);
/* Base 64 of the picture that a result of a record is; NULL: it is none. */
const char *outputs_picture(const struct json_value *result, const char **ret_mime,
			    size_t *ret_len);
bool outputs_has_picture(const struct json_value *result);
/* The first of them alone. */
void outputs_write_logs(struct json_writer *json, const struct json_value *record);

struct cites_file {
	char path[256], artifact[48];
};

/* Files that code left: the last of each path. */
struct cites {
	struct cites_file *files;
	size_t count;
};
void cites_add(struct cites *cites, const struct json_value *record);
void cites_done(struct cites *cites);

struct cite {
	const struct cites_file *file;
	const char *text; /* as it stands there */
	size_t len, start, end; /* bytes; characters from the beginning */
};
/* The next `sandbox:/mnt/data/NAME` of a file that is known; *at moves behind it. */
bool cites_next(const struct cites *cites, const char *text, const char **at, struct cite *ret);
