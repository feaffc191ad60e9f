/*
 * call.h - the calls of the field table: who handles each, and how it answers.
 *
 * For each row NAME of src/api/table there is handle_NAME(), which gets what the call takes, checked
 * and its key judged, and which answers once with reply_NAME(), or with one of fronts/conn.h's errors.
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

/* What a call that makes a session takes, as a struct session_params, but for when it ends. */
#define SESSION_PARAMS_OF(in)                                                                     \
	{                                                                                         \
		.template_name = (in)->template, .language = (in)->language, .name = (in)->name,  \
		.limits = session_limits_of((in)->limits), .metadata = (in)->metadata,            \
		.has_idle = (in)->has_idle_timeout_ms, .idle_ms = (in)->idle_timeout_ms,          \
		.policy = (in)->policy != NULL ? (in)->policy->isolate_cpu : 0, .env = (in)->env, \
	}
/* session_ends() of `expires_in_s` and `expires_at`. */
#define SESSION_ENDS(host, req, in, ret)                                                         \
	session_ends(host, req, (in)->has_expires_in_ms ? &(in)->expires_in_ms : NULL,           \
		     (in)->has_expires_at_ms ? &(in)->expires_at_ms : NULL, ret)

/* `asked` names its call, `in` is what that takes; its key was judged. */
void call_handle(struct host *host, const struct request *req, const void *in);
/* Answers a question to a kernel that was answered. */
void kernel_answer_job(struct host *host, struct job *job);
