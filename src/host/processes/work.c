/*
 * work.c - jobs about processes that block: they ask the warden.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its process and session.
 * Never:    reads output of the process: the loop does.
 */
#include <stdlib.h>

#include "host/host.h"

void work_process_start(struct job *job)
{
	struct process *process = job->process;
	const struct db_process *row = &process->row;
	const bool has_pty = (row->flags & PROCESS_PTY) != 0;
	const reckon_process_options options = {
		.size = sizeof(options),
		.command = (row->flags & PROCESS_COMMAND) != 0 ? job->program.argv[0] : NULL,
		.argv = (row->flags & PROCESS_COMMAND) != 0 ? NULL : job->program.argv,
		.cwd = row->cwd,
		.env = (const char *const *)job->box.env_list,
		.flags =
			(has_pty ? RECKON_PROCESS_TERMINAL : 0) |
			(!has_pty && (row->flags & PROCESS_STDIN) != 0 ? RECKON_PROCESS_INPUT : 0) |
			((row->flags & PROCESS_DETACH) != 0 ? RECKON_PROCESS_DETACH : 0),
		.rows = row->rows,
		.columns = row->cols,
		.wall_ms = job->timeout_ms,
		.cpu_ms = job->program.cpu_ms,
	};

	process->result.size = sizeof(process->result);
	if (reckon_process_start(job->session->box.handle, &options, &process->handle, &job->error) <
	    0) {
		process->handle = NULL;
		return;
	}
	if (reckon_process_status(process->handle, &process->result, &job->error) == 0)
		return;
	reckon_process_close(process->handle);
	process->handle = NULL;
}

void work_process_signal(struct job *job)
{
	(void)reckon_process_signal(job->process->handle, (int)job->cursor,
				    job->how == JOB_HOW_LEADER ? RECKON_SIGNAL_LEADER : 0,
				    &job->error);
}

void work_process_close(struct job *job)
{
	reckon_process_close(job->process->handle);
}

void work_process_check(struct job *job)
{
	struct process *process = job->process;

	process->result.size = sizeof(process->result);
	(void)reckon_process_status(process->handle, &process->result, &job->error);
}

/* Handles all that ended since the last job of this kind, with one scan of the workspace. */
void work_process_end(struct job *job)
{
	reckon_error ignored;

	if (file_queue_handle(job) == NULL)
		return;
	for (struct process *at = job->process; at != NULL; at = at->next_ended) {
		at->result.size = sizeof(at->result);
		(void)reckon_process_status(at->handle, &at->result, &at->failed);
	}
	(void)reckon_workspace_keep(job->session->file_queue.handle, 0, &ignored);
}
