/* tools.h - tools of reckon run --tools: programs of ours that the code may call. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "reckon_answers.h"

struct run_tools;

/* A file as in docs/questions.md; *ret belongs to the caller. */
/* `approve`: a person is asked before each call. */
int run_tools_load(const char *path, bool approve, struct run_tools **ret, struct err *err);
void run_tools_free(struct run_tools *tools); /* NULL is fine */

/* Takes an answer, from any thread, as reckon_answers_tool() does. */
typedef void run_tools_answer_fn(const char *call, int kind, const char *text, size_t len,
				 void *arg);

/* The declarations, as a request has them. */
struct json_writer;
int run_tools_declare(const struct run_tools *tools, struct json_writer *json, struct err *err);

/* Around each cell; begin_for(): of one that runs elsewhere. NULL: there is no mailbox, and so no tools. */
const reckon_questions *run_tools_begin(struct run_tools *tools);
void run_tools_begin_for(struct run_tools *tools, run_tools_answer_fn *taker, void *arg);
void run_tools_event(struct run_tools *tools, const reckon_event *event);
void run_tools_end(struct run_tools *tools); /* programs that still run are ended */
