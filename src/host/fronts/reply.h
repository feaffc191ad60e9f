/*
 * reply.h - reply_NAME() for each row NAME of src/api/table: the answer of that call.
 */
#pragma once

#include "api/calls.h"
#include "host/fronts/conn.h"

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
