/*
 * outcome.h - what became of a question: its steps, the files they left, and the whole as one object
 * of JSON (docs/ask.schema.json).
 *
 * Records are kept as they came, up to a sum; past it a step is told without. Files are kept as
 * they were in the end: a later change of the same path takes the place of an earlier one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

#define OUTCOME_FILES_MAX 4096u /* more are not listed */

struct outcome_step {
	char *prose; /* what the model said before it */
	char *code;
	char *command; /* JSON: which one of a call of the shell it is; NULL: it is a cell */
	char *status;	 /* of its record, or "refused" */
	char *execution; /* its id; NULL: it did not run */
	char *record;	 /* or NULL */
};

struct outcome_file {
	char *path, *mime, *sha256, *artifact; /* all but `path` or NULL */
	uint64_t size;
	bool is_deleted;
};

struct outcome {
	size_t records_max; /* bytes of all records */
	size_t record_bytes;
	struct outcome_step *steps;
	size_t step_count;
	struct outcome_file *files;
	size_t file_count;
};

void outcome_init(struct outcome *outcome, size_t records_max);
void outcome_done(struct outcome *outcome);

/* A step that has not run. Everything is copied, here and below. */
void outcome_add_step(struct outcome *outcome, const char *prose, size_t prose_len,
		      const char *code, size_t code_len);
/* The last step is a command. */
void outcome_set_command(struct outcome *outcome, const char *json, size_t len);
/* The last step runs, as this execution. */
void outcome_begin_step(struct outcome *outcome, const char *execution);
/* What became of the last step; `execution` and `record` may be NULL. */
void outcome_end_step(struct outcome *outcome, const char *status, const char *execution,
		    const char *record);
/* A change as in a record: "created", "modified", "deleted". */
void outcome_add_file(struct outcome *outcome, const char *change, const struct outcome_file *file);

/* A call of the application's tools that waits for its result. */
struct outcome_call {
	const char *id, *name;
	const char *arguments; /* of a model: an object, or whatever it wrote */
};

/* What of an answer was looked up, and where nothing was found; texts are lent. */
struct outcome_checked {
	bool is_checked; /* false: nothing was looked up */
	uint64_t numbers, links;
	uint64_t unsupported; /* of both; at most AGENT_CLAIMS_MAX are in the list */
	struct outcome_claim {
		bool is_link;
		const char *text;
		size_t len;
	} claims[AGENT_CLAIMS_MAX];
	size_t count;
};

/* `answer` is that of the DONE that `checked` came with. */
void outcome_read_checked(const struct agent_checked *checked, const char *answer, size_t len,
			  struct outcome_checked *ret);

/* The rest of the object. */
struct outcome_frame {
	const char *run;     /* an id of the whole; NULL: no such member */
	const char *session; /* likewise */
	const char *model;   /* PROVIDER/NAME */
	const char *question;
	size_t question_len;
	const char *answer; /* NULL: null */
	size_t answer_len;
	const struct outcome_checked *checked; /* NULL: nothing was looked up */
	const char *stop;
	const char *message; /* NULL or "": null */
	const struct agent_usage *usage;
	const struct outcome_call *calls; /* none: no such member */
	size_t call_count;
	bool has_price;
	const char *link; /* what stands before an artifact's id in its "url"; NULL: no such member */
};

struct json_writer;
/* The members "usage" and "cost" of an object. */
void outcome_write_usage(struct json_writer *writer, const struct agent_usage *usage);
void outcome_write_cost(struct json_writer *writer, const struct agent_usage *usage,
			bool has_price);
/* "checked" */
void outcome_write_checked(struct json_writer *writer, const struct outcome_checked *checked);
/* Appends the object, without a newline. */
int outcome_write(const struct outcome *outcome, const struct outcome_frame *frame, struct buf *ret,
		struct err *err);
