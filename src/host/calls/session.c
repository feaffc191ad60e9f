/*
 * session.c - calls for sessions: create, list, show, change, pause, resume, end.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database.
 * Never:    gives an old id to a new session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "host/sessions/admission.h"
#include "host/executions/asking.h"
#include "host/calls/call.h"
#include "host/sessions/restart/row_before_open.h"
#include "host/calls/tenants/document.h"
#include "host/calls/tenants/snapshot_begin.h"
#include "host/host.h"
#include "host/tenants/quota.h"
#include "host/sessions/folders.h"
#include "host/sessions/prewarmed.h"
#include "languages/languages.h"

#define LIST_DEFAULT 100u
#define EXPIRES_MS_MAX (366ull * 24 * 3600 * 1000)

/* ---- encode --------------------------------------------------------------------------------- */

struct front_limits session_limits_of(const struct api_limits *limits)
{
	if (limits == NULL)
		return (struct front_limits){ 0 };
	return (struct front_limits){
		.wall_ms = limits->wall_ms,
		.cpu_ms = limits->cpu_ms,
		.memory_bytes = limits->memory_bytes,
		.disk_bytes = limits->disk_bytes,
		.inodes = limits->files,
		.file_bytes = limits->file_bytes,
		.output_bytes = limits->output_bytes,
		.pids = limits->processes,
		.cpu_percent = limits->cpu_percent,
		.displays = limits->displays,
	};
}

/* Only limits that were set; the records of executions have the defaults. */
const struct api_limits *session_tell_limits(struct arena *arena,
					      const struct front_limits *limits)
{
	struct api_limits *reply = arena_new(arena, 1, sizeof(*reply));

#define TELL(name, value) .has_##name = (value) != 0, .name = (value)
	*reply = (struct api_limits){
		TELL(wall_ms, limits->wall_ms),
		TELL(cpu_ms, limits->cpu_ms),
		TELL(memory_bytes, limits->memory_bytes),
		TELL(disk_bytes, limits->disk_bytes),
		TELL(files, limits->inodes),
		TELL(file_bytes, limits->file_bytes),
		TELL(output_bytes, limits->output_bytes),
		TELL(processes, limits->pids),
		TELL(cpu_percent, limits->cpu_percent),
		TELL(displays, limits->displays),
	};
#undef TELL
	return reply;
}

const struct api_policy *session_tell_policy(struct arena *arena, uint64_t policy)
{
	struct api_policy *reply = arena_new(arena, 1, sizeof(*reply));

	_Static_assert(API_POLICY_ISOLATE_CPU_CORE == FRONT_POLICY_ISOLATE_CORE &&
			       API_POLICY_ISOLATE_CPU_SPECULATION ==
				       FRONT_POLICY_ISOLATE_SPECULATION,
		       "rows keep these bits");
	reply->network = API_POLICY_NETWORK_NONE;
	reply->isolate_cpu = policy & ~DB_POLICY_OURS;
	return reply;
}

/* For a live session: effects of restarts, expiry, pause. */
static void show_persisted(struct arena *arena, const struct session *session,
			   struct api_session *ret)
{
	const struct db_persisted *persisted = &session->persisted;
	const bool is_lost = session->box.kernel_lost || strcmp(persisted->kernel, "lost") == 0;
	struct api_not_kept *unsaved;
	struct api_missing *missing;

	ret->kernel = is_lost ? API_SESSION_KERNEL_LOST : API_SESSION_KERNEL_READY;
	ret->restored_at = arena_text_or_null(arena, persisted->restored_at);
	ret->has_expires_at_ms = persisted->expires_ms != 0;
	ret->expires_at_ms = persisted->expires_ms;
	ret->has_paused_at_ms = persisted->paused_ms != 0;
	ret->paused_at_ms = persisted->paused_ms;
	ret->on_timeout = (enum api_session_on_timeout)pause_on_timeout(persisted->pauses);
	ret->has_auto_resume = true;
	ret->auto_resume = (persisted->pauses & DB_PAUSES_UNTIL_REQUEST) != 0;
	if (session->box.missing != NULL) {
		missing = arena_new(arena, 1, sizeof(*missing));
		missing->count = session->box.missing->count;
		missing->why = arena_text_or_null(arena, session->box.missing->why);
		missing->paths =
			(struct api_bytes){ arena_text(arena,
						       buf_text(&session->box.missing->paths),
						       session->box.missing->paths.len),
					    session->box.missing->paths.len };
		ret->files_missing = missing;
	}
	if (persisted->unsaved_count == 0)
		return;
	unsaved = arena_new(arena, 1, sizeof(*unsaved));
	unsaved->count = persisted->unsaved_count;
	unsaved->why = arena_text(arena, persisted->unsaved_why, strlen(persisted->unsaved_why));
	ret->files_not_kept = unsaved;
}

