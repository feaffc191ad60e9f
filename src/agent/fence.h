/*
 * fence.h - what reckon-agent gives up between learning where its model is and speaking with it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_PORTS_MAX 4u

/*
 * Afterwards there is nothing to read but the files of the resolver, nothing to write, nothing to
 * run, and no port to connect to but these and that of name servers.
 */
int agent_fence(const uint16_t *ports, size_t count, struct err *err);
