/*
 * piston.h - what the files of the Piston dialect share.
 *
 *   piston.c   routes, runtimes, the form of an error
 *   job.c      what a body of /execute asks for
 *   execute.c  a job, and its answer
 *   version.c  whether a version is what was asked for
 */
#pragma once

#include <stdbool.h>

#include "dialects/call.h"
#include "dialects/program.h"
#include "dialects/program_language.h"

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

void piston_execute(struct request *request);

/* Points into `body`. False: `why` is what Piston says. */
bool piston_job_read(const struct json_value *body, struct piston_job *ret, char *why,
		     size_t why_size);
/* "*", "3", "3.x", "^3.10", "~3.11", ">=3.8", "3.11.2" and several of these. */
bool piston_version_fits(const char *wanted, const char *version);
/* What a probe printed for a language: the version, NULL: it is not there. Ends it with NUL. */
const char *piston_version_of(char *printed, const char *name);
