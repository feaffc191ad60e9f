/*
 * call.h - the calls of the field table: who handles each, and how it answers.
 *
 * For each row NAME of src/api/table there is handle_NAME(), which gets what the call takes, checked
 * and its key judged, and which answers once with reply_NAME(), or with one of fronts/conn.h's errors.
 */
#pragma once

#include "api/calls.h"
#include "host/calls/answer.h"

#define DECLARE_HANDLER(NAME, name, takes, gives)                                                  \
	void handle_##name(struct host *host, const struct request *req,                           \
			   const struct api_##takes *in);
API_EACH_CALL(DECLARE_HANDLER)
#undef DECLARE_HANDLER

/* Does nothing when nobody waits for `request` any more. */
#define DECLARE_REPLY(NAME, name, takes, gives)                              \
	static inline void reply_##name(struct host *host, uint64_t request, \
					const struct api_##gives *out)       \
	{                                                                    \
		front_reply_call(host, request, &api_type_##gives, out);     \
	}
API_EACH_CALL(DECLARE_REPLY)
#undef DECLARE_REPLY

/* Of a call that gives nothing but that it was done. */
static inline void reply_done(struct host *host, uint64_t request)
{
	front_reply_call(host, request, &api_type_nothing, &(struct api_nothing){ 0 });
}
/* A file that was opened, of the calls that give a struct api_download; `fd` is closed. */
static inline void reply_download(struct host *host, uint64_t request,
				  const struct api_download *out, int fd)
{
	front_reply_call_fd(host, request, &api_type_download, out, fd);
}
/* To one that waits for a record, or for the answer of a run. */
void call_reply_record(struct host *host, const struct waiter *waiter, struct api_bytes record);
void call_reply_answer(struct host *host, const struct waiter *waiter, struct api_bytes answer);

/* What a call that makes a session takes, as a struct session_wish, but for when it ends. */
#define SESSION_WISH_OF(in)                                                                        \
	{                                                                                          \
		.template_name = (in)->template,                                                   \
		.language = (in)->language,                                                        \
		.name = (in)->name,                                                                \
		.limits = session_limits_of((in)->limits),                                         \
		.metadata = (in)->metadata,                                                        \
		.has_idle = (in)->has_idle_timeout_ms,                                             \
		.idle_ms = (in)->idle_timeout_ms,                                                  \
		.policy = (in)->policy != NULL ? (in)->policy->isolate_cpu : 0,                    \
		.env = (in)->env,                                                                  \
	}
/* session_ends() of `expires_in_s` and `expires_at`. */
#define SESSION_ENDS(host, req, in, ret)                                                         \
	session_ends(host, req, (in)->has_expires_in_ms ? &(in)->expires_in_ms : NULL,           \
		     (in)->has_expires_at_ms ? &(in)->expires_at_ms : NULL, ret)

/* `asked` names its call, `in` is what that takes; its key was judged. */
void call_handle(struct host *host, const struct request *req, const void *in);
/* Answers a question to a kernel that was answered; false when the job was none. */
bool call_answer_job(struct host *host, const struct job *job);
/* The same of a job about files, which did what it should. */
bool files_answer_job(struct host *host, struct job *job);
