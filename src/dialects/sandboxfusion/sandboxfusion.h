/*
 * sandboxfusion.h - declarations shared by the files of the SandboxFusion dialect.
 *
 *   routes.c         maps paths to handlers
 *   sandboxfusion.c  the error format, numbers
 *   files.c          files of a request: into the box, and out of it
 *   run.c            /run_code: compiler and program; the languages by SandboxFusion's names
 *   cells.c          /run_jupyter: cells in one kernel
 *   submit.c         /submit: the code in a model's answer against tests
 *   extract.c        the code in an answer, found by the grader's own logic
 *   prompts.c        /get_prompts and the other requests about a data set
 *   compare.c        the code in an answer; compares outputs
 *   answer.c         results of stages, as JSON
 */
#pragma once

#include <stdbool.h>

#include "codec/json_write.h"
#include "dialects/call.h"
#include "dialects/program/program.h"
#include "dialects/program/program_code.h"
#include "dialects/program/program_language.h"

#define FUSION_JSON "application/json"
#define FUSION_BODY_MAX (64u * 1024u * 1024u)
#define FUSION_ANSWER_MAX ((size_t)256 * 1024 * 1024)
#define FUSION_OUTPUT_MAX (16u * 1024u * 1024u)
#define FUSION_FILES_MAX 1000u
#define FUSION_TIMEOUT_MS_MAX 3600000u

/* ---- sandboxfusion.c ---- */
void fusion_refuse(struct request *request, const struct refusal *refusal);
/* Sends 422 in the format of a validation error: the field and its problem. Always negative. */
int fusion_refuse_field(struct request *request, const char *field, const char *message);
/* Reads seconds as milliseconds; leaves `ret` alone if missing. Negative: it was refused. */
int fusion_read_seconds(struct request *request, const struct json_value *body, const char *field,
			uint64_t *ret);
/* Reads MiB as bytes; 0: none. */
int fusion_read_memory(struct request *request, const struct json_value *body, uint64_t *ret);

/* ---- files.c ---- */
int fusion_put_files(struct program *program, const struct json_value *body);
/* Writes the member "files": those of `fetch_files` that exist, in base64. */
int fusion_write_files(struct program *program, const struct json_value *body,
		       struct json_writer *json);

/* ---- run.c ---- */
struct fusion_language {
	const char *name, *row; /* in program_language.h; NULL: known, but not supported here */
	const char *run;	/* instead of the row's; NULL: the row's */
	bool is_interpreted;
};
const struct fusion_language *fusion_language_find(const char *name);
/* Writes members of an object: each label of a fence, with the name of its language. */
void fusion_write_labels(struct json_writer *json);

struct fusion_code {
	struct program_code code;
	const struct fusion_language *language;
	uint64_t memory_bytes;
};
void fusion_code_init(struct fusion_code *code, const struct fusion_language *language);
int fusion_code_open(struct fusion_code *code, struct request *request);
void fusion_run_code(struct request *request);

/* ---- cells.c, submit.c ---- */
void fusion_run_jupyter(struct request *request);
void fusion_submit(struct request *request);
/* Negative: an error for an unknown data set was sent. */
int fusion_check_dataset(struct request *request, const struct json_value *body,
			 const struct json_value *config);

/* ---- prompts.c ---- */
void fusion_list_ids(struct request *request);
void fusion_get_prompts(struct request *request);
void fusion_get_prompt_by_id(struct request *request);
void fusion_get_metrics(struct request *request);
void fusion_get_metrics_function(struct request *request);

/* ---- extract.c ---- */
#define FUSION_FENCED 30 /* the priority of code between fences */
struct fusion_extraction {
	struct request *request;
	const struct fusion_language *language;
	const char *completion, *logic;
	size_t completion_len, logic_len;
	bool has_fenced; /* the answer has code between fences */
};
/* Appends the chosen code, if the logic found any. Negative: an error was sent. */
int fusion_extract(const struct fusion_extraction *order, struct buf *ret, bool *ret_found);

/* ---- answer.c ---- */
/* Writes a stage's result; NULL: null. */
void fusion_write_stage(struct json_writer *json, const char *key, const struct program_end *end);
bool fusion_is_good(const struct program_end *end);
/* Writes the members of an answer of /run_code except `files`. */
void fusion_write_outcome(struct json_writer *json, const struct fusion_code *fusion);
/* Writes a value of the request as it is. */
void fusion_write_value(struct json_writer *json, const struct json_value *value);
void fusion_answer(struct request *request, struct json_writer *json, struct buf *body);

/* ---- compare.c ---- */
/* Finds the last fenced block with one of the language's labels, else the last fenced block. */
bool fusion_find_code(const char *text, size_t len, const struct fusion_language *language,
		      const struct program_language *row, const char **ret, size_t *ret_len);
/* Compares line by line: ignores white space at the ends and case; numbers may differ by 1e-5. */
bool fusion_is_expected(const char *output, size_t output_len, const char *want, size_t want_len);
