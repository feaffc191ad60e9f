/*
 * stored.h - a file of a tenant on its way into the store.
 */
#pragma once

#include "host/db/tables/document.h"
#include "reckon_files.h"

#define STORED_NAME_SIZE 256
#define STORED_MEDIA_SIZE 96

struct job;
struct tenant;

/* What an upload, and then the job that keeps it, knows of the file. */
struct stored {
	struct tenant *tenant;
	struct db_document document;
	char name[STORED_NAME_SIZE], media_type[STORED_MEDIA_SIZE];
	reckon_file_info info;
};
void stored_free(struct stored *stored); /* NULL is fine */
void stored_work(struct job *job); /* in a thread of the pool */
