/*
 * fence.h - what reckon-agent gives up between learning where its model is and speaking with it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FENCE_PORTS_MAX 4u

struct fence {
	uint16_t ports[FENCE_PORTS_MAX]; /* that may be connected to */
	size_t port_count;
};

/*
 * Afterwards there is nothing to read but the files of the resolver, nothing to write, nothing to
 * run, and no port to connect to but these and that of name servers.
 */
int fence_enter(const struct fence *fence, struct err *err);
