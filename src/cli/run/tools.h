/*
 * tools.h - tools of reckon run --tools: local programs that the code may call.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "reckon_answers.h"

struct run_tools;

/*
 * Loads a file as in docs/questions.md; run_tools_free() frees *ret. `approve`: a person has to
 * approve each call.
 */
int run_tools_load(const char *path, bool approve, struct run_tools **ret, struct err *err);
void run_tools_free(struct run_tools *tools); /* NULL is fine */

/* Delivers an answer, as reckon_answers_tool() does; called from any thread. */
typedef void run_tools_answer_fn(const char *call, int kind, const char *text, size_t len,
				 void *arg);

/* Writes the declarations as a member of a request. */
struct json_writer;
int run_tools_declare(const struct run_tools *tools, struct json_writer *json, struct err *err);

/*
 * Call around each cell; begin_for() is for a cell that runs at a daemon. Returns NULL if there are
 * no tools, or no mailbox can be made.
 */
const reckon_questions *run_tools_begin(struct run_tools *tools);
void run_tools_begin_for(struct run_tools *tools, run_tools_answer_fn *taker, void *arg);
void run_tools_event(struct run_tools *tools, const reckon_event *event);
void run_tools_end(struct run_tools *tools); /* kills programs that still run */
