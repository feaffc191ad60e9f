/*
 * jobs.c - the functions for each kind of job: in its thread, and when it has returned.
 *
 * Runs in:  reckond's loop; `work` in a thread of the pool.
 * Reads:    nothing.
 */
#include "host/jobs.h"

#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/files/stored.h"
#include "host/files/watch.h"
#include "host/host.h"
#include "host/processes/port_work.h"
#include "host/sessions/restart/adopt.h"
#include "host/sessions/prewarmed.h"
#include "host/sessions/restart/restore.h"
#include "host/volumes/work.h"

/* clang-format off */
const struct job_type job_types[JOB_KINDS] = {
	/* ---- the box ---- */
	[JOB_OPEN] = { .work = once_work_open, .done = session_job_opened },
	[JOB_CLOSE] = { .work = work_close, .done = session_job_closed },
	[JOB_RESTORE] = { .work = restore_work, .done = restore_done },
	[JOB_ADOPT] = { .work = adopt_work, .done = adopt_done },
	[JOB_CONTEXT_OPEN] = { .work = work_context_open, .done = session_job_answered,
			       .action = "context.create" },
	[JOB_CONTEXT_CLOSE] = { .work = work_context_close, .done = session_job_answered,
				.action = "context.delete" },
	/* ---- its kernels ---- */
	[JOB_EXECUTE] = { .work = work_execute, .looks = true, .done = session_job_answered },
	[JOB_RESTART] = { .work = work_restart, .looks = true, .done = session_job_answered,
			  .action = "kernel.restart" },
	[JOB_PAUSE] = { .work = pause_work, .looks = true, .done = pause_job_done },
	[JOB_RESUME] = { .work = pause_work, .looks = true, .done = pause_job_done },
	[JOB_KEEP] = { .work = work_keep, .looks = true, .done = session_job_answered },
#define QUESTION                                                                                   \
	{ .work = work_ask, .looks = true, .done = session_job_answered,                           \
	  .answer = kernel_answer_job, .is_reading = true }
	[JOB_VARIABLES] = QUESTION,
	[JOB_COMPLETE] = QUESTION,
	[JOB_INSPECT] = QUESTION,
	[JOB_IS_COMPLETE] = QUESTION,
#undef QUESTION
	/* ---- files ---- */
#define FILES(reads, name)                                                                         \
	{ .work = work_file, .looks = true, .done = file_queue_job_done,                           \
	  .answer = files_answer_job, .is_reading = (reads), .action = (name) }
	[JOB_FILE_LIST] = FILES(true, NULL),
	[JOB_FILE_GET] = FILES(true, "file.get"),
	[JOB_FILE_PUT] = FILES(false, "file.put"),
	[JOB_FILE_DELETE] = FILES(false, "file.delete"),
	[JOB_FILE_MOVE] = FILES(false, "file.move"),
	[JOB_FILE_MKDIR] = FILES(false, "file.mkdir"),
	[JOB_ARCHIVE_GET] = FILES(true, "archive.get"),
	[JOB_ARCHIVE_PUT] = FILES(false, "archive.put"),
#undef FILES
	[JOB_WATCH_OPEN] = { .work = work_watch, .done = file_queue_job_done,
			     .dropped = watch_job_dropped },
	[JOB_WATCH_READ] = { .work = work_watch, .done = file_queue_job_done,
			     .dropped = watch_job_dropped },
	/* ---- ports ---- */
	[JOB_PORT_LIST] = { .work = work_port, .looks = true, .done = file_queue_job_done,
			    .answer = port_answer_job, .is_reading = true },
	[JOB_PORT_CONNECT] = { .work = work_port, .looks = true, .done = file_queue_job_done,
			       .answer = port_answer_job, .action = "port.connect" },
	/* ---- processes ---- */
	[JOB_PROCESS_START] = { .work = work_process_start, .done = process_job_done },
	[JOB_PROCESS_SIGNAL] = { .work = work_process_signal, .done = process_job_done },
	[JOB_PROCESS_CHECK] = { .work = work_process_check, .done = process_job_done },
	[JOB_PROCESS_CLOSE] = { .work = work_process_close, .done = process_job_done },
	[JOB_PROCESS_END] = { .work = work_process_end, .looks = true,
			      .begin = process_take_ended, .done = file_queue_job_done },
	/* ---- without a session ---- */
	[JOB_PROBE] = { .work = work_probe, .done = readiness_done },
	[JOB_SHARE] = { .work = work_share, .done = tenant_share_done },
	[JOB_SPARE] = { .work = prewarmed_work, .done = prewarmed_done },
	[JOB_STORE] = { .work = stored_work, .done = stored_done },
	[JOB_VOLUME] = { .work = volume_work, .done = volume_done },
};
/* clang-format on */
