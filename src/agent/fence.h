/*
 * fence.h - drops the rights of reckon-agent, after it knows its model's address and before it
 * connects.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_PORTS_MAX 4u

/*
 * Afterwards the process can only read the resolver's files, write and execute nothing, and only
 * connect to these ports and that of name servers.
 */
int agent_fence(const uint16_t *ports, size_t count, struct err *err);
