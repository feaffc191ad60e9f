/*
 * answer_session.c - create, list, show, change and end sessions.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database.
 * Never:    gives an old id a new session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/admission.h"
#include "host/early.h"
#include "host/host.h"
#include "host/quota.h"
#include "host/spare.h"
#include "languages/languages.h"

#define LIST_DEFAULT 100u

static int pack_kept(struct buf *payload, const struct session *session, struct err *err)
{
	const struct db_kept *kept = &session->kept;
	const bool is_lost = session->kernel_lost || strcmp(kept->kernel, "lost") == 0;

	if (front_pack_text(payload, FRONT_TAG_KERNEL, is_lost ? "lost" : "ready", err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_ENDS_MS, kept->expires_ms, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_NOT_KEPT, kept->not_kept, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_NOT_KEPT_WHY, kept->not_kept_why, err) < 0)
		return (int)err->code;
	if (kept->restored_at[0] == '\0')
		return 0;
	return front_pack_text(payload, FRONT_TAG_RESTORED_AT, kept->restored_at, err);
}

int answer_pack_session(struct host *host, struct buf *payload, const struct db_session *row,
			struct err *err)
{
	const struct session *live = session_by_id(host, row->id);
	char name[ID_NAME_MAX + 1] = "";
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_SESSION, row->id },	       { FRONT_TAG_STATUS, row->state },
		{ FRONT_TAG_TEMPLATE, row->template_name }, { FRONT_TAG_LANGUAGE, row->language },
		{ FRONT_TAG_METADATA, row->metadata != NULL ? row->metadata : "{}" },
		{ FRONT_TAG_CREATED_AT, row->created_at },  { FRONT_TAG_ENDED_AT, row->ended_at },
		{ FRONT_TAG_WHY, row->why },		    { FRONT_TAG_SESSION_NAME, name },
	};

	if (live != NULL)
		(void)snprintf(name, sizeof(name), "%s", live->name);
	else
		db_name_of(host->db, row->id, name);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if ((texts[i].text[0] != '\0' || i == 0) &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	if (front_pack(payload, FRONT_TAG_LIMITS, &row->limits, sizeof(row->limits), err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_IDLE_MS, row->idle_ms, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_POLICY, row->policy & ~DB_POLICY_ONCE, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_QUEUED,
			   live != NULL ? live->queued + (live->running != NULL) : 0, err) < 0)
		return (int)err->code;
	return live != NULL && live->phase == SESSION_LIVE ? pack_kept(payload, live, err) : 0;
}

static void reply_session(struct host *host, uint64_t request, const struct db_session *row)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct err err;

	if (answer_pack_session(host, &payload, row, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, -1);
}

/* "NAME=value" strings as reckon.h wants them: one buffer and pointers into it. */
void answer_list_env(struct job *job, size_t count)
{
	size_t at = 0;

	job->env_list = mem_new0(count + 1, sizeof(*job->env_list));
	for (size_t i = 0; i < count; i++) {
		job->env_list[i] = job->env.data + at;
		at += strlen(job->env_list[i]) + 1;
	}
}

int answer_take_env(struct job *job, const struct asked *asked, struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < asked->count; i++) {
		const struct kernel_item *item = &asked->items[i];

		if (item->tag != FRONT_TAG_ENV)
			continue;
		if (memchr(item->data, '\0', item->len) != NULL)
			return err_set(err, ERR_INVALID, "a variable with a NUL byte");
		if (buf_add(&job->env, item->data, item->len, err) < 0 ||
		    buf_addc(&job->env, '\0', err) < 0)
			return (int)err->code;
		count++;
	}
	answer_list_env(job, count);
	return 0;
}

static char *metadata_of(const struct asked *asked)
{
	const struct kernel_item *item = front_find(asked->items, asked->count, FRONT_TAG_METADATA);
	char *text;

	if (item == NULL || memchr(item->data, '\0', item->len) != NULL)
		return NULL;
	text = mem_new0(item->len + 1, 1);
	memcpy(text, item->data, item->len);
	return text;
}

static struct front_limits limits_of(const struct asked *asked)
{
	const struct kernel_item *item = front_find(asked->items, asked->count, FRONT_TAG_LIMITS);
	struct front_limits limits = { 0 };

