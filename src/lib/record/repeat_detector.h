/*
 * repeat_detector.h - detects whether an execution repeats an earlier failure of its session. Pure.
 *
 * A failure is stored as two fingerprints: of the code without comments, white space and the kind
 * of quotes, and of the error with the failing line, but without parts that differ between runs
 * (numbers, addresses, times, temporary paths). The oldest failures are dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "languages/languages.h"

#define REPEAT_FAILURES_MAX 64
#define REPEAT_SEQUENCES_MAX 8 /* executions that are listed: the first and the last ones */
#define REPEAT_LINE_SIZE 256

/* One execution that failed. */
struct repeat_detector_failure {
	uint64_t sequence;
	uint64_t code, error;		   /* fingerprints */
	uint64_t files_before, files_after; /* numbers that change with the workspace */
};

struct repeat_detector_entry {
	uint64_t code, error, files_after;
	uint64_t count; /* 0: free */
	uint64_t sequences[REPEAT_SEQUENCES_MAX]; /* ascending; the first stays */
	size_t sequence_count;
};

/* Zero it at first. */
struct repeat_detector {
	struct repeat_detector_entry entries[REPEAT_FAILURES_MAX];
	uint64_t last_code, last_output; /* of the last execution, if it succeeded */
	uint64_t in_a_row;		  /* how often they were equal */
};

/* What is known of a repeated failure; `count` 0: it is new. */
struct repeat_detector_repeat {
	uint64_t count; /* including this one */
	uint64_t sequences[REPEAT_SEQUENCES_MAX];
	size_t sequence_count;
	bool same_code, same_error, same_files; /* compared with the last time */
};

/* `syntax` is that of the kernel's language: what a comment is, and whether white space counts. */
uint64_t repeat_detector_code_fingerprint(const struct language_syntax *syntax, const char *code,
					  size_t len);

/*
 * `source` is the failing line. Without it ("") errors are equal only for equal code, because all
 * code fails alike at a limit.
 */
uint64_t repeat_detector_error_fingerprint(const struct language_syntax *syntax, const char *name,
					   const char *value, const char *source, uint64_t code);

/*
 * Stores a failure. Describes in *ret earlier failures with the same code and error; else with the
 * same error; else with the same code.
 */
void repeat_detector_note_failure(struct repeat_detector *detector,
				  const struct repeat_detector_failure *failure,
				  struct repeat_detector_repeat *ret);

/* Stores a success; returns how often the same code gave the same output in a row, from 1. */
uint64_t repeat_detector_note_success(struct repeat_detector *detector, uint64_t code,
				      uint64_t output);

/* "seen 3 times in this session (executions 1, 2, 5): same error, code unchanged; …" */
void repeat_detector_describe(const struct repeat_detector_repeat *repeat,
			      char ret[REPEAT_LINE_SIZE]);
/* Advice about it, a sentence or two. */
void repeat_detector_advise(const struct repeat_detector_repeat *repeat,
			    char ret[REPEAT_LINE_SIZE]);
