/*
 * session.c - a session's life: opening, its queue of jobs, expiry, its end.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    runs two jobs of one kernel at once, or answers for a session that lost its state.
 *
 *   OPENING --opened--> LIVE --DELETE, expiry, lost kernel--> CLOSING --closed--> (a row)
 *
 * A live session may be parked: it has no box, since the daemon was started again, and gets one
 * with the first job that needs it (restore.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/quota.h"
#include "host/usage.h"

#define LOOK_AFTER_NS (5ull * 1000000000u)

/* Ids end in random characters: any sum of them spreads well. */
static struct session **bucket_of(struct host *host, const char *id)
{
	uint32_t sum = 2166136261u;

	for (; *id != '\0'; id++)
		sum = (sum ^ (unsigned char)*id) * 16777619u;
	return &host->session_buckets[sum % HOST_BUCKETS];
}

struct session *session_by_id(struct host *host, const char *id)
{
	struct session *at = *bucket_of(host, id);

	while (at != NULL && strcmp(at->row.id, id) != 0)
		at = at->chain;
	return at;
}

struct session *session_find(struct host *host, const struct tenant *tenant, const char *id)
{
	struct session *session = session_by_id(host, id);

	return session != NULL && session->tenant == tenant ? session : NULL;
}

void session_index(struct session *session)
{
	struct session **bucket = bucket_of(session->host, session->row.id);

	session->chain = *bucket;
	*bucket = session;
}

static void unindex(struct session *session)
{
	struct session **at = bucket_of(session->host, session->row.id);

	while (*at != NULL && *at != session)
		at = &(*at)->chain;
	if (*at != NULL)
		*at = session->chain;
}

void session_measured(struct session *session, uint64_t memory, uint64_t workspace)
{
	struct tenant *tenant = session->tenant;

	tenant->memory_used += memory - session->memory_used;
	session->host->memory_used += memory - session->memory_used;
	tenant->workspaces += workspace - session->workspace;
	session->memory_used = memory;
	session->workspace = workspace;
}

