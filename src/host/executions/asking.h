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

/* Whether the tools are such; answers when they are not. */
bool asking_is_good(struct host *host, const struct request *req, const struct api_list *tools);
/* Whether a session may keep as much; answers when it may not. */
bool asking_fits(struct host *host, const struct request *req, const struct api_list *tools);
/* For the session's row; NULL: there are none. */
char *asking_keep(const struct api_list *tools);
/* *ret NULL: it may ask nothing. Without tools of its own it has the session's. */
int asking_new(const struct session *session, const struct api_execute_in *in, struct asking **ret,
	       struct err *err);
int asking_once(const struct session *session, const struct api_execute_once_in *in,
		struct asking **ret, struct err *err);
/* The same with tools that asking_keep() wrote. */
int asking_kept(struct host *host, const char *tools, uint64_t wait_ms, struct asking **ret,
		struct err *err);
/* Whether calls wait for the client; NULL: none. */
bool asking_waits(const struct asking *asking);
/* A line that it waits for; `text` NULL: the end of the input. */
int asking_input(struct asking *asking, uint64_t seq, const char *text, reckon_error *error);
/* False: that call had its answer, or nobody asked. */
bool asking_give(struct asking *asking, const struct api_tool_result *result);
void asking_free(struct asking *asking); /* NULL is fine */
/* For its thread; NULL is fine. */
const reckon_questions *asking_questions(const struct asking *asking);
