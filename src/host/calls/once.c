/*
 * once.c - runs code in a session of its own, in one request; the session then ends, or stays.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    leaves a session that no client knows.
 *
 *   a request --session opened--> its code runs --ended--> the record is answered, the session ends
 *
 * If possible, one thread opens the session and runs the code, and the loop handles two results.
 *
 * Only the request's client waits. If it disconnects, the code is interrupted, and the session ends
 * all the same; so it does when the daemon stops, and after a crash. The store and the history have
 * its results. A session that is to stay (`keep`) becomes an ordinary one when its record is
 * stored: nobody has its id before that.
 *
 * With events (`stream`) the request is answered before the code runs, and the session stays until
 * a client has read them to the end, or no client reads any more.
 *
 * With an Idempotency-Key, which belongs to the tenant, the client may repeat the request: the code
 * continues without it, and its row is synced before it runs (executions/row_before_run.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/image.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "host/executions/asking.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/host.h"
#include "host/sessions/once.h"
#include "host/idempotency.h"
#include "host/tenants/quota.h"


static const char has_ended[] = "its only execution has ended";

/* ---- repeated requests ---------------------------------------------------------------------- */

/*
 * Hashes what must be equal in two requests with one key: all fields except the expiry, which
 * depends on the time of the request, and `stream`.
 */
static int hash_request(const struct host *host, const struct api_execute_once_in *in,
			unsigned char ret[32], struct err *err)
{
	cleanup_buf struct buf image = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct api_execute_once_in same = *in;

	same.idempotency_key = NULL;
	same.has_expires_in_ms = same.has_expires_at_ms = false;
	same.has_stream = same.stream = false;
	if (api_image_write(&api_type_execute_once_in, &same, &image, err) < 0)
		return (int)err->code;
	key_hash(host, image.data, image.len, ret);
	return 0;
}

/* The client will ask for the events next. */
static void reply_begun(struct host *host, uint64_t request, const struct api_execution *begun)
{
	reply_execute_once(host, request, &(struct api_execute_once_out){ .execution = begun });
}

static void answer_again(struct host *host, const struct request *req,
			 const struct db_execution *row)
{
	const struct api_execute_once_in *in = req->in;
	struct session *session = session_find(host, req->tenant, row->session);
	struct execution *live = session != NULL ? execution_find(session, row->id) : NULL;

	if (in->stream)
		reply_begun(host, req->id,
			    &(struct api_execution){ .id = row->id,
						     .session = row->session,
						     .sequence = row->sequence,
						     .status = row->status,
						     .created_at = row->created_at });
	else if (row->record.len > 0)
		reply_execute_once(host, req->id,
				   &(struct api_execute_once_out){
					   .record = { row->record.data, row->record.len } });
	else if (live != NULL && live->state != EXECUTION_FINISHED)
		execution_wait(live, req);
	else
		front_fail(host, req->id, API_ERR_EXECUTION_LOST,
			  "the code of this Idempotency-Key began, and there is no record of it",
			  row->why[0] != '\0' ? row->why : "it could not be kept",
			  "use a new key to run it again", 0);
}

static const struct session *find_opening(const struct host *host, const struct request *req,
					  const char *key)
{
	const struct session *at = host->sessions.first;

	while (at != NULL && (at->tenant != req->tenant || at->life != SESSION_OPENING ||
			      at->alone.once == NULL || strcmp(at->alone.once->key, key) != 0))
		at = at->next;
	return at;
}

/* Whether this key was used before; then the request is answered. */
static bool is_repeated(struct host *host, const struct request *req, const struct once *once)
{
	const struct session *opening = find_opening(host, req, once->key);
	struct db_execution row;
	struct err err;
	int found;

	if (opening != NULL) {
		if (idempotency_check(host, req, opening->alone.once->hash, once->hash))
			front_fail(
				host, req->id, API_ERR_UNAVAILABLE,
				"the session for the code of this Idempotency-Key is being opened",
				"", "ask again", 1);
		return true;
	}
	found = db_execution_by_tenant_key(host->db, req->tenant->row.id, once->key, &row, &err);
	if (found < 0)
		front_fail_err(host, req->id, &err);
	if (found == 1 && idempotency_check(host, req, row.request_hash, once->hash))
		answer_again(host, req, &row);
	if (found == 1)
		db_execution_done(&row);
	return found != 0;
}

/* ---- new requests --------------------------------------------------------------------------- */

