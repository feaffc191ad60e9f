/*
 * outcome.h - the outcome of a question: its steps, the files they changed, and all of it as one
 * JSON object (docs/ask.schema.json).
 *
 * Records are kept unchanged up to a total size; later steps have no record. For each file only the
 * last change counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

#define OUTCOME_FILES_MAX 4096u /* more are not listed, but counted */

struct outcome_step {
	char *prose; /* what the model said before it */
	char *code;
	char *command; /* JSON: which command of a shell call this is; NULL: a cell */
	char *status;	 /* of its record, or "refused" */
	char *execution; /* its id; NULL: the step did not run */
	char *record;	 /* or NULL */
};

struct outcome_file {
	char *path, *mime, *sha256, *artifact; /* all but `path` may be NULL */
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
	uint64_t files_left_out; /* changes of further files */
};

void outcome_init(struct outcome *outcome, size_t records_max);
void outcome_done(struct outcome *outcome);

/* Adds a step that has not run yet. This and the next functions copy everything. */
void outcome_add_step(struct outcome *outcome, const char *prose, size_t prose_len,
		      const char *code, size_t code_len);
/* Marks the last step as a shell command. */
void outcome_set_command(struct outcome *outcome, const char *json, size_t len);
/* The last step runs as this execution. */
void outcome_begin_step(struct outcome *outcome, const char *execution);
/* Ends the last step; `execution` and `record` may be NULL. */
void outcome_end_step(struct outcome *outcome, const char *status, const char *execution,
		    const char *record);
/* Adds a change as in a record: "created", "modified", "deleted". */
void outcome_add_file(struct outcome *outcome, const char *change, const struct outcome_file *file);

/* A pending call of the application's tools. */
struct outcome_call {
	const char *id, *name;
	const char *arguments; /* written by the model: usually an object, but maybe anything */
};

/* The result of checking an answer's claims; the texts belong to the answer or the record. */
struct outcome_checked {
	bool is_checked; /* false: the agent looked nothing up */
	uint64_t numbers, links;
	uint64_t unsupported; /* of both kinds; the list has at most AGENT_CLAIMS_MAX */
	struct outcome_claim {
		bool is_link;
		const char *text;
		size_t len;
	} claims[AGENT_CLAIMS_MAX];
	size_t count;
};

/* `answer` is from the same DONE as `checked`. */
void outcome_read_checked(const struct agent_checked *checked, const char *answer, size_t len,
			  struct outcome_checked *ret);

/* The other members of the object. */
struct outcome_frame {
	const char *run;     /* its id; NULL: leave the member out */
	const char *session; /* likewise */
	const char *model;   /* PROVIDER/NAME */
	const char *question;
	size_t question_len;
	const char *answer; /* NULL: null */
	size_t answer_len;
	const struct outcome_checked *checked; /* NULL: the agent looked nothing up */
	const char *stop;
	const char *message; /* NULL or "": null */
	const struct agent_usage *usage;
	const struct outcome_call *calls; /* none: leave the member out */
	size_t call_count;
	bool has_price;
	const char *link; /* prefix of an artifact's "url"; NULL: leave the member out */
};

struct json_writer;
/* Write the members "usage" and "cost" of an object. */
void outcome_write_usage(struct json_writer *writer, const struct agent_usage *usage);
void outcome_write_cost(struct json_writer *writer, const struct agent_usage *usage,
			bool has_price);
/* Writes "checked". */
void outcome_write_checked(struct json_writer *writer, const struct outcome_checked *checked);
/* Appends the object, without a newline. */
int outcome_write(const struct outcome *outcome, const struct outcome_frame *frame, struct buf *ret,
		struct err *err);
