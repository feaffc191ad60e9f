/*
 * call.h - the calls of the field table and their handlers.
 *
 * For each row NAME of src/api/table there is handle_NAME(). It gets checked arguments of a call
 * whose key has been checked, too, and answers once, with reply_NAME() or an error of
 * fronts/conn.h.
 */
#pragma once

#include "api/calls.h"
#include "host/calls/answer.h"
#include "host/fronts/reply.h"

#define DECLARE_HANDLER(NAME, name, takes, gives)                                                  \
	void handle_##name(struct host *host, const struct request *req,                           \
			   const struct api_##takes *in);
API_EACH_CALL(DECLARE_HANDLER)
#undef DECLARE_HANDLER

/* A struct session_params from the arguments of a call that makes a session, without its expiry. */
#define SESSION_PARAMS_OF(in)                                                                     \
	{                                                                                         \
		.template_name = (in)->template, .language = (in)->language, .name = (in)->name,  \
		.limits = session_limits_of((in)->limits), .metadata = (in)->metadata,            \
		.has_idle = (in)->has_idle_timeout_ms, .idle_ms = (in)->idle_timeout_ms,          \
		.policy = (in)->policy != NULL ? (in)->policy->isolate_cpu : 0, .env = (in)->env, \
	}
/* Calls session_ends() with `expires_in_s` and `expires_at`. */
#define SESSION_ENDS(host, req, in, ret)                                                         \
	session_ends(host, req, (in)->has_expires_in_ms ? &(in)->expires_in_ms : NULL,           \
		     (in)->has_expires_at_ms ? &(in)->expires_at_ms : NULL, ret)

/* Calls the handler of req->call; `in` has its arguments. The key must have been checked. */
void call_handle(struct host *host, const struct request *req, const void *in);
/* Answers a request for which a kernel has answered. */
void kernel_answer_job(struct host *host, struct job *job);