struct session *session_named(struct host *host, const struct tenant *tenant, const char *name)
{
	for (struct session *at = host->sessions; at != NULL; at = at->next)
		if (at->tenant == tenant && at->phase != SESSION_CLOSING &&
		    strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

struct job *job_new(struct session *session, enum job_kind kind, uint64_t request)
{
	struct job *job = mem_new0(1, sizeof(*job));

	job->session = session;
	if (session != NULL)
		answer_note(session->host, job);
	job->kind = kind;
	job->request = request;
	job->fd = job->ret_fd = -1;
	file_work_init(&job->files);
	job->code = BUF_INIT(FRONT_CODE_MAX);
	job->env = BUF_INIT((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX);
	return job;
}

void job_free(struct job *job)
{
	if (job->fd >= 0)
		(void)close(job->fd);
	if (job->ret_fd >= 0)
		(void)close(job->ret_fd);
	buf_done(&job->code);
	buf_done(&job->env);
	free(job->env_list);
	free(job->path);
	file_work_done(&job->files);
	free(job->json);
	reckon_workspace_free(job->manifest);
	reckon_workspace_free(job->changes);
	free(job->objects);
	job_told_free(job->told);
	free(job);
}

struct session *session_add(struct host *host, struct tenant *tenant,
			    const struct front_limits *limits)
{
	struct session *session = mem_new0(1, sizeof(*session));

	session->host = host;
	session->tenant = tenant;
	session->opened_ns = clock_mono_ns();
	session->limits = session->row.limits = *limits;
	tenant->sessions++;
	tenant->memory_limits += quota_memory_of(limits);
	memcpy(session->row.tenant, tenant->row.id, sizeof(session->row.tenant));
	session->next = host->sessions;
	host->sessions = session;
	host->session_count++;
	(void)snprintf(session->row.state, sizeof(session->row.state), "live");
	db_kept_init(&session->kept);
	return session;
}

void session_forget(struct session *session)
{
	struct host *host = session->host;

	for (struct session **at = &host->sessions; *at != NULL; at = &(*at)->next)
		if (*at == session) {
			*at = session->next;
			break;
		}
	host->session_count--;
	unindex(session);
	keep_leave_turn(session);
	session_measured(session, 0, 0);
	inquiry_session_gone(session);
	session->tenant->sessions--;
	session->tenant->memory_limits -= quota_memory_of(&session->limits);
	if (session->row.id[0] != '\0')
		quota_note_lifetime(host, (clock_mono_ns() - session->opened_ns) / 1000000u);
	while (session->executions != NULL)
		execution_free(session->executions);
	free(session->observed);
	db_session_done(&session->row);
	db_kept_done(&session->kept);
	free(session);
	/* The last one to go ends a daemon that is stopping. */
	if (host->is_stopping && host->sessions == NULL)
		loop_stop(host->loop);
}

void session_pump(struct session *session)
{
	struct job *job = session->first;

	if (session->running != NULL || job == NULL)
		return;
	/* They use the handle that goes. */
	if (job->kind == JOB_CLOSE &&
	    (session->opening_contexts > 0 || session->beside.running != NULL))
		return;
	if (session->is_parked && job->kind != JOB_CLOSE) {
		restore_want(session);
		return;
	}
	session->first = job->next;
	if (session->first == NULL)
		session->last = NULL;
	session->queued--;
	session->running = job;
	/* What PATCH may have changed since the box was made. */
	if (job->timeout_ms == 0)
		job->timeout_ms = session->limits.wall_ms;
	job->output_bytes = session->limits.output_bytes;
	job->forgets = session->forgets;
	session->forgets = false;
	if (job->execution != NULL) {
		job->execution->state = EXECUTION_RUNNING;
		session->tenant->started++;
	}
	job->submitted_ns = clock_mono_ns();
	pool_submit_to(session->host->pool, session->tenant->lane, &job->item);
}

void session_enqueue(struct session *session, struct job *job)
{
	job->next = NULL;
	job->queued_ns = clock_mono_ns();
	if (session->last != NULL)
		session->last->next = job;
	else
		session->first = job;
	session->last = job;
	session->queued++;
	session_pump(session);
}

void job_fail(struct job *job, enum front_error error, const char *why)
{
	if (job->execution != NULL && error == FRONT_ERR_UNAVAILABLE)
		execution_release_key(job->execution);
	if (job->execution != NULL)
		execution_fail(job->execution, error, why);
	else
		peer_fail(job->session->host, job->request, error, why, "", "", 0);
	if (job->inquiry != NULL)
		inquiry_job_failed(job->inquiry, error, why);
	job_free(job);
}

void session_fail_waiting(struct session *session, enum front_error end, const char *why)
{
	struct job *next;

	for (struct job *job = session->first; job != NULL; job = next) {
		next = job->next;
		job_fail(job, end, why);
	}
	session->first = session->last = NULL;
	session->queued = 0;
}

void session_fail_executions(struct session *session, enum front_error end, const char *why)
{
	struct job *first = session->first, *next;

	session->first = session->last = NULL;
	session->queued = 0;
	for (struct job *job = first; job != NULL; job = next) {
		next = job->next;
		if (job->execution != NULL || job->kind == JOB_VARIABLES ||
		    job->kind == JOB_COMPLETE || job->kind == JOB_INSPECT)
			job_fail(job, end, why);
		else
			session_enqueue(session, job);
	}
}

static const char *state_of(enum front_error end)
{
	if (end == FRONT_ERR_SESSION_CLOSED)
		return "closed";
	return end == FRONT_ERR_SESSION_EXPIRED ? "expired" : "lost";
}

static int commit_end(struct session *session, const char *state, const char *why, struct err *err)
{
	struct host *host = session->host;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_session_end(host->db, session->row.id, state, why, err);
	if (code >= 0)
		code = db_kept_drop(host->db, session->row.id, err);
	if (code >= 0)
		code = audit_add(host, "session.end", session->row.id, state, err, "%s", why);
	return audit_end(host, code, err);
}

static int commit_start(struct session *session, struct err *err)
{
	struct host *host = session->host;
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_session_add(host->db, &session->row, err);
	if (code >= 0)
		code = keep_add(session, err);
	if (code >= 0 && session->name[0] != '\0')
		code = db_name_add(host->db, session->row.id, session->name, err);
	if (code >= 0)
		code = audit_add(host, "session.create", session->row.id, "ok", err,
				 "template=%s language=%s", session->row.template_name,
				 session->row.language);
	return audit_end(host, code, err);
}

static void interrupt(struct session *session)
{
	if (session->running == NULL || session->running->execution == NULL)
		return;
	session->running->execution->wants_stop = true;
	reckon_interrupt(session->handle);
}

void session_end(struct session *session, enum front_error end, const char *why,
		 uint64_t request)
{
	struct err err;

	if (session->phase == SESSION_CLOSING)
		return;
	session->phase = SESSION_CLOSING;
	session->end = end;
	metrics_add(&session->host->seen.metrics, METRICS_ENDS,
		    metrics_counter_label(METRICS_ENDS, state_of(end)), 1);
	(void)snprintf(session->row.why, sizeof(session->row.why), "%s", why);
	if (session->row.id[0] != '\0' &&
	    (commit_end(session, state_of(end), why, &err) < 0 ||
	     keep_sync(session->host, &err) < 0))
		log_line(LOG_ERROR, "the end of a session could not be kept",
			 "session=%s why=\"%s\"", session->row.id, err.text);
	log_line(LOG_INFO, "session ended", "session=%s state=%s why=\"%s\"", session->row.id,
		 state_of(end), why);
	inquiry_session_ends(session, why);
	session_fail_waiting(session, end, why);
	beside_fail_waiting(session, end, why);
	context_end_all(session, end, why);
	interrupt(session);
	session_enqueue(session, job_new(session, JOB_CLOSE, request));
}

void session_leave(struct session *session)
{
	struct job *look;

	if (session->phase == SESSION_CLOSING)
		return;
	session_fail_waiting(session, FRONT_ERR_UNAVAILABLE, "the daemon is stopping");
	beside_fail_waiting(session, FRONT_ERR_UNAVAILABLE, "the daemon is stopping");
	context_end_all(session, FRONT_ERR_UNAVAILABLE, "the daemon is stopping");
	interrupt(session);
	/* The last look, at every byte. */
	look = job_new(session, JOB_KEEP, 0);
	look->is_thorough = true;
	if (session->phase == SESSION_LIVE && !session->is_parked && session->ran_since)
		session_enqueue(session, look);
	else
		job_free(look);
	session->phase = SESSION_CLOSING;
	session->end = FRONT_ERR_UNAVAILABLE;
	session->is_leaving = true;
	(void)snprintf(session->row.why, sizeof(session->row.why), "the daemon is stopping");
	session_enqueue(session, job_new(session, JOB_CLOSE, 0));
}

/* Whether somebody is there to whom the session is of use. */
static bool is_wanted(const struct host *host, const struct job *job)
{
	if (job->inquiry != NULL)
		return job->inquiry->state != INQUIRY_ENDED;
	return peer_is_pending(host, job->request);
}

static void opened(struct session *session, struct job *job)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct host *host = session->host;
	struct err err;

	host->opening_count -= session->is_admitted;
	session->is_admitted = false;
	if (session->phase == SESSION_CLOSING) {
		/* Its CLOSE waits in the queue already. */
		peer_fail(host, job->request, FRONT_ERR_UNAVAILABLE, session->row.why, "", "", 0);
		if (job->inquiry != NULL)
			inquiry_job_failed(job->inquiry, FRONT_ERR_UNAVAILABLE, session->row.why);
		session_pump(session);
		return;
	}
	if (session->handle == NULL) {
		/* The warden went in the middle of it. What never was cannot be lost. */
		if (job->error.code == RECKON_ELOST)
			peer_fail(host, job->request, FRONT_ERR_UNAVAILABLE,
				  "the session could not be opened: the warden hung up", "",
				  "try again; its log says why", 0);
		else
			peer_fail_reckon(host, job->request, &job->error);
		if (job->inquiry != NULL)
			inquiry_job_failed(job->inquiry,
					   job->error.code == RECKON_ENOT_FOUND
						   ? FRONT_ERR_NOT_FOUND
						   : FRONT_ERR_UNAVAILABLE, job->error.message);
		session_forget(session);
		return;
	}
	(void)snprintf(session->row.id, sizeof(session->row.id), "%s",
		       reckon_session_id(session->handle));
	session_index(session);
	clock_rfc3339_now(session->row.created_at);
	(void)snprintf(session->row.template_name, sizeof(session->row.template_name), "%s",
		       reckon_session_template(session->handle));
	session->phase = SESSION_LIVE;
	keep_use(session);
	if (commit_start(session, &err) < 0) {
		peer_fail_err(host, job->request, &err);
		session_end(session, FRONT_ERR_SESSION_LOST, err.text, 0);
	} else if (!is_wanted(host, job) || host->is_stopping) {
		/* Whoever asked for it never got its id. */
		session_end(session, FRONT_ERR_SESSION_CLOSED, "nobody waited for it any more", 0);
	} else if (answer_pack_session(host, &payload, &session->row, &err) == 0) {
		log_line(LOG_INFO, "session opened", "session=%s tenant=%s", session->row.id,
			 session->row.tenant);
		usage_add(host, session->tenant, &(struct front_usage){ .sessions = 1 });
		peer_reply(host, job->request, &payload, -1);
	}
	if (job->inquiry != NULL)
		inquiry_opened(job->inquiry);
}

/* What is not in the database, and told when it is done. */
static void audit_job(struct host *host, const struct job *job)
{
	static const char *const actions[] = {
		[JOB_FILE_PUT] = "file.put",	       [JOB_FILE_GET] = "file.get",
		[JOB_FILE_DELETE] = "file.delete",     [JOB_FILE_MOVE] = "file.move",
		[JOB_FILE_MKDIR] = "file.mkdir",       [JOB_ARCHIVE_GET] = "archive.get",
		[JOB_ARCHIVE_PUT] = "archive.put",     [JOB_RESTART] = "kernel.restart",
		[JOB_CONTEXT_OPEN] = "context.create", [JOB_CONTEXT_CLOSE] = "context.delete",
	};
	const char *action = (size_t)job->kind < ARRAY_LEN(actions) ? actions[job->kind] : NULL;

	if (action != NULL)
		audit_note(host, action, job->session->row.id,
			   job->error.code < 0 || job->files.refusal != 0 ? "failed" : "ok",
			   "%s%s%s%s", job->path != NULL ? "path=" : "",
			   job->path != NULL ? job->path : "",
			   job->files.to != NULL ? " to=" : "",
			   job->files.to != NULL ? job->files.to : "");
}

/* Until the next execution measures the workspace again, it has grown by this much. */
static void note_upload(struct session *session, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	session_measured(session, session->memory_used, session->workspace + (uint64_t)st.st_size);
	usage_add(session->host, session->tenant,
		  &(struct front_usage){ .bytes_in = (uint64_t)st.st_size });
}

static void note_transfer(struct session *session, const struct job *job)
{
	if (job->ret_fd >= 0)
		usage_add(session->host, session->tenant,
			  &(struct front_usage){ .bytes_out = job->ret_size });
	else if (job->kind == JOB_FILE_PUT || job->kind == JOB_ARCHIVE_PUT)
		note_upload(session, job->fd);
}

void session_answer_job(struct session *session, struct job *job)
{
	struct host *host = session->host;

	audit_job(host, job);
	if (job->execution != NULL) {
		session->tenant->started--;
		execution_finish(job->execution, job);
	} else if (job->files.refusal != 0) {
		peer_fail(host, job->request, job->files.refusal, job->error.message, "",
			  job->error.remedy, 0);
	} else if (job->error.code < 0) {
		peer_fail_reckon(host, job->request, &job->error);
	} else if (job->files.reply.len > 0) {
		note_transfer(session, job);
		peer_reply(host, job->request, &job->files.reply, TAKE_FD(job->ret_fd));
	} else if (job->json != NULL) {
		peer_reply_body(host, job->request, job->json, job->json_len);
	} else {
		peer_reply(host, job->request, NULL, -1);
	}
	if (job->inquiry != NULL)
		inquiry_job_done(job->inquiry, job);
}

static void job_done(struct session *session, struct job *job)
{
	struct err err;

	if (job->is_beside) {
		beside_job_done(session, job);
		return;
	}
	if (job->context != NULL) {
		keep_job_done(session, job);
		context_job_done(job);
		return;
	}
	session->running = NULL;
	observe_job(session->host, job);
	if (job->kind == JOB_RESTORE) {
		restore_done(session, job);
		return;
	}
	keep_job_done(session, job);
	if (job->kind == JOB_OPEN) {
		observe_opened(session, job);
		if (session->handle != NULL)
			tenant_share_check(session->host, job);
		opened(session, job);
		job_free(job);
		return;
	}
	if (job->kind == JOB_CLOSE) {
		if (session->end_unkept &&
		    db_session_end(session->host->db, session->row.id, state_of(session->end),
				   session->row.why, &err) < 0)
			keep_fail(session->host, &err);
		peer_reply(session->host, job->request, NULL, -1);
		job_free(job);
		session->is_closed = true;
		if (session->contexts == NULL)
			session_forget(session);
		return;
	}
	files_changed(session, job);
	session->kernel_lost = job->is_kernel_lost;
	observe_kernel(session);
	session_answer_job(session, job);
	if (job->is_lost && session->phase == SESSION_LIVE && !session->is_parked)
		restore_park(session, job->why_lost.message);
	job_free(job);
	session_pump(session);
}

/* The early one that is next, out of its list. */
static struct job *next_early(struct session *session)
{
	for (struct job **at = &session->early; *at != NULL; at = &(*at)->next)
		if ((*at)->changes->number == session->taken + 1) {
			struct job *found = *at;

			*at = found->next;
			return found;
		}
	return NULL;
}

/*
 * What changed in the workspace is committed in the order in which it was looked at: of two jobs
 * that ran at once the later look may come back first, and waits for the other's, which is on its
 * way.
 */
void session_job_done(struct session *session, struct job *job)
{
	const uint64_t number = job->changes != NULL ? job->changes->number : 0;

	if (number > session->taken + 1) {
		job->next = session->early;
		session->early = job;
		return;
	}
	if (number != 0)
		session->taken = number;
	job_done(session, job);
	/* One without a look may have been the session's last. */
	while (number != 0 && (job = next_early(session)) != NULL) {
		session->taken++;
		answer_begin(session->host, job);
		job_done(session, job);
	}
}

static void tick_one(struct session *session, uint64_t now)
{
	char why[96];

	if (session->running != NULL && session->running->execution != NULL)
		execution_nudge(session->running->execution, session->handle);
	context_tick(session);
	cancel_abandoned(session);
	if (session->phase != SESSION_LIVE)
		return;
	if (keep_expired(session, now) != NULL) {
		session_end(session, FRONT_ERR_SESSION_EXPIRED, keep_expired(session, now), 0);
		return;
	}
	if (session->running == NULL && session->first == NULL && session->ran_since &&
	    !session->is_parked && now - session->idle_since_ns >= LOOK_AFTER_NS) {
		/* What processes in the background did since the last cell. */
		session_enqueue(session, job_new(session, JOB_KEEP, 0));
		return;
	}
	if (session->running != NULL || session->first != NULL || context_is_running(session) ||
	    !beside_is_idle(session) ||
	    now - session->idle_since_ns < session->row.idle_ms * 1000000u)
		return;
	(void)snprintf(why, sizeof(why), "nobody used it for %llu s",
		       (unsigned long long)(session->row.idle_ms / 1000));
	session_end(session, FRONT_ERR_SESSION_EXPIRED, why, 0);
}

void session_tick(struct host *host)
{
	const uint64_t now = clock_boot_ms() * 1000000u;
	struct session *next;

	keep_tick(host);
	for (struct session *at = host->sessions; at != NULL; at = next) {
		next = at->next;
		tick_one(at, now);
	}
}
