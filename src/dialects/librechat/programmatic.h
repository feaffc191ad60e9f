/*
 * programmatic.h - programs that call LibreChat's tools: declarations for /exec/programmatic.
 *
 *   programmatic.c   requests: a program, results of its calls, cancelling it
 *   round.c          one round: until the program calls tools or ends
 *   program_state.c  state stored between two rounds
 *   lend.c           tools as functions of the code
 */
#pragma once

#include "dialects/librechat/librechat.h"

#define LIBRECHAT_REQUEST_HEADER "x-librechat-code-request-id"
#define LIBRECHAT_TOKEN_SIZE (OURS_SIZE + 24)
#define LIBRECHAT_TOOLS_MAX 100u
#define LIBRECHAT_RESULTS_MAX 64u /* at most this many calls of one execution wait */
/* An execution has at most 64 tools: tools from this index on share one, which gets the index. */
#define LIBRECHAT_TOOLS_OWN 63u
#define LIBRECHAT_TOOL_MORE "more"
#define LIBRECHAT_OUTPUT_MAX (1u * 1024u * 1024u)

struct librechat_program {
	struct librechat_exec exec; /* its session, its inputs */
	char execution[OURS_SIZE];
	char etag[80];
	uint64_t round, after; /* number of the last event reported to the client */
	const struct json_value *tools; /* an array of their names */
	struct json_value *value;	/* the document that contains `tools`; or NULL */
};

/* ---- lend.c ---- */
/* Appends code that defines functions for the tools with these names. */
int librechat_lend(const struct json_value *names, bool is_bash, struct buf *ret, struct err *err);

/* ---- program_state.c ---- */
/* Here and below: negative means that an answer was sent. */
int program_keep(struct request *request, struct librechat_program *program);
/* Deletes its state and its session. */
void program_forget(struct request *request, const struct librechat_program *program);
void program_token(const struct librechat_program *program, char ret[LIBRECHAT_TOKEN_SIZE]);
bool program_token_read(const char *token, char ret_execution[OURS_SIZE], uint64_t *ret_round);
/* For the next round; store that with program_keep(). */
int program_find(struct request *request, const char *token, struct librechat_program *ret);
/* Finds the program that a request waits for, by the id in its header. 1: found; 0: none. */
int program_find_request(struct request *request, const char *id, struct librechat_program *ret);

/* ---- round.c ---- */
/* Waits until it calls tools or ends, and answers. */
void program_go_on(struct request *request, struct librechat_program *program);

/* ---- programmatic.c ---- */
void librechat_programmatic(struct request *request);
void librechat_cancel(struct request *request);
