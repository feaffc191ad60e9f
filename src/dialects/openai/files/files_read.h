/*
 * files_read.h - files that a request names by their ids, read for the model.
 */
#pragma once

#include "dialects/openai/openai.h"

#define FILES_NAME_SIZE 256

/* Of a part of the input. */
struct brought {
	const struct json_value *part;
	struct buf bytes; /* of an image: its data URL */
	char name[FILES_NAME_SIZE];
};

/* Appends its bytes, as many as `ret` can hold. Negative: refused. */
int files_read(struct request *request, const char *id, struct buf *ret,
	       char name[FILES_NAME_SIZE]);
/* Whether there is such a file of the tenant's. Negative: refused. */
int files_check(struct request *request, const char *id);
/* Appends an image as a data URL. */
int files_read_image(struct request *request, const char *id, struct buf *ret_url);

/* Reads what parts of the input name by "file_id". */
int files_bring(struct request *request, struct order *order);
/* NULL: the part has no such name. */
const struct brought *files_brought(const struct order *order, const struct json_value *part);
void files_brought_done(struct order *order);

/* ---- files_named.c ---- */
/* `size` bytes, which there is room for. */
int files_read_descriptor(int fd, uint64_t size, struct buf *ret, struct err *err);
/* 1: read; 0: it is one of the tenant's; negative: refused. */
int files_named_read(struct request *request, const char *id, struct buf *ret,
		     char name[FILES_NAME_SIZE]);
