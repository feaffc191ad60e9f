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
#include "host/executions/asking.h"
#include "host/calls/document.h"
#include "host/files/file_mounts.h"
#include "host/host.h"
#include "host/sessions/folders.h"
#include "host/sessions/prewarmed.h"
#include "host/files/watch.h"
#include "host/processes/port_work.h"

static int on_event(const reckon_event *event, void *arg)
{
	const struct job *job = arg;

	bool is_heard = event_buffer_push(job->execution->events, event->name, event->json,
					  event->json_len);

	/* That a cell is done is told of an run when its record is kept. */
	if (job->run_events != NULL && strcmp(event->name, "done") != 0)
		is_heard |= event_buffer_push(job->run_events, event->name, event->json,
					      event->json_len);
	if (is_heard)
		pool_wake(job->session->host->pool);
	return RECKON_CONTINUE;
}

static unsigned flags_of(uint64_t policy)
{
	return ((policy & FRONT_POLICY_ISOLATE_CORE) != 0 ? RECKON_SESSION_CORE_SCHEDULING : 0) |
	       ((policy & FRONT_POLICY_ISOLATE_SPECULATION) != 0 ? RECKON_SESSION_NO_SPECULATION
								 : 0);
}

int work_engine(struct host *host, reckon_engine **ret, reckon_error *error)
{
	const reckon_engine_options options = {
		.size = sizeof(options),
		.state_dir = host->config.state_dir,
		.strict = host->config.strict != 0,
	};

	return reckon_engine_open(&options, ret, error);
}

/* Without a session there is no engine. */
static int open_with(struct session *session, const reckon_session_options *options,
		     reckon_error *error)
{
	const int code = reckon_session_open(session->engine, options, &session->handle, error);

	if (code < 0) {
		reckon_engine_close(session->engine);
		session->engine = NULL;
	}
	return code;
}

/* Of a session that is opened for the first time. */
static int make_lent(struct job *job)
{
	struct err err;

	if (job->mounts == NULL || file_mounts_make(job->session, job->mounts, &err) == 0)
		return 0;
	file_mounts_remove(job->session);
	job->error.code = err.code == ERR_INVALID ? RECKON_EINVALID : RECKON_ESYSTEM;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", err.text);
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s", err.remedy);
	return -1;
}

static void open_box(struct job *job)
{
	struct session *session = job->session;
	const struct front_limits *limits = &session->limits;
	const bool has_mounts = session->row.file_mounts[0] != '\0';
	char source[96];
	cleanup_folders struct folders_open folders = FOLDERS_NONE;
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
		.flags = RECKON_SESSION_CONCURRENT | RECKON_SESSION_KEEP |
			 (session->host->config.durability != 0 ? RECKON_SESSION_KEEP_RELAXED : 0) |
			 flags_of(session->row.policy),
		.session_id = session->row.id[0] != '\0' ? session->row.id : NULL,
		.lost_why = session->kept.lost_why[0] != '\0' ? session->kept.lost_why : NULL,
		.lost_variables = session->kept.variables,
		.sequence = session->parked_sequence,
		/* A daemon of one user has no one to be fair to. */
		.group = session->host->config.is_private ? NULL : session->row.tenant,
		.group_weight = job->share.weight,
		.group_cpu_percent = job->share.percent,
		.mounts = folders.mounts,
		.mount_count = session->folders.count + (has_mounts ? 1 : 0),
	};

	if (!folders_open(job, &folders))
		return;
	file_mounts_source(session, source);
	folders.mounts[folders.count] =
		(reckon_mount){ .source = source, .target = FILE_MOUNTS_TARGET };
	/* The warden of an engine that stood ready may be gone, which is not a reason to fail. */
	if (session->engine != NULL && open_with(session, &options, &job->error) != RECKON_ELOST)
		return;
	if (work_engine(session->host, &session->engine, &job->error) < 0 ||
	    open_with(session, &options, &job->error) != RECKON_ELOST)
		return;
	/* What never was cannot be lost, and what is kept of a parked session is where it was. */
	job->error.code = RECKON_EUNAVAILABLE;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s",
		       "the session could not be opened: the warden hung up, or this daemon has "
		       "too few descriptors");
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s",
		       "try again; its log says why");
}

void work_open(struct job *job)
{
	if (make_lent(job) < 0)
		return;
	open_box(job);
	if (job->session->handle == NULL && job->mounts != NULL)
		file_mounts_remove(job->session);
}

/* Of the kernel that the job is for. */
static reckon_session *handle_of(const struct job *job)
{
	if (job->is_for_files)
		return job->session->file_queue.handle;
	return job->context != NULL ? job->context->handle : job->session->handle;
}

static void work_context_close(struct context *context)
{
	reckon_session_close(context->handle);
	context->handle = NULL;
}

