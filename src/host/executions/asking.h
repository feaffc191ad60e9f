/* asking.h - what the code of an execution may ask its client: lines of input, calls of tools. */
#pragma once

#include <stdbool.h>

#include "api/calls.h"
#include "base/err.h"
#include "reckon_answers.h"

struct request;
struct asking;
struct host;
struct session;

/* Whether the tools' names are valid and distinct; if not, answers the request. */
bool asking_is_good(struct host *host, const struct request *req, const struct api_list *tools);
/* Whether the tools fit into a session's row; if not, answers the request. */
bool asking_fits(struct host *host, const struct request *req, const struct api_list *tools);
/* The tools as JSON for the session's row; NULL if there are none. */
char *asking_keep(const struct api_list *tools);
/* *ret is NULL if the code may ask nothing. A request without tools uses those of the session. */
int asking_new(const struct session *session, const struct api_execute_in *in, struct asking **ret,
	       struct err *err);
int asking_once(const struct session *session, const struct api_execute_once_in *in,
		struct asking **ret, struct err *err);
/* The same with tools that asking_keep() encoded. */
int asking_from_json(struct host *host, const char *tools, uint64_t wait_ms, struct asking **ret,
		     struct err *err);
/* Whether calls wait for an answer of the client; `asking` may be NULL. */
bool asking_waits(const struct asking *asking);
/* Answers a question for input; `text` NULL: the end of the input. */
int asking_input(struct asking *asking, uint64_t seq, const char *text, reckon_error *error);
/* False: the call is already answered, or does not exist. */
bool asking_give(struct asking *asking, const struct api_tool_result *result);
void asking_free(struct asking *asking); /* NULL is fine */
/* For the thread that executes the code; `asking` may be NULL. */
const reckon_questions *asking_questions(const struct asking *asking);
