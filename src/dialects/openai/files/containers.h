/*
 * containers.h - what the files about containers share.
 */
#pragma once

#include "dialects/openai/openai.h"

struct container {
	struct request *request;
	char id[NAME_SIZE], session[ID_SIZE];
};

#define CONTAINER_NAME_KEY "openai_container_name" /* of a session's metadata */

/* ---- containers_show.c ---- */
void container_write(struct json_writer *json, const struct api_session *session);
/* A file's id holds its path. False: the path is too long for one. */
bool container_id_of_path(const char *path, char ret[NAME_SIZE]);
bool container_path_of_id(const char *id, char *ret, size_t size);
void container_write_file(const struct container *container, struct json_writer *json,
			  const char *id, const char *path, uint64_t size, uint64_t created,
			  const char *source);

void containers_list(struct request *request);
void container_list_files(const struct container *container);
