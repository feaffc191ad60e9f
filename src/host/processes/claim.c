/*
 * claim.c - starts a process once per Idempotency-Key, however often a client repeats the request.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database.
 * Never:    starts a program that a repeated request would start again after a crash.
 *
 * The row is synced before the program is started; until then the job waits. A process that a crash
 * interrupts is lost, and keeps its key. If a program cannot be started, its row is removed, and
 * the key may be used again.
 */
#include <string.h>

#include "api/image.h"
#include "base/cleanup.h"
#include "host/fronts/reply.h"
#include "host/fronts/conn.h"
#include "host/host.h"
#include "host/idempotency.h"
#include "host/processes/process.h"

/* ---- repeated requests ---------------------------------------------------------------------- */

/* Hashes all fields except the key and `stream`. */
static int hash_request(const struct host *host, const struct api_process_create_in *in,
			unsigned char ret[32], struct err *err)
{
	cleanup_buf struct buf image = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct api_process_create_in same = *in;

	same.idempotency_key = NULL;
	same.has_stream = same.stream = false;
	if (api_image_write(&api_type_process_create_in, &same, &image, err) < 0)
		return (int)err->code;
	key_hash(host, image.data, image.len, ret);
	return 0;
}

static const struct process *find_starting(const struct session *session, const char *key)
{
	const struct process *at = session->processes.first;

	while (at != NULL && (at->phase != PROCESS_STARTING || strcmp(at->row.key, key) != 0))
		at = at->next;
	return at;
}

static void answer_again(struct host *host, const struct request *req,
			 const struct session *session, const struct db_process *row)
{
	const struct process *live = process_find(session, row->id);
	cleanup_arena struct arena arena = { 0 };
	struct api_process reply;

	process_tell(&arena, live != NULL ? &live->row : row, false, &reply);
	reply_process_create(host, req->id, &reply);
}

bool process_answer_repeat(struct host *host, const struct request *req, struct session *session,
			   const struct api_process_create_in *in, unsigned char hash[32])
{
	const struct process *starting;
	struct db_process row;
	struct err err;
	int found;

	if (in->idempotency_key == NULL)
		return false;
	if (hash_request(host, in, hash, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return true;
	}
	starting = find_starting(session, in->idempotency_key);
	if (starting != NULL) {
		if (idempotency_check(host, req, starting->row.request_hash, hash))
			front_fail(host, req->id, API_ERR_UNAVAILABLE,
				  "the process of this Idempotency-Key is being started", "",
				  "ask again", 1);
		return true;
	}
	found = db_process_by_key(host->db, session->row.id, in->idempotency_key, &row, &err);
	if (found < 0)
		front_fail_err(host, req->id, &err);
	if (found == 1 && idempotency_check(host, req, row.request_hash, hash))
		answer_again(host, req, session, &row);
	if (found == 1)
		db_process_done(&row);
	return found != 0;
}

/* ---- the row before the start --------------------------------------------------------------- */

void process_claim(struct process *process, struct job *job)
{
	struct host *host = process->session->host;
	struct err err;
	bool is_own;

	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, job->request, &err);
		job_free(job);
		process_drop(process);
		return;
	}
	process->row.state = API_PROCESS_STATE_RUNNING;
	clock_rfc3339_now(process->row.created_at);
	process_put(process);
	process_start(process, job);
	transaction_leave(host, is_own, 0); /* if this failed, the process is freed */
}

static struct job *take_failed(struct session *session, uint64_t first)
{
	struct job **at = &session->processes.starts, *job;

	while ((job = *at) != NULL &&
	       (!process_is_held(job->process) || job->process->transaction < first))
		at = &job->next;
	if (job == NULL)
		return NULL;
	*at = job->next;
	session->processes.pending_rows_last = NULL;
	for (struct job *left = session->processes.starts; left != NULL; left = left->next)
		session->processes.pending_rows_last = left;
	return job;
}

void process_claims_failed(struct host *host, uint64_t first, const struct err *failed)
{
	struct job *job;

	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		while ((job = take_failed(session, first)) != NULL) {
			struct process *process = job->process;

			front_fail(host, job->request, front_storage_error(failed),
				   "it was not started, because that could not be kept",
				   failed->text, failed->remedy, 0);
			job_free(job);
			process_drop(process);
		}
}