void session_show(struct host *host, struct arena *arena, const struct db_session *row,
		  struct api_session *ret)
{
	const struct session *live = session_by_id(host, row->id);
	const char *metadata = row->metadata != NULL ? row->metadata : "{}";
	char name[ID_NAME_MAX + 1] = "";

	if (live != NULL)
		(void)snprintf(name, sizeof(name), "%s", live->given.name);
	else
		db_name_of(host->db, row->id, name);
	*ret = (struct api_session){
		.id = arena_text_or_null(arena, row->id),
		.name = arena_text_or_null(arena, name),
		.status = arena_text_or_null(arena, row->state),
		.template = arena_text_or_null(arena, row->template_name),
		.language = arena_text_or_null(arena, row->language),
		.limits = session_tell_limits(arena, &row->limits),
		.policy = session_tell_policy(arena, row->policy),
		.metadata = { arena_text_or_null(arena, metadata), strlen(metadata) },
		.tools = { row->tools, row->tools != NULL ? strlen(row->tools) : 0 },
		.idle_timeout_ms = row->idle_ms,
		.pending = live != NULL ? live->queue.count + (live->queue.running != NULL) : 0,
		.created_at = arena_text_or_null(arena, row->created_at),
		.ended_at = arena_text_or_null(arena, row->ended_at),
		.why = arena_text_or_null(arena, row->why),
	};
	if (live != NULL && life_is_live(live->life)) {
		show_persisted(arena, live, ret);
		folders_show(arena, live, ret);
		volume_mounts_show(arena, live, ret);
	}
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Whether no live session has the name; if one has, answers the request. */
static bool is_free(struct host *host, const struct request *req, const char *name)
{
	char message[128];

	if (name == NULL || session_named(host, req->tenant, name) == NULL)
		return true;
	(void)snprintf(message, sizeof(message), "a session named %.63s already exists", name);
	front_fail(host, req->id, API_ERR_SESSION_EXISTS, message, "",
		  "use that one, delete it, or choose another name", 0);
	return false;
}

bool session_ends(struct host *host, const struct request *req, const uint64_t *in_ms,
		  const uint64_t *at_ms, uint64_t *ret)
{
	const uint64_t now = clock_wall_ms();

	if (in_ms != NULL)
		*ret = *in_ms != 0 ? now + *in_ms : 0;
	else if (at_ms != NULL)
		*ret = *at_ms;
	if (at_ms == NULL || *at_ms == 0 || (*at_ms > now && *at_ms <= now + EXPIRES_MS_MAX))
		return true;
	front_fail(host, req->id, API_ERR_INVALID,
		  *at_ms <= now ? "expires_at is over already"
				: "expires_at is more than a year away", "", "", 0);
	return false;
}

/* Whether the daemon accepts new sessions now; if not, answers the request. */
static bool takes_sessions(struct host *host, const struct request *req)
{
	if (lifecycle_is_ending(&host->life)) {
		front_fail(host, req->id, API_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (lifecycle_is_drained(&host->life)) {
		front_fail(host, req->id, API_ERR_DRAINING, "the daemon takes no new sessions",
			  "it is being drained", "use another one, or ask again later", 30);
		return false;
	}
	if (quota_staying(host->sessions.count, host->sessions.leaving,
			  host->config.sessions_max) >=
	    host->config.sessions_max) {
		observe_refused(host, "sessions");
		front_fail(host, req->id, API_ERR_BUSY, "the limit of open sessions is reached", "",
			   "delete one, or start the daemon with a larger --max-sessions", 5);
		return false;
	}
	return true;
}

static char *metadata_of(const struct api_bytes *given)
{
	char *text = mem_new0(given->len + 1, 1);

	memcpy(text, given->data, given->len);
	return text;
}

struct session *answer_session_add(struct host *host, const struct request *req,
				   const struct session_params *params)
{
	struct front_limits limits = params->limits;
	uint64_t idle_ms = params->has_idle ? params->idle_ms : host->config.idle_ms;
	struct session *session;

	if (!takes_sessions(host, req) || !is_free(host, req, params->name) ||
	    !quota_session(host, req, &limits, params->has_idle, &idle_ms) ||
	    !admission_check(host, req, &limits))
		return NULL;
	session = session_add(host, req->tenant, &limits);
	session->measured.is_admitted = true;
	host->admission.opening++;
	(void)snprintf(session->given.name, sizeof(session->given.name), "%s",
		       params->name != NULL ? params->name : "");
	(void)snprintf(session->row.template_name, sizeof(session->row.template_name), "%s",
		       params->template_name != NULL ? params->template_name : "");
	(void)snprintf(session->row.language, sizeof(session->row.language), "%s",
		       params->language != NULL ? params->language : language_default()->name);
	if (params->metadata.data != NULL)
		session->row.metadata = metadata_of(&params->metadata);
	session->row.tools = asking_keep(&params->tools);
	session->row.idle_ms = idle_ms;
	session->row.policy = params->policy;
	return session;
}

void answer_open_failed(struct session *session, struct job *job, const struct err *err)
{
	job->error.code = RECKON_EINVALID;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", err->text);
	session_job_done(session, job);
}

bool answer_session_prepare(struct host *host, const struct session_params *params,
			    struct session *session, struct job *job)
{
	struct err err;

	tenant_share_note(host, job);
	if (answer_take_env(job, &params->env, &err) < 0) {
		answer_open_failed(session, job, &err);
		return false;
	}
	if (job->box.env.len > 0 &&
	    buf_add(&session->persisted.env, job->box.env.data, job->box.env.len, &err) < 0)
		transaction_fail(host, &err);
	persist_set_expiry(session, params->ends_ms);
	session->box.engine = prewarmed_take(host);
	row_before_open_begin(session);
	return true;
}

void answer_session_open(struct session *session, struct job *job)
{
	session_enqueue(session, job);
	row_before_open_write(session);
}

void session_reply_opened(const struct session *session, uint64_t request)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_session reply;

	session_show(session->host, &arena, &session->row, &reply);
	reply_session_create(session->host, request, &reply);
}

/* Handles a file that was copied into a new session; the last one answers the request. */
static void imported(struct session *session, struct job *job)
{
	struct host *host = session->host;

	if (job->error.code < 0) {
		front_fail_reckon(host, job->request, &job->error);
		if (life_is_live(session->life))
			session_end(session, API_ERR_SESSION_CLOSED,
				    "a file could not be copied into it", 0);
	} else if (job->how == JOB_HOW_LAST) {
		session_reply_opened(session, job->request);
	}
}

void handle_session_create(struct host *host, const struct request *req,
			   const struct api_session_create_in *in)
{
	struct session_params params = SESSION_PARAMS_OF(in);
	cleanup_snapshot_begin struct snapshot_begin begin;
	struct session *session;
	struct file_mount *mounts;
	struct job *imports, *job;
	struct grant folders;
	char *volumes;
	struct err err;

	params.tools = in->tools;
	if (!snapshot_begin_take(host, req, in->snapshot, &params, &begin) ||
	    !asking_is_good(host, req, &in->tools) || !asking_fits(host, req, &in->tools) ||
	    !SESSION_ENDS(host, req, in, &params.ends_ms) ||
	    !volume_mounts_take(host, req, &in->volumes, &volumes))
		return;
	if (!folders_take(host, req, in->grant, &folders) ||
	    !stored_imports(host, req, &in->files, imported, &imports, &mounts)) {
		grant_done(&folders);
		free(volumes);
		return;
	}
	session = answer_session_add(host, req, &params);
	job = job_new(session, JOB_OPEN, req->id);
	job->box.imports = imports;
	job->box.mounts = mounts;
	if (session == NULL) {
		grant_done(&folders);
		free(volumes);
		job_free(job);
		return;
	}
	snapshot_begin_give(&begin, session, job);
	session->box.folders = folders;
	session->row.volumes = volumes;
	session->persisted.pauses =
		pause_words((unsigned)in->on_timeout, in->has_auto_resume, in->auto_resume, 0);
	if (in->grant != NULL)
		(void)snprintf(session->persisted.grant, sizeof(session->persisted.grant), "%s",
			       in->grant);
	session->given.held_by = in->held ? req->id : 0;
	session->row.policy |= in->held ? DB_POLICY_HELD : 0;
	if (mounts != NULL && id_new(session->row.file_mounts, "fm", &err) < 0)
		answer_open_failed(session, job, &err);
	else if (answer_session_prepare(host, &params, session, job))
		answer_session_open(session, job);
}

/* ---- list, show, change --------------------------------------------------------------------- */

/* One page of a list. */
struct page {
	struct host *host;
	struct arena arena;
	struct api_session *items;
	size_t count;
};

static int add_session(const struct db_session *row, void *arg, struct err *err)
{
	struct page *page = arg;

	(void)err;
	/* Leaves out a session whose box is not open yet (sessions/restart/row_before_open.c). */
	if (strcmp(row->state, "live") == 0 && session_by_id(page->host, row->id) == NULL)
		return 0;
	session_show(page->host, &page->arena, row, &page->items[page->count]);
	page->items[page->count++].tools = (struct api_bytes){ 0 }; /* they belong to the row */
	return 0;
}

/* `before` may be the id of any session, in any state. */
void handle_session_list(struct host *host, const struct request *req,
			 const struct api_session_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	const struct tenant *tenant = tenant_of_id(host, req, in->tenant);
	struct page page = { .host = host };
	struct api_sessions reply = { 0 };
	struct err err;
	int code;

	if (tenant == NULL)
		return;
	page.items = arena_new(&page.arena, limit, sizeof(*page.items));
	if (in->name != NULL)
		code = db_name_list(host->db, tenant->row.id, in->name, in->before, limit,
				    add_session, &page, &err);
	else
		code = db_session_list(host->db, tenant->row.id, in->before, in->status != 0, limit,
				       add_session, &page, &err);
	reply.sessions = (struct api_list){ page.items, page.count };
	if (page.count > 0)
		reply.next = page.items[page.count - 1].id;
	if (code < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_session_list(host, req->id, &reply);
	arena_done(&page.arena);
}

void handle_session_show(struct host *host, const struct request *req,
			 const struct api_session_show_in *in)
{
	const struct session *session = answer_session_named(host, req, in->session, false);
	cleanup_arena struct arena arena = { 0 };
	struct api_session reply;

	if (session == NULL)
		return;
	session_show(host, &arena, &session->row, &reply);
	reply_session_show(host, req->id, &reply);
}

/* Changes limits that are set for each execution; the others are part of the box. */
static bool change_limits(struct session *session, const struct request *req,
			  const struct api_changed_limits *given)
{
	struct front_limits fitting = { 0 };

	if (given == NULL)
		return true;
	fitting.wall_ms = given->wall_ms;
	fitting.output_bytes = given->output_bytes;
	if (!quota_limits(session->host, req, &fitting))
		return false;
	if (given->wall_ms != 0)
		session->limits.wall_ms = given->wall_ms;
	if (given->output_bytes != 0)
		session->limits.output_bytes = given->output_bytes;
	session->row.limits = session->limits;
	return true;
}

void handle_session_change(struct host *host, const struct request *req,
			   const struct api_session_change_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	cleanup_arena struct arena arena = { 0 };
	struct api_session reply;
	uint64_t ends_ms;
	struct err err;
	bool is_own;

	if (session == NULL)
		return;
	ends_ms = session->persisted.expires_ms;
	if (!quota_idle(host, req, in->idle_timeout_ms) ||
	    !SESSION_ENDS(host, req, in, &ends_ms) || !asking_is_good(host, req, &in->tools) ||
	    !asking_fits(host, req, &in->tools) || !change_limits(session, req, in->limits))
		return;
	if (in->has_tools) {
		free(session->row.tools);
		session->row.tools = asking_keep(&in->tools);
	}
	if (in->metadata.data != NULL) {
		free(session->row.metadata);
		session->row.metadata = metadata_of(&in->metadata);
	}
	if (in->has_idle_timeout_ms)
		session->row.idle_ms = in->idle_timeout_ms;
	session->persisted.pauses = pause_words((unsigned)in->on_timeout, in->has_auto_resume,
						in->auto_resume, session->persisted.pauses);
	if (in->has_expires_in_ms || in->has_expires_at_ms)
		pause_end_set(session);
	persist_set_expiry(session, ends_ms);
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (db_session_change(host->db, &session->row, &err) < 0 ||
	    persist_write(session, &err) < 0)
		transaction_fail(host, &err);
	session_show(host, &arena, &session->row, &reply);
	reply_session_change(host, req->id, &reply); /* sent when the transaction is synced */
	transaction_leave(host, is_own, 0);
}

void handle_session_restore(struct host *host, const struct request *req,
			    const struct api_session_restore_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, true);

	if (session == NULL)
		return;
	if (session_is_parked(session) && in->intact)
		session->box.wants_intact = true;
	/* A scan of the workspace needs a box, so this restores one. */
	session_enqueue(session, job_new(session, JOB_KEEP, req->id));
}

void session_reply_shown(struct session *session, uint64_t request)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_session reply;

	session_show(session->host, &arena, &session->row, &reply);
	front_reply_call(session->host, request, &api_type_session, &reply);
}

void handle_session_pause(struct host *host, const struct request *req,
			  const struct api_session_pause_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);

	if (session != NULL)
		(void)pause_ask(session, req->id, in->has_memory && !in->memory);
}

void handle_session_resume(struct host *host, const struct request *req,
			   const struct api_session_resume_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);

	if (session != NULL &&
	    !pause_end(session, req->id, in->has_memory && !in->memory,
		       in->has_expires_in_ms ? in->expires_in_ms : 0))
		session_reply_shown(session, req->id);
}

void handle_session_delete(struct host *host, const struct request *req,
			   const struct api_session_delete_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);

	if (session != NULL)
		session_end(session, API_ERR_SESSION_CLOSED, "a client closed it", req->id);
}
