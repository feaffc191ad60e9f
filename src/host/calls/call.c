/*
 * call.c - which function handles each call of the field table.
 *
 * Runs in:  reckond's loop.
 * Reads:    structs that passed api_check(), of callers that may ask this.
 * Never:    knows a field of what a call takes.
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

void call_reply_record(struct host *host, const struct waiter *waiter, struct api_bytes record)
{
	if (waiter->call == API_EXECUTE_ONCE)
		reply_execute_once(host, waiter->request,
				   &(struct api_execute_once_out){ .record = record });
	else
		reply_execute(host, waiter->request,
			      &(struct api_execute_out){ .record = record });
}

void call_reply_answer(struct host *host, const struct waiter *waiter, struct api_bytes answer)
{
	if (waiter->call == API_RUN_SHOW)
		reply_run_show(host, waiter->request,
			       &(struct api_run_show_out){ .answer = answer });
	else
		reply_run_create(host, waiter->request,
				 &(struct api_run_create_out){ .answer = answer });
}