	if (item != NULL)
		memcpy(&limits, item->data, sizeof(limits));
	/* What libreckon takes as 32 bits; the front checked, but may be captured. */
	if (limits.pids > UINT32_MAX)
		limits.pids = UINT32_MAX;
	if (limits.cpu_percent > UINT32_MAX)
		limits.cpu_percent = UINT32_MAX;
	if (limits.displays > UINT32_MAX)
		limits.displays = UINT32_MAX;
	return limits;
}

/* The name that the request has, or ""; -1 when it cannot be had, which was answered. */
static int take_name(struct host *host, const struct asked *asked, char ret[ID_NAME_MAX + 1])
{
	char message[128];

	ret[0] = '\0';
	if (!front_text(asked->items, asked->count, FRONT_TAG_SESSION_NAME, ret, ID_NAME_MAX + 1))
		return 0;
	if (!id_is_name(ret, strlen(ret), "se")) {
		peer_fail(host, asked->id, FRONT_ERR_INVALID, "that is no name for a session", "", "",
			  0);
		return -1;
	}
	if (session_named(host, asked->tenant, ret) == NULL)
		return 0;
	(void)snprintf(message, sizeof(message), "a session named %s is there already", ret);
	peer_fail(host, asked->id, FRONT_ERR_SESSION_EXISTS, message, "",
		  "use that one, delete it, or choose another name", 0);
	return -1;
}

/* Whether the daemon takes any now; answers when it does not. */
static bool takes_sessions(struct host *host, const struct asked *asked)
{
	if (host->is_stopping) {
		peer_fail(host, asked->id, FRONT_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (host->is_draining) {
		peer_fail(host, asked->id, FRONT_ERR_DRAINING, "the daemon takes no new sessions",
			  "it is being drained", "use another one, or ask again later", 30);
		return false;
	}
	if (quota_staying(host->session_count, host->leaving, host->config.sessions_max) >=
	    host->config.sessions_max) {
		observe_refused(host, "sessions");
		peer_fail(host, asked->id, FRONT_ERR_BUSY, "as many sessions are open as may be",
			  "", "delete one, or start the daemon with a larger --max-sessions", 5);
		return false;
	}
	return true;
}

struct session *answer_session_add(struct host *host, const struct asked *asked)
{
	struct front_limits limits;
	char name[ID_NAME_MAX + 1];
	struct session *session;
	uint64_t idle_ms;

	if (!takes_sessions(host, asked))
		return NULL;
	limits = limits_of(asked);
	idle_ms = front_u64(asked->items, asked->count, FRONT_TAG_IDLE_MS, host->config.idle_ms);
	if (take_name(host, asked, name) < 0 || !quota_session(host, asked, &limits, &idle_ms) ||
	    !admission_check(host, asked, &limits))
		return NULL;
	session = session_add(host, asked->tenant, &limits);
	session->is_admitted = true;
	host->opening_count++;
	(void)snprintf(session->name, sizeof(session->name), "%s", name);
	(void)front_text(asked->items, asked->count, FRONT_TAG_TEMPLATE,
			 session->row.template_name, sizeof(session->row.template_name));
	if (!front_text(asked->items, asked->count, FRONT_TAG_LANGUAGE, session->row.language,
			sizeof(session->row.language)))
		(void)snprintf(session->row.language, sizeof(session->row.language), "%s",
			       language_default()->name);
	session->row.metadata = metadata_of(asked);
	session->row.idle_ms = idle_ms;
	session->row.policy = front_u64(asked->items, asked->count, FRONT_TAG_POLICY, 0);
	return session;
}

void answer_open_failed(struct session *session, struct job *job, const struct err *err)
{
	job->error.code = RECKON_EINVALID;
	(void)snprintf(job->error.message, sizeof(job->error.message), "%s", err->text);
	session_job_done(session, job);
}

void answer_session_open(struct host *host, const struct asked *asked, struct session *session,
			 struct job *job)
{
	struct err err;

	tenant_share_note(host, job);
	if (answer_take_env(job, asked, &err) < 0) {
		answer_open_failed(session, job, &err);
		return;
	}
	if (job->env.len > 0 &&
	    buf_add(&session->kept.env, job->env.data, job->env.len, &err) < 0)
		keep_fail(host, &err);
	keep_set_expiry(session, front_u64(asked->items, asked->count, FRONT_TAG_ENDS_MS, 0));
	session->engine = spare_take(host);
	early_begin(session);
	once_ready(session, job);
	session_enqueue(session, job);
	early_write(session);
}

void answer_session_create(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session_add(host, asked);

	if (session != NULL)
		answer_session_open(host, asked, session, job_new(session, JOB_OPEN, asked->id));
}

static int add_session(const struct db_session *row, void *arg, struct err *err)
{
	void **both = arg;

	/* One whose box is not there yet (early.c). */
	if (strcmp(row->state, "live") == 0 && session_by_id(both[0], row->id) == NULL)
		return 0;
	return answer_pack_session(both[0], both[1], row, err);
}

/* Whether there is a session of this id, whatever became of it, is all that `before` needs. */
void answer_session_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	uint64_t limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, LIST_DEFAULT);
	const struct tenant *tenant = tenant_asked(host, asked);
	void *both[] = { host, &payload };
	char before[ID_SIZE], name[ID_NAME_MAX + 1];
	struct err err;
	int code;

	if (tenant == NULL)
		return;
	if (limit > FRONT_LIST_MAX)
		limit = FRONT_LIST_MAX;
	const char *from = front_text(asked->items, asked->count, FRONT_TAG_BEFORE, before,
				      sizeof(before))
				   ? before
				   : NULL;

	if (front_text(asked->items, asked->count, FRONT_TAG_SESSION_NAME, name, sizeof(name)))
		code = db_name_list(host->db, tenant->row.id, name, from, (unsigned)limit, add_session,
				    both, &err);
	else
		code = db_session_list(host->db, tenant->row.id, from, (unsigned)limit, add_session, both,
				       &err);
	if (code < 0)
		peer_fail_err(host, asked->id, &err);
	else
		peer_reply(host, asked->id, &payload, -1);
}

