/*
 * work.c - opens and closes a session's box and its kernels, in a thread of the pool.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its session.
 * Never:    touches anything else of reckond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/files/file_mounts.h"
#include "host/host.h"
#include "host/sessions/folders.h"
#include "host/sessions/restart/box_lease.h"

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

/* Closes the engine if the session cannot be opened, because only sessions have one. */
static int open_with(struct session *session, const reckon_session_options *options,
		     reckon_error *error)
{
	const int code = reckon_session_open(session->box.engine, options, &session->box.handle, error);

	if (code < 0) {
		reckon_engine_close(session->box.engine);
		session->box.engine = NULL;
	}
	return code;
}

/* For a session that is opened for the first time. */
static int make_lent(struct job *job)
{
	struct err err;

	if (job->box.mounts == NULL || file_mounts_make(job->session, job->box.mounts, &err) == 0)
		return 0;
	file_mounts_remove(job->session);
	job->error.code = err.code == ERR_INVALID ? RECKON_EINVALID : RECKON_ESYSTEM;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", err.text);
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s", err.remedy);
	return -1;
}

reckon_session_options work_options(const struct job *job)
{
	const struct session *session = job->session;
	const struct front_limits *limits = &session->limits;

	return (reckon_session_options){
		.size = sizeof(reckon_session_options),
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
		.env = (const char *const *)job->box.env_list,
		.flags = RECKON_SESSION_CONCURRENT | RECKON_SESSION_KEEP |
			 (session->host->config.durability != 0 ? RECKON_SESSION_KEEP_RELAXED : 0) |
			 flags_of(session->row.policy),
		.session_id = session->row.id[0] != '\0' ? session->row.id : NULL,
		.lost_why =
			session->persisted.lost_why[0] != '\0' ? session->persisted.lost_why : NULL,
		.lost_variables = session->persisted.variables,
		.sequence = session->box.parked_sequence,
		/* A private daemon has one user, so processor time needs no fair sharing. */
		.group = session->host->config.is_private ? NULL : session->row.tenant,
		.group_weight = job->box.share.weight,
		.group_cpu_percent = job->box.share.percent,
	};
}

static void open_box(struct job *job)
{
	struct session *session = job->session;
	const bool has_mounts = session->row.file_mounts[0] != '\0';
	char source[96];
	cleanup_folders struct folders_open folders = FOLDERS_NONE;
	struct volume_sources volumes;
	reckon_session_options options = work_options(job);

	if (!folders_open(job, &folders))
		return;
	options.mounts = folders.mounts;
	options.mount_count = folders.count;
	file_mounts_source(session, source);
	if (has_mounts)
		folders.mounts[options.mount_count++] =
			(reckon_mount){ .source = source, .target = FILE_MOUNTS_TARGET };
	if (!volume_mounts_open(job, &volumes, folders.mounts, &options.mount_count))
		return;
	/* The prewarmed engine's warden may have ended meanwhile: then tries with a new engine. */
	if (session->box.engine != NULL && open_with(session, &options, &job->error) != RECKON_ELOST)
		return;
	if (work_engine(session->host, &session->box.engine, &job->error) < 0 ||
	    open_with(session, &options, &job->error) != RECKON_ELOST)
		return;
	/*
	 * Not ELOST: a new session has nothing to lose, and the state of a parked one is still
	 * stored.
	 */
	job->error.code = RECKON_EUNAVAILABLE;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s",
		       "the session could not be opened: the warden closed the connection, or this "
		       "daemon has "
		       "too few descriptors");
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s",
		       "try again; its log says why");
}

/* Fills the workspace with the files of a snapshot. */
static void fill_box(struct job *job)
{
	struct session *session = job->session;

	if (reckon_workspace_restore(session->box.handle, job->box.manifest, &job->error) == RECKON_OK)
		return;
	reckon_session_close(session->box.handle);
	reckon_engine_close(session->box.engine);
	session->box.handle = NULL;
	session->box.engine = NULL;
	if (job->error.code != RECKON_ELOST)
		return;
	/* The session is new: only the snapshot has lost something. */
	job->error.code = RECKON_EUNAVAILABLE;
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s",
		       "put it back from a backup: reckon restore");
}

void work_open(struct job *job)
{
	if (make_lent(job) < 0)
		return;
	open_box(job);
	if (job->session->box.handle != NULL && job->kind == JOB_OPEN && job->box.manifest != NULL)
		fill_box(job);
	if (job->session->box.handle == NULL && job->box.mounts != NULL)
		file_mounts_remove(job->session);
}

static void close_context(struct context *context)
{
	reckon_session_close(context->handle);
	context->handle = NULL;
}

void work_context_open(struct job *job)
{
	struct context *context = job->context;
	const struct db_context *row = &context->row;
	const reckon_context_options options = {
		.size = sizeof(options),
		.language = row->language,
		.template_name =
			row->template_name[0] != '\0' ? row->template_name : NULL,
		.cwd = row->cwd,
		.env = (const char *const *)job->box.env_list,
		.context_id = row->id[0] != '\0' ? row->id : NULL,
		.lost_why = row->lost_why[0] != '\0' ? row->lost_why : NULL,
		.lost_variables = row->variables,
	};
	unsigned char key[RECKON_LEASE_SIZE];

	close_context(context); /* left from a box that is gone */
	if (job->how == JOB_HOW_ADOPTS) {
		box_lease_key(job->session, row->id, key);
		(void)reckon_context_adopt(job->session->box.handle, &options, key, &context->handle,
					   &job->error);
		explicit_bzero(key, sizeof(key));
	} else {
		(void)reckon_context_open(job->session->box.handle, &options, &context->handle,
					  &job->error);
	}
	box_lease(job);
}

void work_context_close(struct job *job)
{
	if (job->how == JOB_HOW_HANDS_OVER) {
		reckon_session_hand_over(job->context->handle);
		job->context->handle = NULL;
	}
	close_context(job->context);
}

void work_close(struct job *job)
{
	struct session *session = job->session;

	reckon_session_close(session->file_queue.handle);
	if (job->how == JOB_HOW_HANDS_OVER)
		reckon_session_hand_over(session->box.handle);
	else
		reckon_session_close(session->box.handle);
	reckon_engine_close(session->box.engine);
	session->file_queue.handle = session->box.handle = NULL;
	session->box.engine = NULL;
	/* The next daemon continues with a leaving session, and needs them. */
	if (!life_is_leaving(session->life))
		file_mounts_remove(session);
}

void work_share(struct job *job)
{
	reckon_engine *engine;

	if (work_engine(job->host, &engine, &job->error) < 0)
		return;
	(void)reckon_group_set(engine, job->path, job->box.share.weight, job->box.share.percent,
			       &job->error);
	reckon_engine_close(engine);
}
