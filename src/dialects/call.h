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
 * The request's own key goes along; reckond judges it, its scope and quota, for each call anew.
 * What a call gives lives as long as its struct call, which may be used again for the next one.
 */
#pragma once

#include "api/arena.h"
#include "api/calls.h"
#include "codec/json_read.h"
#include "httpd/httpd.h"

struct call {
	enum api_id id;
	uint64_t frame; /* by which reckond knows it, for upstream_cancel_when_gone() */
	struct arena arena;
	struct upstream_reply reply;	   /* `fd`: what came along, taken with TAKE_FD or closed */
	const struct api_failure *failure; /* of a call that failed */
	/* JSON that is the whole answer and came as a file: `out` shows it, answer_file() can send
	 * `reply.fd` as it is. 0: none. */
	uint64_t apart_len;
	void *apart;
};
#define CALL_INIT ((struct call){ .reply = UPSTREAM_REPLY_INIT })
void call_done(struct call *call);
#define cleanup_call __attribute__((cleanup(call_done)))

enum call_status {
	CALL_GONE = -1, /* nobody waits for an answer any more: return */
	CALL_OK = 0,
	CALL_FAILED = 1, /* call->failure says why */
	CALL_WAITS = 2,	 /* no answer yet */
};

/* Makes it, and waits for the answer however long that takes. `out` may be NULL. */
enum call_status call_make(struct request *request, enum api_id id, const void *in, void *out,
			   struct call *call);
/* The same in two steps, so that something can be done between: ask, then take once or more. */
enum call_status call_ask(struct request *request, enum api_id id, const void *in,
			  struct call *call);
enum call_status call_take(struct request *request, uint64_t wait_ms, void *out,
			   struct call *call);
/* Negative when there is nothing more to do: a failure was answered by the dialect's refuse(). */
int call_or_refuse(struct request *request, enum api_id id, const void *in, void *out,
		   struct call *call);
/* Negative: nobody waits for an answer any more. */
int call_delete_document(struct request *request, const char *collection, const char *id);

/* Answers with what a call failed with, in the dialect's form; `more` of the refusal is it. */
void call_refuse(struct request *request, const struct api_failure *failure);

/* Whether the request may go on: its key is good. For what has a long body, before that is read. */
int call_check_key(struct request *request);
/* Its body: one JSON object, of at most so many bytes; json_read_free() it. The key is checked first. */
int call_json_body(struct request *request, size_t max, struct json_value **ret);
