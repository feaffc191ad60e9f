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
#include "host/runs/cell_result.h"
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
	job->fd = job->result.fd = -1;
	job->code = BUF_INIT(FRONT_CODE_MAX);
	job->program.argv_text = BUF_INIT(DB_PROCESS_TEXT_MAX);
	job->box.env = BUF_INIT((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX);
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
	if (job->result.fd >= 0)
		(void)close(job->result.fd);
	buf_done(&job->code);
	buf_done(&job->box.env);
	buf_done(&job->program.argv_text);
	free(job->program.argv);
	free(job->box.env_list);
	free(job->path);
	free(job->result.ports);
	file_work_done(&job->files);
	free(job->result.json);
	reckon_workspace_free(job->box.manifest);
	reckon_workspace_free(job->result.changes);
	free(job->result.objects);
	stored_free(job->stored);
	volume_work_free(job->volume);
	while (job->box.imports != NULL) {
		struct job *next = job->box.imports->next;

		job_free(job->box.imports);
		job->box.imports = next;
	}
	file_mounts_free(job->box.mounts);
	cell_result_free(job->result.cell);
	missing_free(job->box.missing);
	free(job->box.recorded);
	free(job);
}
