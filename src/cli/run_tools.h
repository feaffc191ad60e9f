/* run_tools.h - tools of reckon run --tools: programs of ours that the code may call. */
#pragma once

#include "base/err.h"
#include "reckon_answers.h"

struct run_tools;

/* A file as in docs/questions.md; *ret belongs to the caller. */
int run_tools_load(const char *path, struct run_tools **ret, struct err *err);
void run_tools_free(struct run_tools *tools); /* NULL is fine */

/* Around each cell. NULL: there is no mailbox, and so no tools. */
const reckon_questions *run_tools_begin(struct run_tools *tools);
void run_tools_event(struct run_tools *tools, const reckon_event *event);
void run_tools_end(struct run_tools *tools); /* programs that still run are ended */
