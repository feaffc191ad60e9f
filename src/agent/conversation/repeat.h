/*
 * repeat.h - detects that a model repeats itself, and writes hints for it. Pure.
 *
 * All kinds escalate in the same way: the second time the model gets a hint, the third time it is
 * told what did not change, and the fourth time the question ends. The session counts failures by
 * fingerprints of code and error (lib/record/repeat_detector.c); successes, refused calls and empty
 * answers are counted here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define REPEAT_MAX 4u /* so many repetitions end the question */
#define REPEAT_ENTRIES 64u

enum repeat_kind {
	REPEAT_FAILURE, /* the cell failed in the same way */
	REPEAT_SUCCESS, /* the same code with the same output */
	REPEAT_REFUSED, /* the same call with the same error */
	REPEAT_EMPTY,	/* an answer without text or code */
};

/* The state for one question; all zero at first. */
struct repeats {
	struct repeat_entry {
		uint64_t action, result;
		unsigned count; /* 0: free */
	} entries[REPEAT_ENTRIES];
	size_t next;
	uint64_t last_action, last_result;
	unsigned in_a_row;
};

/* A hash of the text that ignores trailing white space and empty lines. */
uint64_t repeat_hash(const char *text, size_t len);

/*
 * Records an action and its result; returns how often this pair occurred in this question. A pair
 * without output counts only if it is repeated directly, because it may have changed something.
 */
unsigned repeat_note(struct repeats *repeats, uint64_t action, uint64_t result, bool is_silent);

/* What a failure has in common with earlier ones. */
struct repeat_failure {
	unsigned same; /* AGENT_SAME_… */
	const struct buf *code, *code_before; /* `code_before` is empty if it is not known */
};

/* Appends the hint for the second or third time, in separate lines. */
int repeat_tell(enum repeat_kind kind, unsigned count, const struct repeat_failure *failure,
		struct buf *ret, struct err *err);

/* Finds a line such as "KeyError: 'b'" in the output of a failed cell; length 0: there is none. */
size_t repeat_error_line(const char *text, size_t len, const char **ret);
