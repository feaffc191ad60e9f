/*
 * loop.h - runs one question until it is answered or a limit ends it.
 *
 *   loop.c    the question, its limits, how it ends
 *   conversation/parked.c  loads a stored conversation; results of the application
 *   turn.c    one answer of the model: request, stream, retries
 *   step.c    runs the cells and calls of an answer
 *   outcome.c handles their results, and what the model is told
 *   check.c   checks an answer against the outputs
 *   probe.c   lists the server's models
 *   conversation/window.c  shortens older output when the conversation grows too long
 *   conversation/reading.c the model's requests to read it again
 *   conversation/repeat.c  detects repetition
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/claims/evidence.h"
#include "agent/conversation/conversation.h"
#include "agent/link.h"
#include "agent/conversation/model.h"
#include "agent/net.h"
#include "agent/formats/provider.h"
#include "agent/conversation/repeat.h"
#include "agent/conversation/window.h"
#include "wire/agent.h"

struct loop {
	struct link *link;
	struct net *net;
	const struct provider *provider;
	struct agent_settings settings;
	char *model, *base_url, *key, *language, *headers, *tools;
	struct model_conversation conv;
	struct conversation conversation;
	struct provider_ways ways; /* deviations of the server that were found */
	unsigned adapted;	   /* number of adaptations */
	struct err broken; /* why the loaded conversation is invalid */
	bool has_begun;	 /* after the first question no history is accepted */
	struct buf note; /* sent with the next question */
	/* the rest is about the current question */
	struct agent_usage usage;
	uint64_t deadline_ns;
	struct repeats repeats;
	struct buf failed_code;	 /* the code that failed last */
	bool was_warned;	 /* of a failure of an earlier question */
	unsigned calls_refused;	 /* in a row, because they could not be parsed */
	unsigned empty;		 /* empty or rejected answers in a row */
	uint64_t readings;
	/* the model was told how to read omitted output; for the whole conversation */
	bool is_reading_explained;
	uint64_t scale;		 /* the server's token count as a percentage of our estimate */
	bool out_of_steps;	 /* the model was told to answer without further cells */
	bool no_images;		 /* the model refused images */
	bool tried_again;	 /* after MODEL_STOP_MALFORMED */
	uint64_t calls;		 /* cells and calls of the application's tools, in this run */
	uint64_t numbered;	 /* ids generated here */
	struct evidence evidence; /* numbers that the model was shown, in the whole conversation */
	struct agent_checked checked; /* of the last answer */
	bool is_application;	 /* the application controls the conversation's turns */
	bool asks_again;	 /* the model has to be told of unsupported claims */
	bool is_correcting;	 /* it was told, and may correct its answer, which is: */
	struct buf first;
	const struct model_turn *first_turn;
	struct agent_checked first_checked;
	uint64_t first_steps;
	struct buf answer;	 /* if it differs from the last turn's text */
};

/* The result of a part of the loop: continue, or end with `stop` and maybe an error. */
struct loop_end {
	bool over;
	enum agent_stop stop;
	struct err why;
};

/* loop.c */
int loop_start(struct loop *loop, struct err *err);
/* Loads the history in loop->link. */
int loop_remember(struct loop *loop, struct err *err);
/* Loads the conversation in loop->link. */
int loop_load_conversation(struct loop *loop, struct err *err);
/* Answers the question in loop->link; sends DONE. */
int loop_ask(struct loop *loop, struct err *err);
/*
 * Whether the last answer must be valid by the application's schema: then it is only shown if it
 * is.
 */
bool loop_checks_answer(const struct loop *loop);
/* The same without a question: with the results of calls in loop->link, or for the last message. */
int loop_continue(struct loop *loop, struct err *err);
void loop_done(struct loop *loop);
/* Ends the question with this error. */
void loop_stop(struct loop_end *end, enum agent_stop stop, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* probe.c: lists the server's models; sends MODELS, or DONE with the error. */
int probe_take(struct loop *loop, struct err *err);

/* turn.c: adds one turn of the model to the conversation, or ends the question. */
int turn_take(struct loop *loop, struct loop_end *end, struct err *err);

/*
 * step.c: runs what the last turn calls; *ret_ran: the model has to get results. Ends with
 * AGENT_STOP_CALLS if the application's tools are called.
 */
int step_take(struct loop *loop, struct loop_end *end, bool *ret_ran, struct err *err);
