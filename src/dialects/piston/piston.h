/*
 * piston.h - what the files of the Piston dialect share.
 *
 *   piston.c   routes, runtimes, the form of an error
 *   job.c      what a body of /execute asks for
 *   execute.c  a job, and its answer
 *   connect.c  a job over a WebSocket, with whoever types
 *   version.c  whether a version is what was asked for
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
	const char *wanted; /* the version */
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
	struct program_interactive *interactive; /* NULL: nobody */
};

struct piston_verdict {
	const char *status, *message;
	char signal[16]; /* "": none */
	int code;	 /* negative: null */
};

void piston_execute(struct request *request);
/* A box with the job's files, once it is known that the language is there. */
int piston_prepare(struct piston_execution *execution);
int piston_run_stage(struct piston_execution *execution, const char *command, bool is_run,
		     struct program_end *ret);
bool piston_has_compiled(const struct program_end *compiled);
void piston_judge(const struct program_end *end, struct piston_verdict *ret);

/* ---- connect.c ---- */
void piston_connect(struct request *request);
void piston_refuse_socket(struct request *request, const struct refusal *refusal);

/* Points into `body`. False: `why` is what Piston says. */
bool piston_job_read(const struct json_value *body, struct piston_job *ret, char *why,
		     size_t why_size);
/* "*", "3", "3.x", "^3.10", "~3.11", ">=3.8", "3.11.2" and several of these. */
bool piston_version_fits(const char *wanted, const char *version);
/* What a probe printed for a language: the version, NULL: it is not there. Ends it with NUL. */
const char *piston_version_of(char *printed, const char *name);
