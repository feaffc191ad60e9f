/* outputs.h - a cell's outputs, and the files that an answer cites. No side effects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/names.h"

#define OPENAI_WORKSPACE "/mnt/data/"
#define OPENAI_OUT_MAX ((size_t)64 * 1024 * 1024)

/* Writes the items of an array: {"type": "logs"}, {"type": "image"} with a data URL. */
void outputs_write(struct json_writer *json, const struct json_value *record);
/* Appends the printed text, the last value and the error, as in a notebook. */
void outputs_logs(const struct json_value *record, struct buf *ret);
/* The base64 of a result's picture; NULL: it has none. */
const char *outputs_picture(const struct json_value *result, const char **ret_mime,
			    size_t *ret_len);
bool outputs_has_picture(const struct json_value *result);
/* Writes only the item with the logs. */
void outputs_write_logs(struct json_writer *json, const struct json_value *record);

struct cites_file {
	char path[256], artifact[48];
};

/* Files that code wrote: the latest version of each path. */
struct cites {
	struct cites_file *files;
	size_t count;
};
void cites_add(struct cites *cites, const struct json_value *record);
void cites_done(struct cites *cites);

struct cite {
	const struct cites_file *file;
	const char *text; /* as written in the answer */
	size_t len, start, end; /* in bytes; in characters from the beginning */
};
/* The next `sandbox:/mnt/data/NAME` with a known file; moves *at behind it. */
bool cites_next(const struct cites *cites, const char *text, const char **at, struct cite *ret);
