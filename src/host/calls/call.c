/*
 * call.c - the function that handles each call of the field table.
 *
 * Runs in:  reckond's loop.
 * Reads:    structs that passed api_check(), for callers with the necessary rights.
 * Never:    uses a field of the arguments.
 */
#include "host/calls/call.h"

typedef void handle_fn(struct host *host, const struct request *req, const void *in);

#define DEFINE_HANDLER(NAME, name, takes, gives)                                                   \
	static void handle_any_##name(struct host *host, const struct request *req,                \
				      const void *in)                                              \
	{                                                                                          \
		handle_##name(host, req, in);                                                    \
	}
API_EACH_CALL(DEFINE_HANDLER)
#undef DEFINE_HANDLER

static handle_fn *const handlers[API_CALL_COUNT] = {
#define NAME_HANDLER(NAME, name, takes, gives) [API_##NAME] = handle_any_##name,
	API_EACH_CALL(NAME_HANDLER)
#undef NAME_HANDLER
};

void call_handle(struct host *host, const struct request *req, const void *in)
{
	handlers[req->call - api_calls](host, req, in);
}
