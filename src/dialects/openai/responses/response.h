/*
 * response.h - a response: a run of a model, told as it goes on or once more later.
 *
 *   response.c         one that is asked for
 *   response_write.c   its JSON
 *   response_follow.c  its events become its items, its stream and its end
 *   stored.c           what is kept of it: a document
 *   stored_ids.c       by its id: which method is what
 *   replay.c           one that was begun before: shown as it is now, streamed again, ended
 *
 * What it is follows from the order and the events of its run, numbers of its own events included: so
 * each request that tells of it says the same.
 */
#pragma once

#include "dialects/openai/openai.h"

struct response {
	struct request *request;
	struct order *order;
	struct run run;
	struct items items;
	char id[NAME_SIZE];
	uint64_t created_s;
	const struct json_value *kept; /* what is told later: its document; NULL */
	bool is_cancelled; /* the client ended it */
	bool is_known;	   /* its end is kept already */
	bool is_silent;	   /* its end is kept, and not answered */
};

/* ---- response_write.c ---- */
/* `answer` NULL: it has not ended, or has none. */
int response_write(const struct response *response, const char *status, const char *why,
		   const struct json_value *answer, struct buf *ret);
/* Why it is not complete; NULL: it is. */
const char *response_reason(const struct json_value *answer);
bool response_has_failed(const struct json_value *answer);

/* ---- response_follow.c ---- */
/* `order->is_stream`: its head and first events. */
int response_begin(struct response *response);
/* Up to its end, which is answered and kept. */
void response_follow(struct response *response);
/* What there is now: 0; 1: it has ended, and is answered; negative: nobody is left. */
int response_look(struct response *response);
void response_done(struct response *response);

/* ---- stored.c ---- */
/* Keeps what is known of a response; `whole` NULL: it has not ended. */
int stored_keep(struct request *request, const struct response *response, const struct buf *whole);
/* What is kept: "response", "request", "input", "created_at", "is_cancelled". Refuses. */
int stored_find(struct request *request, const char *id, struct json_value **ret);
int stored_mark_cancelled(struct request *request, const char *id);

/* ---- replay.c ---- */
void replay_show(struct request *request, const char *id);
void replay_stream(struct request *request, const char *id, uint64_t after);
void replay_cancel(struct request *request, const char *id);
/* 1: what it came to is kept; 0: it goes on; negative: nobody is left. */
int replay_settle(struct request *request, const char *id);
/* Interrupts a run, and waits for its end. */
int replay_stop(struct request *request, const char *run);
