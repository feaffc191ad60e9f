/*
 * files_read.h - reads files for the model that a request names by id.
 */
#pragma once

#include "dialects/openai/openai.h"

#define FILES_NAME_SIZE 256

/* A file for one part of the input. */
struct brought {
	const struct json_value *part;
	struct buf bytes; /* an image's data URL */
	char name[FILES_NAME_SIZE];
};

/* Appends the file's bytes, up to the ceiling of `ret`. Negative: refused. */
int files_read(struct request *request, const char *id, struct buf *ret,
	       char name[FILES_NAME_SIZE]);
/* Whether the tenant has such a file. Negative: refused. */
int files_check(struct request *request, const char *id);
/* Appends an image as a data URL. */
int files_read_image(struct request *request, const char *id, struct buf *ret_url);

/* Reads the files that parts of the input name by "file_id". */
int files_bring(struct request *request, struct order *order);
/* NULL: the part names no file. */
const struct brought *files_brought(const struct order *order, const struct json_value *part);
void files_brought_done(struct order *order);

/* ---- files_named.c ---- */
/* Reads `size` bytes, for which `ret` has room. */
int files_read_descriptor(int fd, uint64_t size, struct buf *ret, struct err *err);
/* 1: read; 0: the id is a tenant's file; negative: refused. */
int files_named_read(struct request *request, const char *id, struct buf *ret,
		     char name[FILES_NAME_SIZE]);
