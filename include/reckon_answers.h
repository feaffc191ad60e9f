/*
 * reckon_answers.h - libreckon: answers questions of running code: lines of input, tool calls.
 *
 * An addition to reckon.h, with the same rules.
 */
#ifndef RECKON_ANSWERS_H
#define RECKON_ANSWERS_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The mailbox for answers to one execution, passed in reckon_execute_options. The functions below
 * can be called from any thread during the execution; free the mailbox after reckon_execute() has
 * returned.
 */
typedef struct reckon_answers reckon_answers;

RECKON_PUBLIC int reckon_answers_new(reckon_answers **ret, reckon_error *err);
RECKON_PUBLIC void reckon_answers_free(reckon_answers *answers); /* NULL is fine */

/*
 * Answers the pending `input_request` with a line; `seq` is that of the event, or 0 for any. NULL:
 * end of input. RECKON_ENOT_FOUND: it is not pending.
 */
RECKON_PUBLIC int reckon_answers_input(reckon_answers *answers, uint64_t seq, const char *line,
				       size_t len, reckon_error *err);

enum {
	RECKON_TOOL_VALUE,  /* `text` is JSON, the call's result */
	RECKON_TOOL_ERROR,  /* `text` says what failed */
	RECKON_TOOL_DENIED /* `text` says why the call is denied */
};
#define RECKON_TOOL_TEXT_MAX (5u * 1024u * 1024u)

/* Answers the `tool_call` with this id. RECKON_ENOT_FOUND: it was already answered, or does not
 * exist. */
RECKON_PUBLIC int reckon_answers_tool(reckon_answers *answers, const char *call, int kind,
				      const char *text, size_t len, reckon_error *err);

/* The number of pending calls. */
RECKON_PUBLIC size_t reckon_answers_waiting(reckon_answers *answers);

/* A tool that code may call. */
typedef struct reckon_tool {
	const char *name;	 /* an identifier */
	const char *description; /* or NULL */
	const char *parameters;	 /* JSON Schema of its arguments (an object), or NULL */
} reckon_tool;

/* What the code of an execution may ask. */
typedef struct reckon_questions {
	reckon_answers *answers;
	int input;		  /* input() asks, unless has_stdin or on_input is set */
	const reckon_tool *tools; /* that the code may call */
	size_t tool_count;
	uint64_t wait_ms; /* total time that the code may wait for answers; 0: 600 s */
} reckon_questions;

#ifdef __cplusplus
}
#endif

#endif
