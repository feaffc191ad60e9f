/*
 * context.c - calls for the kernels of a session, and which kernel runs code.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    runs code in a kernel of another language than requested.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/host.h"

static bool is_room_to_wait(struct host *host, const struct request *req,
			    const struct session *session, const struct context *context)
{
	if ((context != NULL ? context->queued : session->queue.count) < HOST_QUEUE_MAX)
		return true;
	front_fail(host, req->id, API_ERR_BUSY,
		  context != NULL ? "too many requests wait for this context"
				  : "too many requests wait for this session", "",
		  "wait for those, interrupt the running one, or use another context", 1);
	return false;
}

bool context_named(struct host *host, const struct request *req, struct session *session,
		   const char *id, bool for_job, struct context **ret)
{
	char message[128];

	*ret = id != NULL ? context_find(session, id) : NULL;
	if (id != NULL && (*ret == NULL || !context_is_live(*ret))) {
		(void)snprintf(message, sizeof(message), "there is no context %.31s in session %s",
			       id, session->row.id);
		front_fail(host, req->id, API_ERR_CONTEXT_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/sessions/ID/contexts", 0);
		return false;
	}
	return !for_job || is_room_to_wait(host, req, session, *ret);
}

static bool is_room(struct host *host, const struct request *req, const struct session *session)
{
	if (context_has_room(session))
		return true;
	front_fail(host, req->id, API_ERR_LIMIT, "a session has at most 8 kernels", "",
		  "delete a context, or create another session", 0);
	return false;
}

/* ---- the language of an execution ------------------------------------------------------------ */

bool context_for_code(struct host *host, const struct request *req, struct session *session,
		      const struct api_execute_in *in, struct context **ret)
{
	const char *own, *language = in->language;
	char message[160];

	if (!context_named(host, req, session, in->context, false, ret))
		return false;
	own = *ret != NULL ? (*ret)->row.language : session->row.language;
	if (language != NULL && strcmp(language, own) != 0) {
		if (*ret != NULL) {
			(void)snprintf(message, sizeof(message), "context %s is not of language %s",
				       (*ret)->row.id, language);
			front_fail(host, req->id, API_ERR_INVALID, message, "",
				  "leave one of the two out", 0);
			return false;
		}
		*ret = context_of_language(session, language);
		if (*ret == NULL)
			return is_room(host, req, session);
	}
	return is_room_to_wait(host, req, session, *ret);
}

/* ---- calls ---------------------------------------------------------------------------------- */

void handle_context_create(struct host *host, const struct request *req,
			   const struct api_context_create_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context;
	struct db_context *row;
	struct job *job;
	struct err err;

	if (session == NULL || !is_room(host, req, session))
		return;
	job = job_new(session, JOB_CONTEXT_OPEN, req->id);
	if (answer_take_env(job, &in->env, &err) < 0) {
		front_fail(host, req->id, API_ERR_INVALID, err.text, "", "", 0);
		job_free(job);
		return;
	}
	context = context_new(session);
	row = &context->row;
	if (job->box.env.len > 0 &&
	    buf_add(&row->env, job->box.env.data, job->box.env.len, &err) < 0)
		transaction_fail(host, &err);
	(void)snprintf(row->language, sizeof(row->language), "%s",
		       in->language != NULL ? in->language : session->row.language);
	(void)snprintf(row->cwd, sizeof(row->cwd), "%s", in->cwd != NULL ? in->cwd : "/mnt/data");
	(void)snprintf(row->template_name, sizeof(row->template_name), "%s",
		       in->template != NULL ? in->template : "");
	context_enqueue(session, context, job);
}

void handle_context_list(struct host *host, const struct request *req,
			 const struct api_context_list_in *in)
{
	const struct session *session = answer_session_named(host, req, in->session, false);
	struct api_context list[HOST_KERNELS_MAX * 2];
	size_t count = 0;

	if (session == NULL)
		return;
	for (const struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (context_is_live(at) && count < ARRAY_LEN(list))
			context_tell(at, &list[count++]);
	reply_context_list(host, req->id, &(struct api_contexts){ .contexts = { list, count } });
}

void handle_context_delete(struct host *host, const struct request *req,
			   const struct api_context_delete_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context;

	if (session == NULL ||
	    !context_named(host, req, session, in->context, false, &context) || context == NULL)
		return;
	context_delete(context, req->id);
}

void handle_restart(struct host *host, const struct request *req, const struct api_restart_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context;

	if (session != NULL && context_named(host, req, session, in->context, false, &context))
		context_restart(session, context, req->id);
}
