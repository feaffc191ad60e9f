/*
 * sandboxfusion.h - what the files of the SandboxFusion dialect share.
 *
 *   routes.c         which path is whose
 *   sandboxfusion.c  the form of an error, numbers
 *   files.c          files of a request: into the box, and out of it
 *   run.c            /run_code: compiler and program; the languages by SandboxFusion's names
 *   cells.c          /run_jupyter: cells in one kernel
 *   submit.c         /submit: the code in a model's answer against tests
 *   compare.c        which code an answer has, whether an output is the expected one
 *   answer.c         what a stage became, as JSON
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
/* 422, as a validation says it: the field, and what is wrong with it. Always negative. */
int fusion_refuse_field(struct request *request, const char *field, const char *message);
/* Seconds, as milliseconds; `ret` stays when it is left out. Negative: it was refused. */
int fusion_read_seconds(struct request *request, const struct json_value *body, const char *field,
			uint64_t *ret);
/* MiB, as bytes; 0: none. */
int fusion_read_memory(struct request *request, const struct json_value *body, uint64_t *ret);

/* ---- files.c ---- */
int fusion_put_files(struct program *program, const struct json_value *body);
/* The member "files": what of `fetch_files` is there, in base 64. */
int fusion_write_files(struct program *program, const struct json_value *body,
		       struct json_writer *json);

/* ---- run.c ---- */
struct fusion_language {
	const char *name, *row; /* of program_language.h; NULL: known, and not here */
	const char *run;	/* in place of the row's; NULL: that */
	bool is_interpreted;
};
const struct fusion_language *fusion_language_find(const char *name);

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
/* Negative: it was answered, for no such data set is known. */
int fusion_check_dataset(struct request *request, const struct json_value *body,
			 const struct json_value *config);

/* ---- answer.c ---- */
/* A stage's result; NULL: null. */
void fusion_write_stage(struct json_writer *json, const char *key, const struct program_end *end);
bool fusion_is_good(const struct program_end *end);
/* The members of an answer of /run_code but `files`. */
void fusion_write_outcome(struct json_writer *json, const struct fusion_code *fusion);
void fusion_answer(struct request *request, struct json_writer *json, struct buf *body);

/* ---- compare.c ---- */
/* The last block between fences that has one of these labels, else the last one at all. */
bool fusion_find_code(const char *text, size_t len, const struct fusion_language *language,
		      const struct program_language *row, const char **ret, size_t *ret_len);
/* Line by line: white space at the ends and letter case mean nothing, numbers may differ by 1e-5. */
bool fusion_is_expected(const char *output, size_t output_len, const char *want, size_t want_len);
