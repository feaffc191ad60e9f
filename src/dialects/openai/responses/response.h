/*
 * response.h - a response: a model's run, written while it runs or again later.
 *
 *   response.c         a new response
 *   response_write.c   its JSON
 *   response_follow.c  converts a run's events into items, a stream and an end
 *   stored.c           its stored document
 *   stored_ids.c       requests with its id
 *   replay.c           an earlier response: show, stream again, end
 *
 * The order and the run's events determine everything in it, even the numbers of its own events: so
 * each request that shows it gives the same result.
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
	const struct json_value *document; /* its document, for an earlier response; or NULL */
	bool is_cancelled; /* the client cancelled it */
	bool is_known;	   /* its end is already stored */
	bool is_unstored;  /* its end could not be stored: it says so with "store": false */
	bool is_silent;	   /* its end is stored, but not sent */
};

/* ---- response_write.c ---- */
/* `answer` NULL: it has not ended, or has no answer. */
int response_write(const struct response *response, const char *status, const char *why,
		   const struct json_value *answer, struct buf *ret);
/* Why it is incomplete; NULL: it is complete. */
const char *response_reason(const struct json_value *answer);
bool response_has_failed(const struct json_value *answer);

/* ---- response_follow.c ---- */
/* If `order->is_stream`: sends the head and the first events. */
int response_begin(struct response *response);
/* Follows it to the end, which it sends and stores. */
void response_follow(struct response *response);
/* Reads the events so far: 0; 1: it has ended, and was answered; negative: the client is gone. */
int response_look(struct response *response);
void response_done(struct response *response);

/* ---- stored.c ---- */
/* Stores a response; `whole` NULL: it has not ended. */
int stored_keep(struct request *request, const struct response *response, const struct buf *whole);
/* Finds the document: "response", "request", "input", "created_at", "is_cancelled". May refuse. */
int stored_find(struct request *request, const char *id, struct json_value **ret);
int stored_mark_cancelled(struct request *request, const char *id);

/* ---- replay.c ---- */
void replay_show(struct request *request, const char *id);
void replay_stream(struct request *request, const char *id, uint64_t after);
void replay_cancel(struct request *request, const char *id);
/* 1: its end is stored; 0: it is running; negative: the client is gone. */
int replay_settle(struct request *request, const char *id);
/* Interrupts a run, and waits for its end. */
int replay_stop(struct request *request, const char *run);
