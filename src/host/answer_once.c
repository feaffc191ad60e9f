/*
 * answer_once.c - code that gets a session for itself, in one request: it ends with it, or stays.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    leaves a session that nobody knows of.
 *
 *   the request --session opened--> its code runs --ended--> the record is answered, the session ends
 *
 * Where nothing speaks against it one thread does both, and the loop hears of it in two steps.
 *
 * Its client is the only one who waits: when that one goes away the code is interrupted, and the
 * session ends all the same; so it does when the daemon stops, or when it comes back after a crash.
 * What it made is in the store and the history. One that is to stay (`keep`) is the same until its
 * record is kept, which is when it becomes a session like any other: before that nobody has its id.
 *
 * With an Idempotency-Key, which is its tenant's, the client may come back: the code goes on without
 * it, and its row is on the disk, with the key, before it runs (first.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/cancel.h"
#include "host/host.h"
#include "host/quota.h"

#define OVER_MS 3u /* for the answer to be out: to end a box is work for more than one processor */

struct once_key {
	char text[FRONT_KEY_MAX + 1];
	unsigned char hash[32]; /* of all that was asked for with it */
};

static const char has_ended[] = "its only execution has ended";

bool once_is(const struct session *session)
{
	return (session->row.policy & DB_POLICY_ONCE) != 0;
}

/* ---- asked for again ------------------------------------------------------------------------ */

/* What one asking may have different from the next: who asks, and when. */
static bool is_of_the_asking(uint32_t tag)
{
	return tag == FRONT_TAG_KEY || tag == FRONT_TAG_IDEMPOTENCY || tag == FRONT_TAG_REQUEST ||
	       tag == FRONT_TAG_TRACE || tag == FRONT_TAG_ENDS_MS; /* `expires_in_s` from now */
}

/* All else makes two requests with one key the same, or not. */
static void hash_request(const struct host *host, const struct asked *asked, unsigned char ret[32])
{
	memset(ret, 0, 32);
	for (size_t i = 0; i < asked->count; i++)
		if (!is_of_the_asking(asked->items[i].tag))
			answer_hash_item(host, &asked->items[i], ret);
}

static void answer_again(struct host *host, const struct asked *asked,
			 const struct db_execution *row)
{
	struct session *session = session_find(host, asked->tenant, row->session);
	struct execution *live = session != NULL ? execution_find(session, row->id) : NULL;

	if (row->record.len > 0)
		peer_reply_body(host, asked->id, row->record.data, row->record.len);
	else if (live != NULL && live->state != EXECUTION_FINISHED)
		execution_wait(live, asked->id);
	else
		peer_fail(host, asked->id, FRONT_ERR_EXECUTION_LOST,
			  "the code of this Idempotency-Key began, and there is no record of it",
			  row->why[0] != '\0' ? row->why : "it could not be kept",
			  "use a new key to run it again", 0);
}

static const struct session *find_opening(const struct host *host, const struct asked *asked,
					  const char *key)
{
	const struct session *at = host->sessions;

	while (at != NULL && (at->tenant != asked->tenant || at->phase != SESSION_OPENING ||
			      at->once_key == NULL || strcmp(at->once_key->text, key) != 0))
		at = at->next;
	return at;
}

/* Whether there was, or is, such a request: then it is answered. */
static bool was_asked(struct host *host, const struct asked *asked, const struct once_key *key)
{
	const struct session *opening = find_opening(host, asked, key->text);
	struct db_execution row;
	struct err err;
	int found;

	if (opening != NULL) {
		if (answer_check_same(host, asked, opening->once_key->hash, key->hash))
			peer_fail(host, asked->id, FRONT_ERR_UNAVAILABLE,
				  "the session for the code of this Idempotency-Key is being opened",
				  "", "ask again", 1);
		return true;
	}
	found = db_execution_by_tenant_key(host->db, asked->tenant->row.id, key->text, &row, &err);
	if (found < 0)
		peer_fail_err(host, asked->id, &err);
	if (found == 1 && answer_check_same(host, asked, row.request_hash, key->hash))
		answer_again(host, asked, &row);
	if (found == 1)
		db_execution_done(&row);
	return found != 0;
}

/* ---- asked for ------------------------------------------------------------------------------ */

void answer_once(struct host *host, const struct asked *asked)
{
	const struct kernel_item *code = front_find(asked->items, asked->count, FRONT_TAG_CODE);
	const uint64_t timeout_ms =
		front_u64(asked->items, asked->count, FRONT_TAG_TIMEOUT_MS, 0);
	const bool is_to_stay = front_find(asked->items, asked->count, FRONT_TAG_KEEP) != NULL;
	struct once_key key;
	const bool has_key = front_text(asked->items, asked->count, FRONT_TAG_IDEMPOTENCY, key.text,
					sizeof(key.text));
	struct session *session;
	struct err err;
	struct job *job;

	if (is_to_stay && !answer_check_scope(host, asked, FRONT_SCOPE_SESSIONS))
		return;
	if (has_key)
		hash_request(host, asked, key.hash);
	if ((has_key && was_asked(host, asked, &key)) ||
	    !quota_execution(host, asked, NULL, timeout_ms))
		return;
	session = answer_session_add(host, asked);
	if (session == NULL)
		return;
	if (has_key) {
		session->once_key = mem_new0(1, sizeof(key));
		*session->once_key = key;
	}
	session->row.policy |= DB_POLICY_ONCE;
	session->is_to_stay = is_to_stay;
	job = job_new(session, JOB_OPEN, asked->id);
	job->is_once = true;
	job->timeout_ms = timeout_ms;
	job->text_bytes = front_u64(asked->items, asked->count, FRONT_TAG_TEXT_BYTES, 0);
	if (buf_add(&job->code, code->data, code->len, &err) < 0)
		answer_open_failed(session, job, &err);
	else
		answer_session_open(host, asked, session, job);
}

