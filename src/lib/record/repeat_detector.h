/*
 * repeat_detector.h - whether an execution repeats what failed before in its session. Pure.
 *
 * Failures are remembered by two fingerprints: of the code without comments, white space and the
 * choice of quotes, and of the error without what differs from run to run (numbers, addresses,
 * times, temporary paths) but with the failing line. The oldest are forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "languages/languages.h"

#define STUCK_FAILURES_MAX 64
#define STUCK_SEQUENCES_MAX 8 /* executions that are named: the first and the last ones */
#define STUCK_LINE_SIZE 256

/* One execution that failed. */
struct repeat_detector_failure {
	uint64_t sequence;
	uint64_t code, error;		   /* fingerprints */
	uint64_t files_before, files_after; /* numbers that change with the workspace */
};

struct repeat_detector_entry {
	uint64_t code, error, files_after;
	uint64_t count; /* 0: free */
	uint64_t sequences[STUCK_SEQUENCES_MAX]; /* ascending; the first stays */
	size_t sequence_count;
};

/* All zero at first. */
struct repeat_detector {
	struct repeat_detector_entry entries[STUCK_FAILURES_MAX];
	uint64_t last_code, last_output; /* of the last execution, when it was a success */
	uint64_t in_a_row;		  /* times that they were the same */
};

/* What is known of a failure that was seen before; `count` 0: it is new. */
struct repeat_detector_repeat {
	uint64_t count; /* with this one */
	uint64_t sequences[STUCK_SEQUENCES_MAX];
	size_t sequence_count;
	bool same_code, same_error, same_files; /* as when it was seen last */
};

/* `syntax` is that of the kernel's language: what a comment is, and whether white space counts. */
uint64_t repeat_detector_code_fingerprint(const struct language_syntax *syntax, const char *code,
					  size_t len);

/*
 * `source` is the failing line. Without it ("") an error is the same only for the same code: what
 * ends at a limit fails alike everywhere.
 */
uint64_t repeat_detector_error_fingerprint(const struct language_syntax *syntax, const char *name,
					   const char *value, const char *source, uint64_t code);

/*
 * Remembers a failure. Tells in *ret of earlier ones with the same code and error; else the same
 * error; else the same code.
 */
void repeat_detector_note_failure(struct repeat_detector *stuck,
				  const struct repeat_detector_failure *failure,
				  struct repeat_detector_repeat *ret);

/* Remembers a success; how often the same code gave the same output in a row, from 1. */
uint64_t repeat_detector_note_success(struct repeat_detector *stuck, uint64_t code,
				      uint64_t output);

/* "seen 3 times in this session (executions 1, 2, 5): same error, code unchanged; …" */
void repeat_detector_describe(const struct repeat_detector_repeat *repeat,
			      char ret[STUCK_LINE_SIZE]);
/* What to make of it, a sentence or two. */
void repeat_detector_advise(const struct repeat_detector_repeat *repeat, char ret[STUCK_LINE_SIZE]);