static void work_context_open(struct job *job)
{
	struct context *context = job->context;
	const struct db_context *row = &context->row;
	const reckon_context_options options = {
		.size = sizeof(options),
		.language = row->language,
		.template_name =
			row->template_name[0] != '\0' ? row->template_name : NULL,
		.cwd = row->cwd,
		.env = (const char *const *)job->env_list,
		.context_id = row->id[0] != '\0' ? row->id : NULL,
		.lost_why = row->lost_why[0] != '\0' ? row->lost_why : NULL,
		.lost_variables = row->variables,
	};

	work_context_close(context); /* one of a box that is gone */
	(void)reckon_context_open(job->session->handle, &options, &context->handle, &job->error);
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

static struct job_part part_of(const reckon_execution *done, const char *name)
{
	struct job_part part;
	const char *text = reckon_execution_member(done, name, &part.len);

	part.at = (size_t)(text - reckon_execution_record(done));
	return part;
}

static void work_execute(struct job *job)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.wall_ms = job->timeout_ms,
		.text_bytes = job->text_bytes,
		.output_bytes = job->output_bytes,
		.on_event = on_event,
		.on_event_arg = job,
		.execution_id = job->execution->id,
		.env = (const char *const *)job->env_list,
		.questions = asking_questions(job->execution->asking),
	};
	reckon_execution *done;
	const char *record;

	if (reckon_execute(handle_of(job), buf_text(&job->execution->code),
			   job->execution->code.len, &options, &done, &job->error) < 0)
		return;
	record = reckon_execution_record(done);
	job->json = mem_strdup(record);
	job->json_len = strlen(record);
	strncpy(job->status, reckon_execution_status(done), sizeof(job->status) - 1);
	job->cost.size = sizeof(job->cost);
	(void)reckon_execution_cost(done, &job->cost, NULL);
	take_objects(job, done);
	job->files_part = part_of(done, "files");
	job->receipt_part = part_of(done, "receipt");
	if (job->run != NULL)
		job->told = job_told_new(done);
	reckon_execution_free(done);
}

static void work_ask(struct job *job)
{
	reckon_session *handle = handle_of(job);

	if (job->kind == JOB_VARIABLES)
		(void)reckon_variables(handle, &job->json, &job->error);
	else if (job->kind == JOB_COMPLETE)
		(void)reckon_complete(handle, buf_text(&job->code), job->code.len, job->cursor,
				      &job->json, &job->error);
	else
		(void)reckon_inspect(handle, buf_text(&job->code), job->code.len, job->cursor,
				     job->wants_detail, &job->json, &job->error);
	job->json_len = job->json != NULL ? strlen(job->json) : 0;
}

static void work_close(struct session *session)
{
	reckon_session_close(session->file_queue.handle);
	reckon_session_close(session->handle);
	reckon_engine_close(session->engine);
	session->file_queue.handle = session->handle = NULL;
	session->engine = NULL;
	/* One that the next daemon has keeps them. */
	if (!session->is_leaving)
		file_mounts_remove(session);
}

static void work_share(struct job *job)
{
	reckon_engine *engine;

	if (work_engine(job->host, &engine, &job->error) < 0)
		return;
	(void)reckon_group_set(engine, job->path, job->share.weight, job->share.percent,
			       &job->error);
	reckon_engine_close(engine);
}

static void run(struct job *job)
{
	struct session *session = job->session;
	reckon_error ignored;
	int state;

	if (job->forgets && session->handle != NULL)
		reckon_workspace_forget(session->handle);
	switch (job->kind) {
	case JOB_OPEN:
		work_open(job);
		if (session->handle != NULL && job->is_once)
			once_put_files(job);
		if (session->handle == NULL)
			job->item.then = NULL;
		return;
	case JOB_RESTORE:
		restore_work(job);
		return;
	case JOB_CLOSE:
		work_close(session);
		return;
	case JOB_CONTEXT_OPEN:
		work_context_open(job);
		return;
	case JOB_CONTEXT_CLOSE:
		work_context_close(job->context);
		return;
	case JOB_RESTART:
		(void)reckon_session_restart(handle_of(job), &job->error);
		break;
	case JOB_PROBE:
		work_probe(job);
		return;
	case JOB_SHARE:
		work_share(job);
		return;
	case JOB_SPARE:
		prewarmed_work(job);
		return;
	case JOB_STORE:
		stored_work(job);
		return;
	case JOB_EXECUTE:
		work_execute(job);
		break;
	case JOB_VARIABLES:
	case JOB_COMPLETE:
	case JOB_INSPECT:
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
		if (file_queue_handle(job) == NULL)
			return;
		work_file(job);
		break;
	case JOB_PROCESS_START:
		work_process_start(job);
		return;
	case JOB_PROCESS_SIGNAL:
		work_process_signal(job);
		return;
	case JOB_PROCESS_CHECK:
		work_process_check(job);
		return;
	case JOB_PROCESS_CLOSE:
		work_process_close(job);
		return;
	case JOB_PROCESS_END:
		if (file_queue_handle(job) == NULL)
			return;
		work_process_end(job);
		break;
	case JOB_WATCH_OPEN:
	case JOB_WATCH_READ:
		work_watch(job);
		return;
	case JOB_PORT_LIST:
	case JOB_PORT_CONNECT:
		work_port(job);
		if (session->file_queue.handle == NULL)
			return;
		break;
	case JOB_KEEP:
		(void)reckon_workspace_keep(session->handle, job->is_thorough, &job->error);
		break;
	}
	(void)reckon_workspace_take(handle_of(job), &job->changes, &ignored);
	state = reckon_session_check(handle_of(job), &job->why_lost);
	job->is_lost = state == RECKON_ELOST;
	job->is_kernel_lost = state == RECKON_EKERNEL_LOST;
}

void work_run(struct pool_item *item)
{
	struct job *job = (struct job *)(void *)item;
	job->begun_ns = clock_mono_ns();
	run(job);
	job->ended_ns = clock_mono_ns();
}
