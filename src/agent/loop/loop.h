/*
 * loop.h - create, execute, observe, repair: one question until it is answered or a limit ends it.
 *
 *   loop.c    the question, its limits, how it ends
 *   conversation/parked.c  a conversation of another day; results that the application gives
 *   turn.c    one answer of the model: request, stream, retries
 *   step.c    what the answer wants to have run
 *   outcome.c what came of it, and what the model is told
 *   check.c   whether an answer says what the outputs say
 *   probe.c   which models the server has
 *   conversation/window.c  older output shortened when the conversation grows too long
 *   conversation/reading.c what of it the model wants to see again
 *   conversation/repeat.c  whether it goes in circles
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
	struct provider_ways ways; /* learned of the server */
	unsigned adapted;	   /* how often it had to be */
	struct err broken; /* why the conversation that was loaded is none */
	bool has_begun;	 /* a question was asked: no history can come before it any more */
	struct buf note; /* told with the next question */
	/* of the question that is being answered */
	struct agent_usage usage;
	uint64_t deadline_ns;
	struct repeats repeats;
	struct buf failed_code;	 /* that failed last */
	bool was_warned;	 /* of a failure that came before */
	unsigned calls_refused;	 /* in a row, because they could not be read */
	unsigned empty;		 /* answers */
	uint64_t readings;
	bool said_reading;	 /* how what was left out is read; of the whole conversation */
	uint64_t scale;		 /* percent by which a server counts more tokens than we */
	bool out_of_steps;	 /* the model was told to answer without further cells */
	bool no_images;		 /* the model turned out to take none */
	bool tried_again;	 /* after MODEL_STOP_MALFORMED */
	uint64_t calls;		 /* cells and calls of the application's tools, of this run */
	uint64_t numbered;	 /* ids that were made here */
	struct evidence evidence; /* numbers that the model was shown, of the whole conversation */
	struct agent_checked checked; /* of the last answer */
	bool is_application;	 /* the conversation is an application's: its turns are its own */
	bool asks_again;	 /* what was found is told to the model */
	bool is_correcting;	 /* it was, and may mend the answer that it had given: */
	struct buf first;
	const struct model_turn *first_turn;
	struct agent_checked first_checked;
	uint64_t first_steps;
	struct buf answer;	 /* when it is not the text of the last turn as it is */
};

/* How a part of the loop ends: go on, or stop with `stop` and perhaps an error to tell. */
struct loop_end {
	bool over;
	enum agent_stop stop;
	struct err why;
};

/* loop.c */
int loop_start(struct loop *loop, struct err *err);
/* Takes the history that is in loop->link. */
int loop_remember(struct loop *loop, struct err *err);
/* Takes the conversation that is in loop->link. */
int loop_talk(struct loop *loop, struct err *err);
/* Answers the question that is in loop->link; sends DONE. */
int loop_ask(struct loop *loop, struct err *err);
/* Whether the last answer has to obey a schema of the application's: it is shown when it does. */
bool loop_checks_answer(const struct loop *loop);
/* The same without a question: with the results of calls in loop->link, or the last message's. */
int loop_continue(struct loop *loop, struct err *err);
void loop_done(struct loop *loop);
/* Ends it with an error in the words given. */
void loop_stop(struct loop_end *end, enum agent_stop stop, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* probe.c: asks which models there are; sends MODELS, or DONE with what went wrong. */
int probe_take(struct loop *loop, struct err *err);

/* turn.c: adds one turn of the model to the conversation, or ends it. */
int turn_take(struct loop *loop, struct loop_end *end, struct err *err);

/* step.c: runs what the last turn wants; *ret_ran: something is to be told to the model. Ends with
 * AGENT_STOP_CALLS when the application's tools are called. */
int step_take(struct loop *loop, struct loop_end *end, bool *ret_ran, struct err *err);
