/*
 * stored.h - stores an uploaded file of a tenant.
 */
#pragma once

#include "host/db/tables/document.h"
#include "reckon_files.h"

#define STORED_NAME_SIZE 256
#define STORED_MEDIA_SIZE 96

struct job;
struct tenant;

/* The file's data while it is uploaded and stored. */
struct stored {
	struct tenant *tenant;
	struct db_document document;
	char name[STORED_NAME_SIZE], media_type[STORED_MEDIA_SIZE];
	reckon_file_info info;
};
void stored_free(struct stored *stored); /* NULL is fine */
void stored_work(struct job *job); /* runs in a thread of the pool */
