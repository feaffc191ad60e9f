/*
 * answer_context.c - requests about the kernels of a session, and which of them code is for.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    runs code in a kernel of another language than the one that was asked for.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

#define KERNELS_MAX 8u /* of a session; as the warden has it */

int context_pack(struct buf *payload, const struct context *context, struct err *err)
{
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_CONTEXT, context->row.id },
		{ FRONT_TAG_SESSION, context->session->row.id },
		{ FRONT_TAG_LANGUAGE, context->row.language },
		{ FRONT_TAG_CWD, context->row.cwd },
		{ FRONT_TAG_CREATED_AT, context->row.created_at },
		{ FRONT_TAG_KERNEL, context->kernel_lost ? "lost" : "ready" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_QUEUED,
			      context->queued + (context->running != NULL), err);
}

static bool is_room_to_wait(struct host *host, const struct asked *asked,
			    const struct session *session, const struct context *context)
{
	if ((context != NULL ? context->queued : session->queued) < HOST_QUEUE_MAX)
		return true;
	peer_fail(host, asked->id, FRONT_ERR_BUSY,
		  context != NULL ? "too many requests wait for this context"
				  : "too many requests wait for this session", "",
		  "wait for those, interrupt the running one, or use another context", 1);
	return false;
}

bool context_asked(struct host *host, const struct asked *asked, struct session *session,
		   bool for_job, struct context **ret)
{
	char id[ID_SIZE] = "", message[128];

	*ret = NULL;
	/* A captured front may name one by what is no text. */
	if (front_text(asked->items, asked->count, FRONT_TAG_CONTEXT, id, sizeof(id)))
		*ret = context_find(session, id);
	if (front_find(asked->items, asked->count, FRONT_TAG_CONTEXT) != NULL &&
	    (*ret == NULL || (*ret)->phase != SESSION_LIVE)) {
		(void)snprintf(message, sizeof(message), "there is no context %s in session %s", id,
			       session->row.id);
		peer_fail(host, asked->id, FRONT_ERR_CONTEXT_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/sessions/ID/contexts", 0);
		return false;
	}
	return !for_job || is_room_to_wait(host, asked, session, *ret);
}

/* The warden counts those that have a kernel; those that are parked are to come back, too. */
static bool is_room(struct host *host, const struct asked *asked, const struct session *session)
{
	unsigned count = 1;

	for (const struct context *at = session->contexts; at != NULL; at = at->next)
		count += at->phase != SESSION_CLOSING;
	if (count < KERNELS_MAX)
		return true;
	peer_fail(host, asked->id, FRONT_ERR_LIMIT, "a session has at most 8 kernels", "",
		  "delete a context, or create another session", 0);
	return false;
}

/* ---- the language of an execution ------------------------------------------------------------ */

/* The oldest one, also when it is just being opened: two requests do not open two. */
static struct context *find_language(const struct session *session, const char *language)
{
	struct context *at = session->contexts;

	while (at != NULL &&
	       (at->phase == SESSION_CLOSING || strcmp(at->row.language, language) != 0))
		at = at->next;
	return at;
}

static struct context *open_language(struct session *session, const char *language)
{
	struct context *context = context_new(session);

	(void)snprintf(context->row.language, sizeof(context->row.language), "%s", language);
	(void)snprintf(context->row.cwd, sizeof(context->row.cwd), "/mnt/data");
	/* Nobody waits for the context itself. What waits in it is told when it cannot be opened. */
	context_enqueue(session, context, job_new(session, JOB_CONTEXT_OPEN, 0));
	return context;
}

bool context_for_code(struct host *host, const struct asked *asked, struct session *session,
		      struct context **ret)
{
	char language[sizeof(session->row.language)] = "", message[160];
	const bool has_language = front_text(asked->items, asked->count, FRONT_TAG_LANGUAGE,
					     language, sizeof(language));
	const char *own;

	if (!context_asked(host, asked, session, false, ret))
		return false;
	own = *ret != NULL ? (*ret)->row.language : session->row.language;
	if (has_language && strcmp(language, own) != 0) {
		if (*ret != NULL) {
			(void)snprintf(message, sizeof(message), "context %s is not of language %s",
				       (*ret)->row.id, language);
			peer_fail(host, asked->id, FRONT_ERR_INVALID, message, "",
				  "leave one of the two out", 0);
			return false;
		}
		*ret = find_language(session, language);
		if (*ret == NULL && !is_room(host, asked, session))
			return false;
		if (*ret == NULL)
			*ret = open_language(session, language);
	}
	return is_room_to_wait(host, asked, session, *ret);
}

/* ---- requests ------------------------------------------------------------------------------- */

void answer_context_create(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);
	struct context *context;
	struct db_context *row;
	struct job *job;
	struct err err;

	if (session == NULL || !is_room(host, asked, session))
		return;
	job = job_new(session, JOB_CONTEXT_OPEN, asked->id);
	if (answer_take_env(job, asked, &err) < 0) {
		peer_fail(host, asked->id, FRONT_ERR_INVALID, err.text, "", "", 0);
		job_free(job);
		return;
	}
	context = context_new(session);
	row = &context->row;
	if (job->env.len > 0 && buf_add(&row->env, job->env.data, job->env.len, &err) < 0)
		keep_fail(host, &err);
	(void)snprintf(row->language, sizeof(row->language), "%s", session->row.language);
	(void)snprintf(row->cwd, sizeof(row->cwd), "/mnt/data");
	(void)front_text(asked->items, asked->count, FRONT_TAG_LANGUAGE, row->language,
			 sizeof(row->language));
	(void)front_text(asked->items, asked->count, FRONT_TAG_CWD, row->cwd, sizeof(row->cwd));
	(void)front_text(asked->items, asked->count, FRONT_TAG_TEMPLATE, row->template_name,
			 sizeof(row->template_name));
	context_enqueue(session, context, job);
}

void answer_context_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	const struct session *session = answer_session(host, asked, false);
	struct err err;

	if (session == NULL)
		return;
	for (const struct context *at = session->contexts; at != NULL; at = at->next)
		if (at->phase == SESSION_LIVE && context_pack(&payload, at, &err) < 0) {
			peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", "", 0);
			return;
		}
	peer_reply(host, asked->id, &payload, -1);
}

void answer_context_delete(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);
	struct context *context;

	if (session == NULL || !context_asked(host, asked, session, false, &context) ||
	    context == NULL)
		return;
	context->is_deleted = true;
	context_end(context, FRONT_ERR_CONTEXT_NOT_FOUND, "the context was deleted", asked->id);
}

void answer_restart(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);
	struct context *context;

	if (session != NULL && context_asked(host, asked, session, false, &context))
		context_restart(session, context, asked->id);
}
