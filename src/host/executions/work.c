/*
 * work.c - runs jobs in a thread of the pool; here are also the jobs for kernels.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its session.
 * Never:    touches anything else of reckond, except event buffers, which have locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/executions/asking.h"
#include "host/host.h"
#include "host/sessions/restart/box_lease.h"

static int on_event(const reckon_event *event, void *arg)
{
	const struct job *job = arg;

	bool has_waiter = event_buffer_push(job->execution->events, event->name, event->json,
					    event->json_len);

	/* A run reports a cell as done only after its record is stored. */
	if (job->run_events != NULL && strcmp(event->name, "done") != 0)
		has_waiter |= event_buffer_push(job->run_events, event->name, event->json,
						event->json_len);
	if (has_waiter)
		pool_wake(job->session->host->pools.main);
	return RECKON_CONTINUE;
}

/* The handle of the kernel or of the files, depending on the job. */
static reckon_session *handle_of(const struct job *job)
{
	if (job->is_for_files)
		return job->session->file_queue.handle;
	return job->context != NULL ? job->context->handle : job->session->box.handle;
}

/*
 * Takes the ids from libreckon, which stored the objects: those in the record may be forged by the
 * kernel.
 */
static void take_objects(struct job *job, const reckon_execution *done)
{
	struct job_result *result = &job->result;
	const char *id;
	uint64_t size;

	for (size_t i = 0; (id = reckon_execution_object(done, i, &size)) != NULL; i++) {
		result->objects = mem_grow(result->objects, i + 1, sizeof(*result->objects));
		(void)snprintf(result->objects[i].id, sizeof(result->objects[i].id), "%s", id);
		result->objects[i].size = size;
		result->object_count = i + 1;
	}
}

static struct job_part part_of(const reckon_execution *done, const char *name)
{
	struct job_part part;
	const char *text = reckon_execution_member(done, name, &part.len);

	part.at = (size_t)(text - reckon_execution_record(done));
	return part;
}

void work_execute(struct job *job)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.wall_ms = job->timeout_ms,
		.text_bytes = job->text_bytes,
		.output_bytes = job->output_bytes,
		.on_event = on_event,
		.on_event_arg = job,
		.execution_id = job->execution->id,
		.env = (const char *const *)job->box.env_list,
		.questions = asking_questions(job->execution->asking),
	};
	reckon_execution *done;
	const char *record;

	if (reckon_execute(handle_of(job), buf_text(&job->execution->code),
			   job->execution->code.len, &options, &done, &job->error) < 0)
		return;
	record = reckon_execution_record(done);
	job->result.json = mem_strdup(record);
	job->result.json_len = strlen(record);
	strncpy(job->result.status, reckon_execution_status(done), sizeof(job->result.status) - 1);
	job->result.cost.size = sizeof(job->result.cost);
	(void)reckon_execution_cost(done, &job->result.cost, NULL);
	take_objects(job, done);
	job->result.files_part = part_of(done, "files");
	job->result.receipt_part = part_of(done, "receipt");
	if (job->run != NULL)
		job->result.cell = cell_result_new(done);
	reckon_execution_free(done);
}

void work_ask(struct job *job)
{
	reckon_session *handle = handle_of(job);

	if (job->kind == JOB_VARIABLES)
		(void)reckon_variables(handle, &job->result.json, &job->error);
	else if (job->kind == JOB_COMPLETE)
		(void)reckon_complete(handle, buf_text(&job->code), job->code.len, job->cursor,
				      &job->result.json, &job->error);
	else if (job->kind == JOB_IS_COMPLETE)
		(void)reckon_is_complete(handle, buf_text(&job->code), job->code.len,
					 &job->result.json, &job->error);
	else
		(void)reckon_inspect(handle, buf_text(&job->code), job->code.len, job->cursor,
				     job->how == JOB_HOW_DETAILED, &job->result.json, &job->error);
	job->result.json_len = job->result.json != NULL ? strlen(job->result.json) : 0;
}

void work_restart(struct job *job)
{
	(void)reckon_session_restart(handle_of(job), &job->error);
}

void work_keep(struct job *job)
{
	(void)reckon_workspace_keep(job->session->box.handle, job->how == JOB_HOW_THOROUGH,
				    &job->error);
}

static void run(struct job *job, const struct job_type *type)
{
	reckon_session *handle;
	reckon_error ignored;
	int state;

	if (job->session == NULL) {
		type->work(job);
		return;
	}
	if (job->forgets && job->session->box.handle != NULL)
		reckon_workspace_forget(job->session->box.handle);
	type->work(job);
	if (job->kind == JOB_OPEN)
		box_lease(job);
	handle = type->looks ? handle_of(job) : NULL;
	if (handle == NULL)
		return;
	(void)reckon_workspace_take(handle, &job->result.changes, &ignored);
	state = reckon_session_check(handle, &job->result.why_lost);
	if (state == RECKON_ELOST)
		job->result.loss = JOB_LOST_BOX;
	else if (state == RECKON_EKERNEL_LOST)
		job->result.loss = JOB_LOST_KERNEL;
	if (!job->is_for_files)
		box_lease(job);
}

void work_run(struct pool_item *item)
{
	struct job *job = (struct job *)(void *)item;
	const struct host *host = job->session != NULL ? job->session->host : job->host;

	job->times.begun_ns = clock_mono_ns();
	run(job, &host->job_types[job->kind]);
	job->times.ended_ns = clock_mono_ns();
}
