/*
 * kernel.c - calls to one kernel: variables, completion, inspection, interrupt.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; jobs that came back.
 * Never:    waits for a kernel.
 */
#include <stdio.h>

#include "host/calls/call.h"
#include "host/host.h"

void handle_interrupt(struct host *host, const struct request *req,
		      const struct api_interrupt_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context;
	struct job *running;
	bool runs;

	if (session == NULL || !context_named(host, req, session, in->context, false, &context))
		return;
	running = context != NULL ? context->running : session->queue.running;
	runs = running != NULL && running->execution != NULL;
	if (runs) {
		execution_want_stop(running->execution, EXECUTION_STOP_INTERRUPT);
		reckon_interrupt(context != NULL ? context->handle : session->box.handle);
	}
	reply_interrupt(host, req->id, &(struct api_interrupt_out){ .interrupted = runs });
}

void handle_variables(struct host *host, const struct request *req,
		      const struct api_variables_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context;

	if (session == NULL || !context_named(host, req, session, in->context, true, &context))
		return;
	if (in->has_wait && !in->wait &&
	    (context != NULL ? context->running : session->queue.running) != NULL) {
		front_fail(host, req->id, API_ERR_BUSY, "the kernel is busy", "",
			  "ask when what runs has ended, or without wait=0", 1);
		return;
	}
	context_enqueue(session, context, job_new(session, JOB_VARIABLES, req->id));
}

/* Common parameters of questions about code; a cursor of UINT64_MAX means the end. */
struct question {
	enum job_kind kind;
	const char *session, *context;
	struct api_bytes code;
	uint64_t cursor;
	bool wants_detail;
};

static void ask(struct host *host, const struct request *req, const struct question *question)
{
	struct session *session = answer_session_named(host, req, question->session, false);
	const struct api_bytes *code = &question->code;
	struct context *context;
	struct job *job;
	struct err err;

	if (session == NULL ||
	    !context_named(host, req, session, question->context, true, &context))
		return;
	if (question->cursor != UINT64_MAX && question->cursor > code->len) {
		front_fail(host, req->id, API_ERR_INVALID, "cursor is past the end of code", "",
			  "a byte offset from 0 to the length of code in UTF-8", 0);
		return;
	}
	job = job_new(session, question->kind, req->id);
	job->cursor = question->cursor != UINT64_MAX ? (size_t)question->cursor : code->len;
	if (question->wants_detail)
		job->how = JOB_HOW_DETAILED;
	if (code->len > 0 && buf_add(&job->code, code->data, code->len, &err) < 0) {
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", "", 0);
		job_free(job);
		return;
	}
	context_enqueue(session, context, job);
}

void handle_complete(struct host *host, const struct request *req,
		     const struct api_complete_in *in)
{
	ask(host, req,
	    &(struct question){ .kind = JOB_COMPLETE,
				.session = in->session,
				.context = in->context,
				.code = in->code,
				.cursor = in->has_cursor ? in->cursor : UINT64_MAX });
}

void handle_inspect(struct host *host, const struct request *req, const struct api_inspect_in *in)
{
	ask(host, req,
	    &(struct question){ .kind = JOB_INSPECT,
				.session = in->session,
				.context = in->context,
				.code = in->code,
				.cursor = in->has_cursor ? in->cursor : UINT64_MAX,
				.wants_detail = in->detail });
}

void handle_is_complete(struct host *host, const struct request *req,
			const struct api_is_complete_in *in)
{
	ask(host, req,
	    &(struct question){ .kind = JOB_IS_COMPLETE,
				.session = in->session,
				.context = in->context,
				.code = in->code,
				.cursor = UINT64_MAX });
}

void kernel_answer_job(struct host *host, struct job *job)
{
	const struct api_bytes json = { job->result.json, job->result.json_len };

	if (job->result.json == NULL)
		reply_done(host, job->request);
	else if (job->kind == JOB_VARIABLES)
		reply_variables(host, job->request, &(struct api_variables_out){ json });
	else if (job->kind == JOB_COMPLETE)
		reply_complete(host, job->request, &(struct api_complete_out){ json });
	else if (job->kind == JOB_IS_COMPLETE)
		reply_is_complete(host, job->request, &(struct api_is_complete_out){ json });
	else
		reply_inspect(host, job->request, &(struct api_inspect_out){ json });
}