/* Its code, with whatever bounds it; NULL: out of identifiers or of room. */
static struct job *job_of_code(struct session *session, const struct job *opened, struct err *err)
{
	const struct once_key *key = session->once_key;
	struct db_execution row = { 0 };
	struct execution *execution;
	struct job *job;

	if (key != NULL) {
		memcpy(row.request_hash, key->hash, sizeof(row.request_hash));
		memcpy(row.key_tenant, session->row.tenant, sizeof(row.key_tenant));
	}
	execution = execution_begin(session, &row, key != NULL ? key->text : NULL,
				    buf_text(&opened->code), opened->code.len, err);
	if (execution == NULL)
		return NULL;
	if (key != NULL && first_write(execution, err) < 0) {
		execution_free(execution);
		return NULL;
	}
	job = execution_job(execution);
	job->timeout_ms = opened->timeout_ms;
	job->text_bytes = opened->text_bytes;
	return job;
}

void once_ready(struct session *session, struct job *opened)
{
	struct err ignored; /* asked for again when the session is there */

	/* What has a key waits for its row, which needs that of the session. */
	if (!opened->is_once || !session->is_early || session->once_key != NULL)
		return;
	opened->then = job_of_code(session, opened, &ignored);
	if (opened->then == NULL)
		return;
	job_arm(opened->then);
	opened->item.then = &opened->then->item;
}

void once_not_run(struct job *opened)
{
	execution_free(opened->then->execution);
	job_free(TAKE_PTR(opened->then));
}

void once_opened(struct session *session, const struct job *opened)
{
	const struct asked asked = { .id = opened->request, .tenant = session->tenant };
	struct host *host = session->host;
	struct job *job = opened->then;
	struct err err;

	/* Others may have begun meanwhile. */
	if (job == NULL && quota_execution(host, &asked, session, opened->timeout_ms)) {
		job = job_of_code(session, opened, &err);
		if (job == NULL)
			peer_fail_err(host, opened->request, &err);
	}
	if (job == NULL) {
		session_end(session, FRONT_ERR_SESSION_CLOSED, "its code was not run", 0);
		return;
	}
	if (session->once_key == NULL)
		job->execution->hold = hold_new(0, opened->request);
	free(TAKE_PTR(session->once_key));
	execution_wait(job->execution, opened->request);
	if (opened->then == NULL)
		session_enqueue(session, job);
}

void once_keep(struct session *session, const struct job *executed)
{
	struct host *host = session->host;
	struct err err;

	if (!session->is_to_stay || executed->execution == NULL || executed->json == NULL ||
	    cancel_is_abandoned(executed->execution) ||
	    (session->phase != SESSION_LIVE && !session->is_leaving))
		return;
	session->is_to_stay = false;
	session->row.policy &= ~(uint64_t)DB_POLICY_ONCE;
	session->stays_turn = host->turn;
	if (db_session_change(host->db, &session->row, &err) < 0)
		keep_fail(host, &err);
}

/* Nobody was told of it: it goes as it came (tick). */
void once_turn_failed(struct session *session, uint64_t first)
{
	if (session->stays_turn >= first)
		session->row.policy |= DB_POLICY_ONCE;
	session->stays_turn = 0;
}

/* Whoever waits for the record need not wait for the end of the session to be kept. */
void once_done(struct session *session)
{
	struct host *host = session->host;

	if (!once_is(session) || session->phase != SESSION_LIVE || session->running != NULL ||
	    session->first != NULL || session->is_over)
		return;
	session->is_over = true;
	if (host->over == NULL)
		loop_timer_set(host->over_timer, OVER_MS);
	session->next_over = host->over;
	host->over = session;
	host->leaving++;
	session->tenant->leaving++;
	session->tenant->leaving_limits += quota_memory_of(&session->limits);
}

void once_forget(struct session *session)
{
	struct session **at = &session->host->over;

	free(TAKE_PTR(session->once_key));
	if (session->is_over) {
		session->host->leaving--;
		session->tenant->leaving--;
		session->tenant->leaving_limits -= quota_memory_of(&session->limits);
	}
	while (*at != NULL && *at != session)
		at = &(*at)->next_over;
	if (*at != NULL)
		*at = session->next_over;
}

void once_end(void *arg)
{
	struct host *host = arg;
	struct session *session;
	bool is_own, is_joined;
	size_t count = 0;
	struct err err;

	if (host->over == NULL)
		return;
	/* One sync for all of them. Without a turn each sees for itself what becomes of it. */
	is_joined = keep_turn_join(host, &is_own, &err) == 0;
	while ((session = host->over) != NULL) {
		host->over = session->next_over;
		session_end(session, FRONT_ERR_SESSION_CLOSED, has_ended, 0);
		count++;
	}
	if (is_joined)
		keep_turn_leave(host, is_own, count);
}