/* Whether the request is new; otherwise, or on an error, it is answered. */
static bool is_new(struct host *host, const struct request *req,
		   const struct api_execute_once_in *in, struct once *ret)
{
	struct err err;

	if (in->idempotency_key == NULL)
		return true;
	(void)snprintf(ret->key, sizeof(ret->key), "%s", in->idempotency_key);
	if (hash_request(host, in, ret->hash, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return false;
	}
	return !is_repeated(host, req, ret);
}

/* Questions are events, so a client that waits for the record cannot answer any. */
static bool may_ask(struct host *host, const struct request *req,
		    const struct api_execute_once_in *in)
{
	if (!in->stream && (in->allow_input || in->tools.count > 0)) {
		front_fail(host, req->id, API_ERR_INVALID,
			   "allow_input and tools: questions are events", "",
			   "ask with stream: true", 0);
		return false;
	}
	return asking_is_good(host, req, &in->tools);
}

/* ---- files before its code ------------------------------------------------------------------ */

static int put_content(struct job *job, const struct api_bytes *content, struct err *err)
{
	job->fd = memfd_create("reckon-file", MFD_CLOEXEC);
	if (job->fd < 0)
		return err_sys(err, "make a file");
	if (fd_write_full(job->fd, content->data, content->len, err) < 0)
		return (int)err->code;
	return lseek(job->fd, 0, SEEK_SET) < 0 ? err_sys(err, "make a file") : 0;
}

/* A job that writes one file, still without a session; NULL: answered with an error. */
static struct job *job_of_file(struct host *host, const struct request *req,
			       const struct api_once_file *file)
{
	const struct api_bytes *content = file->text.data != NULL ? &file->text : &file->base64;
	const struct api_import copy = { .file = file->file, .path = file->path };
	const struct api_list one = { .items = &copy, .count = 1 };
	struct file_mount *mounts = NULL; /* stays empty, because the path asks for a copy */
	struct job *job = NULL;
	struct err err;

	if (!fs_path_is_safe(file->path) || (file->file == NULL && content->data == NULL)) {
		front_fail(host, req->id, API_ERR_INVALID,
			   content->data == NULL && file->file == NULL
				   ? "files: one has neither text nor base64 nor file"
				   : "files: a path leads out of the workspace", "", "", 0);
		return NULL;
	}
	if (file->file != NULL)
		return stored_imports(host, req, &one, NULL, &job, &mounts) ? job : NULL;
	job = job_new(NULL, JOB_FILE_PUT, req->id);
	job->path = mem_strdup(file->path);
	if (put_content(job, content, &err) == 0)
		return job;
	front_fail_err(host, req->id, &err);
	job_free(job);
	return NULL;
}

/* False: answered with an error. */
static bool take_files(struct host *host, const struct request *req, const struct api_list *files,
		       struct job **last)
{
	const struct api_once_file *file = files->items;

	for (size_t i = 0; i < files->count; i++, file++) {
		*last = job_of_file(host, req, file);
		if (*last == NULL)
			return false;
		last = &(*last)->next;
	}
	return true;
}

static void put_files(struct job *opened)
{
	struct session *session = opened->session;

	for (const struct job *put = opened->box.imports; put != NULL; put = put->next) {
		if (reckon_file_put(session->box.handle, put->path, put->fd, &opened->error) ==
		    RECKON_OK)
			continue;
		reckon_session_close(session->box.handle);
		session->box.handle = NULL;
		return;
	}
}

void once_work_open(struct job *job)
{
	struct session *session = job->session;

	work_open(job);
	if (session->box.handle != NULL && job->how == JOB_HOW_ONCE)
		put_files(job);
	if (session->box.handle == NULL)
		job->item.then = NULL;
}

/* ---- the request ---------------------------------------------------------------------------- */

/* The job that runs the code, with its limits; NULL: see `err`. */
static struct job *job_of_code(struct session *session, const struct job *opened, struct err *err)
{
	struct once *once = session->alone.once;
	const char *key = once != NULL && once->key[0] != '\0' ? once->key : NULL;
	struct db_execution row = { 0 };
	struct execution *execution;
	struct job *job;

	if (once != NULL && key != NULL) {
		memcpy(row.request_hash, once->hash, sizeof(row.request_hash));
		memcpy(row.key_tenant, session->row.tenant, sizeof(row.key_tenant));
	}
	execution =
		execution_begin(session, &row, key, buf_text(&opened->code), opened->code.len, err);
	if (execution == NULL)
		return NULL;
	if (once != NULL) {
		execution->asking = TAKE_PTR(once->asking);
		if (row_before_run_write(execution, err) < 0) {
			execution_free(execution);
			return NULL;
		}
	}
	job = execution_job(execution);
	job->timeout_ms = opened->timeout_ms;
	job->text_bytes = opened->text_bytes;
	return job;
}

/* Lets the thread that opens the session also run the code, if possible. */
static void ready(struct session *session, struct job *opened)
{
	struct err ignored; /* tried again when the session is open */

	/*
	 * Code with a key or events must wait until its row is synced, which needs the session's
	 * row.
	 */
	if (opened->how != JOB_HOW_ONCE || !session->transactions.is_early ||
	    session->alone.once != NULL)
		return;
	opened->box.then = job_of_code(session, opened, &ignored);
	if (opened->box.then == NULL)
		return;
	job_arm(opened->box.then);
	opened->item.then = &opened->box.then->item;
}

void handle_execute_once(struct host *host, const struct request *req,
			 const struct api_execute_once_in *in)
{
	struct session_params params = SESSION_PARAMS_OF(in);
	struct once once = { 0 };
	struct job *files = NULL, *job;
	struct session *session;
	struct err err;
	bool has_files;

	if ((in->keep && !answer_check_scope(host, req, FRONT_SCOPE_SESSIONS)) ||
	    !may_ask(host, req, in))
		return;
	if (!is_new(host, req, in, &once) || !SESSION_ENDS(host, req, in, &params.ends_ms) ||
	    !quota_execution(host, req, NULL, in->timeout_ms))
		return;
	has_files = take_files(host, req, &in->files, &files);
	session = has_files ? answer_session_add(host, req, &params) : NULL;
	job = job_new(session, JOB_OPEN, req->id);
	job->box.imports = files;
	if (session == NULL) {
		job_free(job);
		return;
	}
	session->alone.is_streamed = in->stream;
	err_clear(&err);
	if (in->idempotency_key != NULL || in->stream) {
		session->alone.once = mem_new0(1, sizeof(once));
		*session->alone.once = once;
		(void)asking_once(session, in, &session->alone.once->asking, &err);
	}
	session->row.policy |= DB_POLICY_ONCE;
	session->alone.is_to_stay = in->keep;
	job->how = JOB_HOW_ONCE;
	job->timeout_ms = in->timeout_ms;
	job->text_bytes = in->max_text;
	if (err.code == ERR_OK && in->code.len > 0)
		(void)buf_add(&job->code, in->code.data, in->code.len, &err);
	if (err.code != ERR_OK)
		answer_open_failed(session, job, &err);
	else if (answer_session_prepare(host, &params, session, job)) {
		ready(session, job);
		answer_session_open(session, job);
	}
}

void once_opened(struct session *session, const struct job *opened)
{
	const struct request req = { .id = opened->request,
				     .call = &api_calls[API_EXECUTE_ONCE],
				     .tenant = session->tenant };
	struct host *host = session->host;
	struct job *job = opened->box.then;
	struct err err;

	/* Other executions may have begun meanwhile. */
	if (job == NULL && quota_execution(host, &req, session, opened->timeout_ms)) {
		job = job_of_code(session, opened, &err);
		if (job == NULL)
			front_fail_err(host, opened->request, &err);
	}
	if (job == NULL) {
		session_end(session, API_ERR_SESSION_CLOSED, "its code was not run", 0);
		return;
	}
	if (session->alone.once == NULL || session->alone.once->key[0] == '\0')
		job->execution->lease = lease_new(0, opened->request);
	once_free(TAKE_PTR(session->alone.once));
	if (!session->alone.is_streamed)
		execution_wait(job->execution, &req);
	if (opened->box.then == NULL)
		session_enqueue(session, job);
	if (session->alone.is_streamed)
		reply_begun(host, opened->request,
			    &(struct api_execution){ .id = job->execution->id,
						     .session = session->row.id,
						     .sequence = session->executions.sequence,
						     .status = "queued",
						     .created_at = session->row.created_at });
}

void once_end(void *arg)
{
	struct host *host = arg;
	struct session *session;
	bool is_own, is_joined;
	size_t count = 0;
	struct err err;

	if (host->sessions.over == NULL)
		return;
	/*
	 * Uses one sync for all of them. If there is no transaction, each session handles that
	 * itself.
	 */
	is_joined = transaction_join(host, &is_own, &err) == 0;
	while ((session = host->sessions.over) != NULL) {
		host->sessions.over = session->alone.next_over;
		session_end(session, API_ERR_SESSION_CLOSED, has_ended, 0);
		count++;
	}
	if (is_joined)
		transaction_leave(host, is_own, count);
}
