/*
 * api_files.h - the JSON bodies about files and links as structs; as api.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "codec/json_read.h"

#define API_PATH_MAX 4095u
#define API_LINK_S_MIN 1
#define API_LINK_S_MAX (366 * 86400)
#define API_LINK_S_DEFAULT 3600u

struct api_files {
	struct json_value *document;
	const char *path; /* "path", or "from" of a move; NULL: not given */
	const char *to;
	const char *artifact;
	bool overwrite;
	uint64_t expires_s;
	uint64_t max_downloads; /* 0: any number */
};

/* {"path"} */
int api_mkdir_parse(const char *text, size_t len, struct api_files *ret, struct err *err);
/* {"from", "to", "overwrite"?} */
int api_move_parse(const char *text, size_t len, struct api_files *ret, struct err *err);
/* {"path" or "artifact", "expires_in_s"?, "max_downloads"?} */
int api_link_parse(const char *text, size_t len, struct api_files *ret, struct err *err);
void api_files_done(struct api_files *files);
