/*
 * reckon_answers.h - libreckon: answers to what running code asks: lines of input, calls of tools.
 *
 * As reckon.h, which has the rest.
 */
#ifndef RECKON_ANSWERS_H
#define RECKON_ANSWERS_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The mailbox of one execution, given to it in reckon_execute_options. The functions below may be
 * called from any thread while it runs; free it after reckon_execute() has returned.
 */
typedef struct reckon_answers reckon_answers;

RECKON_PUBLIC int reckon_answers_new(reckon_answers **ret, reckon_error *err);
RECKON_PUBLIC void reckon_answers_free(reckon_answers *answers); /* NULL is fine */

/*
 * A line for the `input_request` that waits, of which `seq` is the event's; 0: whichever it is. NULL:
 * the end of input. RECKON_ENOT_FOUND: it waits no more.
 */
RECKON_PUBLIC int reckon_answers_input(reckon_answers *answers, uint64_t seq, const char *line,
				       size_t len, reckon_error *err);

enum {
	RECKON_TOOL_VALUE,  /* `text` is JSON, what the call returns */
	RECKON_TOOL_ERROR,  /* `text` says what failed */
	RECKON_TOOL_DENIED /* `text` says why it may not be called */
};
#define RECKON_TOOL_TEXT_MAX (5u * 1024u * 1024u)

/* For the `tool_call` of this id. RECKON_ENOT_FOUND: it was answered, or there is none. */
RECKON_PUBLIC int reckon_answers_tool(reckon_answers *answers, const char *call, int kind,
				      const char *text, size_t len, reckon_error *err);

/* How many calls wait for their answers. */
RECKON_PUBLIC size_t reckon_answers_waiting(reckon_answers *answers);

/* A tool that code may call. */
typedef struct reckon_tool {
	const char *name;	 /* an identifier */
	const char *description; /* or NULL */
	const char *parameters;	 /* JSON Schema of its arguments, an object, or NULL */
} reckon_tool;

/* What the code of an execution may ask. */
typedef struct reckon_questions {
	reckon_answers *answers;
	int input;		  /* input() asks, unless has_stdin or on_input is given */
	const reckon_tool *tools; /* that it may call */
	size_t tool_count;
	uint64_t wait_ms; /* that it may wait for answers in all; 0: 600 s */
} reckon_questions;

#ifdef __cplusplus
}
#endif

#endif
