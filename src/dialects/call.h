/*
 * call.h - typed calls of the field table, as a handler makes them.
 *
 *   cleanup_call struct call call = CALL_INIT;
 *   struct api_session_show_out out;
 *
 *   if (call_or_refuse(request, API_SESSION_SHOW, &(struct api_session_show_in){ .session = id },
 *                      &out, &call) < 0)
 *           return;
 *
 * Each call sends the request's key; reckond checks it, its scope and its quota every time. The
 * result lives as long as the struct call, which can be reused for the next call.
 */
#pragma once

#include "api/arena.h"
#include "api/calls.h"
#include "codec/json_read.h"
#include "httpd/httpd.h"

struct call {
	enum api_id id;
	uint64_t frame; /* its id at reckond, for upstream_cancel_when_gone() */
	struct arena arena;
	struct upstream_reply reply;	   /* take its `fd` with TAKE_FD; otherwise it is closed */
	const struct api_failure *failure; /* of a call that failed */
	/* Length of a JSON answer that came as a file: `out` shows it, and answer_file() can send
	 * `reply.fd` unchanged. 0: none. */
	uint64_t apart_len;
	void *apart;
};
#define CALL_INIT ((struct call){ .reply = UPSTREAM_REPLY_INIT })
void call_done(struct call *call);
#define cleanup_call __attribute__((cleanup(call_done)))

enum call_status {
	CALL_GONE = -1, /* the client is gone: return */
	CALL_OK = 0,
	CALL_FAILED = 1, /* call->failure says why */
	CALL_WAITS = 2,	 /* no reply yet */
};

/* Makes a call and waits for the reply without a time limit. `out` may be NULL. */
enum call_status call_make(struct request *request, enum api_id id, const void *in, void *out,
			   struct call *call);
/* The same in two steps, with other work in between: ask once, then take until it succeeds. */
enum call_status call_ask(struct request *request, enum api_id id, const void *in,
			  struct call *call);
enum call_status call_take(struct request *request, uint64_t wait_ms, void *out,
			   struct call *call);
/* Negative if there is nothing more to do: the dialect's refuse() has answered a failure. */
int call_or_refuse(struct request *request, enum api_id id, const void *in, void *out,
		   struct call *call);
/* Negative: nobody waits for an answer any more. */
int call_delete_document(struct request *request, const char *collection, const char *id);

/* Answers with a call's failure in the dialect's form; `more` of the refusal points to it. */
void call_refuse(struct request *request, const struct api_failure *failure);

/* Checks the request's key, or refuses. For requests with a long body, before reading it. */
int call_check_key(struct request *request);
/* Checks the key, then reads the body: one JSON object of at most `max` bytes; free it with
 * json_read_free(). */
int call_json_body(struct request *request, size_t max, struct json_value **ret);
