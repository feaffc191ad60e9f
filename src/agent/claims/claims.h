/*
 * claims.h - what an answer states that can be looked up: its numbers, and links to files. Pure.
 *
 * A number is a claim unless it names or counts something of the text itself: years and dates, list
 * numbers, ordinals, "Figure 3", citations, code, addresses, and whole numbers up to three without a
 * unit. A claim is supported when some number that the model was shown rounds to it as it is
 * written: 12.3 by 12.34 but not by 12.4, 12 % by 0.1234, 1.2 million by 1,234,567.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/claims/evidence.h"
#include "base/buf.h"
#include "wire/agent.h"

/* Looks up the numbers; what nothing supports is appended to `ret`. */
void claims_check_numbers(const char *text, size_t len, struct evidence *evidence,
			  struct agent_checked *ret);

/* The name in the next link to a file of the workspace, and where it stands; false: no more. */
bool claims_next_link(const char *text, size_t len, size_t *at, struct buf *ret_name,
		      struct agent_claim *ret);

void claims_add(struct agent_checked *checked, const struct agent_claim *claim);