void answer_session_show(struct host *host, const struct asked *asked)
{
	const struct session *session = answer_session(host, asked, false);

	if (session != NULL)
		reply_session(host, asked->id, &session->row);
}

/* Those that are given with each execution; the rest is built into the box. */
static bool change_limits(struct session *session, const struct asked *asked)
{
	const struct kernel_item *item = front_find(asked->items, asked->count, FRONT_TAG_LIMITS);
	struct front_limits given, fitting;

	if (item == NULL)
		return true;
	memcpy(&given, item->data, sizeof(given));
	fitting = given;
	if (!quota_limits(session->host, asked, &fitting))
		return false;
	if (given.wall_ms != 0)
		session->limits.wall_ms = given.wall_ms;
	if (given.output_bytes != 0)
		session->limits.output_bytes = given.output_bytes;
	session->row.limits = session->limits;
	return true;
}

void answer_session_patch(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);
	char *metadata = metadata_of(asked);
	struct err err;
	bool is_own;

	if (session == NULL ||
	    !quota_idle(host, asked, front_u64(asked->items, asked->count, FRONT_TAG_IDLE_MS, 0)) ||
	    !change_limits(session, asked)) {
		free(metadata);
		return;
	}
	if (metadata != NULL) {
		free(session->row.metadata);
		session->row.metadata = metadata;
	}
	session->row.idle_ms = front_u64(asked->items, asked->count, FRONT_TAG_IDLE_MS,
					 session->row.idle_ms);
	keep_set_expiry(session, front_u64(asked->items, asked->count, FRONT_TAG_ENDS_MS,
					   session->kept.expires_ms));
	if (keep_turn_join(host, &is_own, &err) < 0) {
		peer_fail_err(host, asked->id, &err);
		return;
	}
	if (db_session_change(host->db, &session->row, &err) < 0 || keep_write(session, &err) < 0)
		keep_fail(host, &err);
	reply_session(host, asked->id, &session->row); /* goes out when it is kept */
	keep_turn_leave(host, is_own, 0);
}

void answer_session_delete(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);

	if (session != NULL)
		session_end(session, FRONT_ERR_SESSION_CLOSED, "a client closed it", asked->id);
}
