/*
 * piston.h - declarations shared by the files of the Piston dialect.
 *
 *   piston.c   routes, runtimes, the error format
 *   job.c      the body of /execute
 *   execute.c  a job, and its answer
 *   connect.c  an interactive job over a WebSocket
 *   version.c  whether a version matches a range
 */
#pragma once

#include <stdbool.h>

#include "dialects/call.h"
#include "dialects/program/program.h"
#include "dialects/program/program_language.h"

#define PISTON_JSON "application/json; charset=utf-8"
#define PISTON_BODY_MAX (64u * 1024u * 1024u)
#define PISTON_FILES_MAX 1000u
#define PISTON_ARGS_MAX 1000u

struct piston_job {
	const struct json_value *body;
	const struct program_language *language;
	const char *wanted; /* the requested version */
	const struct json_value *files, *args;
	const char *input;
	size_t input_len;
	uint64_t run_ms, compile_ms, memory_bytes;
	uint64_t run_cpu_ms, compile_cpu_ms; /* 0: no limit */
};

struct piston_execution {
	struct request *request;
	struct piston_job job;
	struct program program;
	char version[64];
	char main_file[PROGRAM_PATH_MAX];
	struct program_interactive *interactive; /* NULL: not interactive */
};

struct piston_verdict {
	const char *status, *message;
	char signal[16]; /* "": none */
	int code;	 /* negative: written as null */
};

void piston_execute(struct request *request);
/* Opens a box with the job's files, after finding the language. */
int piston_prepare(struct piston_execution *execution);
int piston_run_stage(struct piston_execution *execution, const char *command, bool is_run,
		     struct program_end *ret);
bool piston_has_compiled(const struct program_end *compiled);
void piston_judge(const struct program_end *end, struct piston_verdict *ret);

/* ---- connect.c ---- */
void piston_connect(struct request *request);
void piston_refuse_socket(struct request *request, const struct refusal *refusal);

/* The result points into `body`. False: `why` is Piston's message. */
bool piston_job_read(const struct json_value *body, struct piston_job *ret, char *why,
		     size_t why_size);
/* Ranges: "*", "3", "3.x", "^3.10", "~3.11", ">=3.8", "3.11.2", and several of these. */
bool piston_version_fits(const char *wanted, const char *version);
/* A language's version in a probe's output, which it terminates with NUL; NULL: missing. */
const char *piston_version_of(char *printed, const char *name);
