/*
 * call.h - the calls of the field table: who handles each, and how it answers.
 *
 * For each row NAME of src/api/table there is handle_NAME(), which gets what the call takes, checked
 * and its key judged, and which answers once with reply_NAME(), or with one of peer.h's errors.
 */
#pragma once

#include "api/calls.h"
#include "host/answer.h"

#define DECLARE_HANDLER(NAME, name, takes, gives)                                                  \
	void handle_##name(struct host *host, const struct asked *asked,                           \
			   const struct api_##takes *in);
API_EACH_CALL(DECLARE_HANDLER)
#undef DECLARE_HANDLER

/* Does nothing when nobody waits for `request` any more. */
#define DECLARE_REPLY(NAME, name, takes, gives)                                                    \
	static inline void reply_##name(struct host *host, uint64_t request,                       \
					const struct api_##gives *out)                             \
	{                                                                                          \
		peer_reply_call(host, request, &api_type_##gives, out);                            \
	}
API_EACH_CALL(DECLARE_REPLY)
#undef DECLARE_REPLY

/* `asked` names its call, `in` is what that takes; its key was judged. */
void call_handle(struct host *host, const struct asked *asked, const void *in);
/* Answers a question to a kernel that was answered; false when the job was none. */
bool call_answer_job(struct host *host, const struct job *job);
