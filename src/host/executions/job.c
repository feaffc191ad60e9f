/*
 * job.c - jobs: made and freed.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/files/file_mounts.h"
#include "host/files/stored.h"
#include "host/host.h"
#include "host/runs/told.h"
#include "host/volumes/work.h"
#include "host/about.h"

struct job *job_new(struct session *session, enum job_kind kind, uint64_t request)
{
	struct job *job = mem_new0(1, sizeof(*job));

	job->session = session;
	if (session != NULL)
		about_note(session->host, job);
	job->kind = kind;
	job->request = request;
	job->fd = job->ret_fd = -1;
	job->code = BUF_INIT(FRONT_CODE_MAX);
	job->argv_text = BUF_INIT(DB_PROCESS_TEXT_MAX);
	job->env = BUF_INIT((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX);
	return job;
}

void missing_free(struct missing *missing)
{
	if (missing == NULL)
		return;
	buf_done(&missing->paths);
	free(missing);
}

void job_free(struct job *job)
{
	if (job->fd >= 0)
		(void)close(job->fd);
	if (job->ret_fd >= 0)
		(void)close(job->ret_fd);
	buf_done(&job->code);
	buf_done(&job->env);
	buf_done(&job->argv_text);
	free(job->argv);
	free(job->env_list);
	free(job->path);
	free(job->ports);
	file_work_done(&job->files);
	free(job->json);
	reckon_workspace_free(job->manifest);
	reckon_workspace_free(job->changes);
	free(job->objects);
	stored_free(job->stored);
	volume_work_free(job->volume);
	while (job->imports != NULL) {
		struct job *next = job->imports->next;

		job_free(job->imports);
		job->imports = next;
	}
	file_mounts_free(job->mounts);
	job_told_free(job->told);
	missing_free(job->missing);
	free(job->recorded);
	free(job);
}
