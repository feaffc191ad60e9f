/*
 * stored.c - stores an uploaded file of a tenant.
 *
 * Runs in:  stored_work() in a thread of the pool.
 * Reads:    the uploaded bytes.
 */
#include "host/files/stored.h"

#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"

void stored_free(struct stored *stored)
{
	if (stored == NULL)
		return;
	db_document_done(&stored->document);
	free(stored);
}

void stored_work(struct job *job)
{
	struct stored *stored = job->stored;
	reckon_engine *engine;

	if (work_engine(job->host, &engine, &job->error) < 0)
		return;
	(void)lseek(job->fd, 0, SEEK_SET);
	(void)reckon_artifact_store(engine, job->fd, stored->name, &stored->info, &job->error);
	reckon_engine_close(engine);
}
