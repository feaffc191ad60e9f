/*
 * repeat.h - whether a model goes on doing what it did already, and what it is told then. Pure.
 *
 * One ladder for all of it: the second time a hint, the third what did not change, with the fourth it
 * ends. Failures are counted by the session (lib/record/repeat_detector.c), across which they are told apart by
 * fingerprints of code and error; what succeeds, what cannot be run and what is empty is counted here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define REPEAT_MAX 4u /* the same so often ends it */
#define REPEAT_ENTRIES 64u

enum repeat_kind {
	REPEAT_FAILURE, /* it was run, and failed alike */
	REPEAT_SUCCESS, /* the same code, the same output */
	REPEAT_REFUSED, /* the same call, and the same complaint of it */
	REPEAT_EMPTY,	/* neither text nor code */
};

/* All zero at first; of one question. */
struct repeats {
	struct repeat_entry {
		uint64_t action, result;
		unsigned count; /* 0: free */
	} entries[REPEAT_ENTRIES];
	size_t next;
	uint64_t last_action, last_result;
	unsigned in_a_row;
};

/* Of text, without white space at the ends of its lines and without empty lines. */
uint64_t repeat_hash(const char *text, size_t len);

/*
 * Notes an action and what came of it: how often that was so in this question, with this one. What
 * gave no output counts only in a row: it may have changed something.
 */
unsigned repeat_note(struct repeats *repeats, uint64_t action, uint64_t result, bool is_silent);

/* What a failure has in common with the ones before. */
struct repeat_failure {
	unsigned same; /* AGENT_SAME_… */
	const struct buf *code, *code_before; /* `code_before` may be empty: it is not known */
};

/* Appends what the model is told at the second and the third time, in lines of their own. */
int repeat_tell(enum repeat_kind kind, unsigned count, const struct repeat_failure *failure,
		struct buf *ret, struct err *err);

/* "KeyError: 'b'" in what a failing cell gave; "" when it cannot be told. */
size_t repeat_error_line(const char *text, size_t len, const char **ret);
