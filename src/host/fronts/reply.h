/*
 * reply.h - reply_NAME() for each row NAME of src/api/table sends the answer of that call.
 */
#pragma once

#include "api/calls.h"
#include "host/fronts/conn.h"

/* Does nothing if the client of `request` no longer waits. */
#define DECLARE_REPLY(NAME, name, takes, gives)                              \
	static inline void reply_##name(struct host *host, uint64_t request, \
					const struct api_##gives *out)       \
	{                                                                    \
		front_reply_call(host, request, &api_type_##gives, out);     \
	}
API_EACH_CALL(DECLARE_REPLY)
#undef DECLARE_REPLY

/* Answers a call that has no result. */
static inline void reply_done(struct host *host, uint64_t request)
{
	front_reply_call(host, request, &api_type_nothing, &(struct api_nothing){ 0 });
}
/* Answers a call that gives a struct api_download with an open file; closes `fd`. */
static inline void reply_download(struct host *host, uint64_t request,
				  const struct api_download *out, int fd)
{
	front_reply_call_fd(host, request, &api_type_download, out, fd);
}
