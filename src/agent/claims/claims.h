/*
 * claims.h - claims of an answer that can be checked: its numbers, and links to files. Pure.
 *
 * A number is a claim unless it names or counts a part of the text itself: years and dates, list
 * numbers, ordinals, "Figure 3", citations, code, addresses, and whole numbers up to three without
 * a unit. A claim is supported if a number that the model was shown rounds to it at its precision:
 * 12.3 by 12.34 but not by 12.4, 12 % by 0.1234, 1.2 million by 1,234,567.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/claims/evidence.h"
#include "base/buf.h"
#include "wire/agent.h"

/* Checks the numbers; appends unsupported ones to `ret`. */
void claims_check_numbers(const char *text, size_t len, struct evidence *evidence,
			  struct agent_checked *ret);

/* Finds the next link to a workspace file: its name and position; false: there is none. */
bool claims_next_link(const char *text, size_t len, size_t *at, struct buf *ret_name,
		      struct agent_claim *ret);

void claims_add(struct agent_checked *checked, const struct agent_claim *claim);
