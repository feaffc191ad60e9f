/*
 * snapshot.c - calls for snapshots of sessions: create, list, show, remove.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls, manifests of sessions in the database.
 * Never:    uses an old scan of a workspace that may have changed: it scans it first.
 *
 * The store has the contents already, because the session's files are in its manifest. A snapshot
 * is a copy of the manifest, which keeps them in the store.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/calls/tenants/snapshot_held.h"
#include "host/db/tables/snapshot.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/tenants/quota.h"

#define SNAPSHOTS_MAX 100u /* per tenant */
#define LIST_DEFAULT 100u

/* ---- encode --------------------------------------------------------------------------------- */

static const char *copy(struct arena *arena, const char *text)
{
	return arena_text(arena, text, strlen(text));
}

static struct api_snapshot tell(struct arena *arena, const struct db_snapshot *row)
{
	struct api_snapshot reply = {
		.id = copy(arena, row->id),
		.name = row->name[0] != '\0' ? copy(arena, row->name) : NULL,
		.session = copy(arena, row->session),
		.created_at = copy(arena, row->created_at),
		.memory = false,
		.template = copy(arena, row->template_name),
		.language = copy(arena, row->language),
		.limits = session_tell_limits(arena, &row->limits),
		.policy = session_tell_policy(arena, row->policy),
		.files = row->files,
		.bytes = row->bytes,
	};
	struct api_not_kept *unsaved;

	if (row->unsaved_count == 0)
		return reply;
	unsaved = arena_new(arena, 1, sizeof(*unsaved));
	unsaved->count = row->unsaved_count;
	unsaved->why = copy(arena, row->unsaved_why);
	reply.files_not_kept = unsaved;
	return reply;
}

static void fail_missing(struct host *host, const struct request *req, const char *id)
{
	char message[96];

	(void)snprintf(message, sizeof(message), "there is no snapshot %.31s", id);
	front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
		   "list them: GET /reckon/v1/snapshots", 0);
}

/* False: answered with an error. */
static bool find(struct host *host, const struct request *req, const char *id,
		 struct db_snapshot *ret)
{
	struct err err;
	const int found = db_snapshot_find(host->db, req->tenant->row.id, id, ret, &err);

	if (found < 0)
		front_fail_err(host, req->id, &err);
	else if (found == 0)
		fail_missing(host, req, id);
	return found > 0;
}

/* ---- create --------------------------------------------------------------------------------- */

