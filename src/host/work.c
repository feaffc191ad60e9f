/*
 * work.c - what a job does, in a thread of the pool: the calls of libreckon, which block.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its session.
 * Never:    touches anything else of reckond; a ring has a lock of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

static int on_event(const reckon_event *event, void *arg)
{
	const struct job *job = arg;

	ring_push(job->execution->ring, event->name, event->json, event->json_len);
	pool_wake(job->session->host->pool);
	return RECKON_CONTINUE;
}

static void work_open(struct job *job)
{
	struct session *session = job->session;
	const struct front_limits *limits = &session->limits;
	const reckon_engine_options engine = {
		.size = sizeof(engine),
		.state_dir = session->host->config.state_dir,
	};
	const reckon_session_options options = {
		.size = sizeof(options),
		.template_name =
			session->row.template_name[0] != '\0' ? session->row.template_name : NULL,
		.language = session->row.language[0] != '\0' ? session->row.language : NULL,
		.limits = { .wall_ms = limits->wall_ms,
			    .cpu_ms = limits->cpu_ms,
			    .memory_bytes = limits->memory_bytes,
			    .disk_bytes = limits->disk_bytes,
			    .inodes = limits->inodes,
			    .file_bytes = limits->file_bytes,
			    .pids = (uint32_t)limits->pids,
			    .cpu_percent = (uint32_t)limits->cpu_percent,
			    .output_bytes = limits->output_bytes,
			    .displays = (uint32_t)limits->displays },
		.env = (const char *const *)job->env_list,
	};

	if (reckon_engine_open(&engine, &session->engine, &job->error) < 0)
		return;
	if (reckon_session_open(session->engine, &options, &session->handle, &job->error) < 0) {
		reckon_engine_close(session->engine);
		session->engine = NULL;
	}
}

/* As libreckon stored them: what a record says of them may be a kernel's own words. */
static void take_objects(struct job *job, const reckon_execution *done)
{
	const char *id;
	uint64_t size;

	for (size_t i = 0; (id = reckon_execution_object(done, i, &size)) != NULL; i++) {
		job->objects = mem_grow(job->objects, i + 1, sizeof(*job->objects));
		(void)snprintf(job->objects[i].id, sizeof(job->objects[i].id), "%s", id);
		job->objects[i].size = size;
		job->object_count = i + 1;
	}
}

static void work_execute(struct job *job)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.wall_ms = job->timeout_ms,
		.text_bytes = job->text_bytes,
		.on_event = on_event,
		.on_event_arg = job,
		.execution_id = job->execution->id,
	};
	reckon_execution *done;
	const char *record;

	if (reckon_execute(job->session->handle, buf_text(&job->code), job->code.len, &options,
			   &done, &job->error) < 0)
		return;
	record = reckon_execution_record(done);
	job->json = mem_strdup(record);
	job->json_len = strlen(record);
	strncpy(job->status, reckon_execution_status(done), sizeof(job->status) - 1);
	job->cost.size = sizeof(job->cost);
	(void)reckon_execution_cost(done, &job->cost, NULL);
	take_objects(job, done);
	reckon_execution_free(done);
}

static void work_ask(struct job *job)
{
	reckon_session *handle = job->session->handle;

	if (job->kind == JOB_VARIABLES)
		(void)reckon_variables(handle, &job->json, &job->error);
	else
		(void)reckon_complete(handle, buf_text(&job->code), job->code.len, job->cursor,
				      &job->json, &job->error);
	job->json_len = job->json != NULL ? strlen(job->json) : 0;
}

static void work_close(struct session *session)
{
	reckon_session_close(session->handle);
	reckon_engine_close(session->engine);
	session->handle = NULL;
	session->engine = NULL;
}

static void run(struct job *job)
{
	struct session *session = job->session;

	switch (job->kind) {
	case JOB_OPEN:
		work_open(job);
		return;
	case JOB_CLOSE:
		work_close(session);
		return;
	case JOB_PROBE:
		work_probe(job);
		return;
	case JOB_EXECUTE:
		work_execute(job);
		break;
	case JOB_VARIABLES:
	case JOB_COMPLETE:
		work_ask(job);
		break;
	case JOB_FILE_LIST:
	case JOB_FILE_GET:
	case JOB_FILE_PUT:
	case JOB_FILE_DELETE:
	case JOB_FILE_MOVE:
	case JOB_FILE_MKDIR:
	case JOB_ARCHIVE_GET:
	case JOB_ARCHIVE_PUT:
		work_file(job);
		break;
	}
	job->is_lost = reckon_session_check(session->handle, &job->why_lost) == RECKON_ELOST;
}

void work_run(struct pool_item *item)
{
	struct job *job = (struct job *)(void *)item;
	job->begun_ns = clock_mono_ns();
	run(job);
	job->ended_ns = clock_mono_ns();
}