/* Whether the tenant may have a snapshot of this session; if not, answers the request. */
static bool has_room(struct host *host, const struct request *req, const char *session)
{
	uint64_t count, size;
	struct err err;

	if (db_snapshot_count(host->db, req->tenant->row.id, &count, &err) < 0 ||
	    db_snapshot_weigh(host->db, req->tenant->row.id, session, &size, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return false;
	}
	if (count < SNAPSHOTS_MAX)
		return quota_disk(host, req, size);
	front_fail(host, req->id, API_ERR_LIMIT, "limit reached: the tenant has 100 snapshots", "",
		   "remove one", 0);
	return false;
}

static int fill(const struct session *session, const char *name, struct db_snapshot *row,
		struct err *err)
{
	const struct db_persisted *persisted = &session->persisted;

	memcpy(row->tenant, session->row.tenant, sizeof(row->tenant));
	memcpy(row->session, session->row.id, sizeof(row->session));
	memcpy(row->template_name, session->row.template_name, sizeof(row->template_name));
	memcpy(row->language, session->row.language, sizeof(row->language));
	(void)snprintf(row->name, sizeof(row->name), "%s", name != NULL ? name : "");
	row->limits = session->row.limits;
	row->policy = session->row.policy & ~DB_POLICY_OURS;
	row->unsaved_count = persisted->unsaved_count;
	(void)snprintf(row->unsaved_why, sizeof(row->unsaved_why), "%s", persisted->unsaved_why);
	clock_rfc3339_now(row->created_at);
	if (id_new(row->id, "sn", err) < 0)
		return (int)err->code;
	return persisted->env.len > 0
		       ? buf_add(&row->env, persisted->env.data, persisted->env.len, err)
		       : 0;
}

static int add_audited(struct host *host, struct db_snapshot *row, uint64_t *ret_new_bytes,
		       struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_snapshot_add(host->db, row, ret_new_bytes, err);
	if (code >= 0)
		code = audit_add(host, "snapshot.create", row->id, "ok", err,
				 "session=%s files=%llu bytes=%llu", row->session,
				 (unsigned long long)row->files, (unsigned long long)row->bytes);
	return audit_end(host, code, err);
}

/* Of what the manifest says now, which is as the workspace is. It answers, when all is kept. */
static void make(struct session *session, const struct request *req, const char *name,
		 bool is_held)
{
	struct host *host = session->host;
	cleanup_arena struct arena arena = { 0 };
	cleanup_snapshot struct db_snapshot row;
	struct api_snapshot reply;
	uint64_t new_bytes = 0;
	struct err err;
	bool is_own;

	db_snapshot_init(&row);
	row.is_held = is_held;
	if (!has_room(host, req, session->row.id) ||
	    (is_held && !front_is_pending(host, req->id)))
		return;
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (fill(session, name, &row, &err) < 0 || add_audited(host, &row, &new_bytes, &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		session->tenant->row.stored_bytes += row.size + new_bytes;
		if (is_held)
			snapshot_hold(host, &row, req->id);
		reply = tell(&arena, &row);
		reply_snapshot_create(host, req->id, &reply);
	}
	transaction_leave(host, is_own, 0);
}

/* The workspace was looked at, and what that found is in the manifest. */
static void looked_for(struct session *session, struct job *job, bool is_held)
{
	struct host *host = session->host;
	const struct request req = { .id = job->request, .tenant = session->tenant };

	if (!life_is_live(session->life))
		front_fail(host, job->request, session->end, "the session has ended",
			   session->row.why, "", 0);
	else if (job->result.loss == JOB_LOST_BOX)
		front_fail(host, job->request, API_ERR_UNAVAILABLE,
			   "the session lost its box while its files were looked at",
			   job->result.why_lost.message, "ask again", 1);
	else if (job->error.code < 0)
		front_fail_reckon(host, job->request, &job->error);
	else
		make(session, &req, job->path, is_held);
}

static void looked(struct session *session, struct job *job)
{
	looked_for(session, job, false);
}

static void looked_held(struct session *session, struct job *job)
{
	looked_for(session, job, true);
}

/* Whether the workspace cannot have changed since the last scan. */
static bool is_still(const struct session *session)
{
	if (session->life == SESSION_PAUSED)
		return true;
	return session_is_parked(session) && session->box.state != BOX_LEFT &&
	       session->queue.running == NULL && session->queue.first == NULL;
}

void handle_snapshot_create(struct host *host, const struct request *req,
			    const struct api_snapshot_create_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, true);
	struct job *job;

	if (session == NULL || !has_room(host, req, session->row.id))
		return;
	if (session->box.missing != NULL) {
		front_fail(host, req->id, API_ERR_UNAVAILABLE,
			   "files of the session are missing in the store",
			   session->box.missing->why, "bring them back, or do without: "
			   "POST /reckon/v1/sessions/ID/restore with `intact`", 0);
	} else if (is_still(session)) {
		make(session, req, in->name, in->held);
	} else if (life_stands_still(session->life)) {
		front_fail(host, req->id, API_ERR_SESSION_PAUSED,
			   "the session is just being paused, or resumed", "", "ask again", 1);
	} else {
		job = job_new(session, JOB_KEEP, req->id);
		job->how = JOB_HOW_THOROUGH;
		job->on_done = in->held ? looked_held : looked;
		job->path = in->name != NULL ? mem_strdup(in->name) : NULL;
		session_enqueue(session, job);
	}
}

/* ---- list, show ----------------------------------------------------------------------------- */

/* One page of a list. */
struct page {
	struct arena arena;
	struct api_snapshot *items;
	size_t count;
};

static int add_one(const struct db_snapshot *row, void *arg, struct err *err)
{
	struct page *page = arg;

	(void)err;
	page->items[page->count++] = tell(&page->arena, row);
	return 0;
}

void handle_snapshot_list(struct host *host, const struct request *req,
			  const struct api_snapshot_list_in *in)
{
	const struct db_snapshot_list list = {
		.tenant = req->tenant->row.id,
		.session = in->session,
		.name = in->name,
		.before = in->before,
		.limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT,
	};
	struct api_snapshots reply = { 0 };
	struct page page = { 0 };
	struct err err;

	page.items = arena_new(&page.arena, list.limit, sizeof(*page.items));
	if (db_snapshot_list(host->db, &list, add_one, &page, &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else if (page.count > 0 || in->session == NULL || in->before != NULL ||
		   was_session_named(host, req, in->session)) {
		reply.snapshots = (struct api_list){ page.items, page.count };
		if (page.count > 0)
			reply.next = page.items[page.count - 1].id;
		reply_snapshot_list(host, req->id, &reply);
	}
	arena_done(&page.arena);
}

void handle_snapshot_show(struct host *host, const struct request *req,
			  const struct api_snapshot_show_in *in)
{
	cleanup_snapshot struct db_snapshot row;
	cleanup_arena struct arena arena = { 0 };
	struct api_snapshot reply;

	db_snapshot_init(&row);
	if (!find(host, req, in->snapshot, &row))
		return;
	reply = tell(&arena, &row);
	reply_snapshot_show(host, req->id, &reply);
}

/* ---- remove --------------------------------------------------------------------------------- */

/* Contents that nothing else names go when they are collected (files/gc.c). */
void handle_snapshot_delete(struct host *host, const struct request *req,
			    const struct api_snapshot_delete_in *in)
{
	cleanup_snapshot struct db_snapshot row;
	struct err err;
	bool is_own;

	db_snapshot_init(&row);
	if (!find(host, req, in->snapshot, &row))
		return;
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (snapshot_remove(host, req->tenant, &row, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_done(host, req->id);
	transaction_leave(host, is_own, 0);
}
