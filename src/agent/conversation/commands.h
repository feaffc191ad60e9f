/*
 * commands.h - a call of the shell: what a model wants to have run, one after the other. Pure.
 *
 * Its arguments are {"commands": […], "timeout_ms", "max_output_length"}; the last two count for
 * each of the commands. Each becomes an execution of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"
#include "wire/agent.h"

#define COMMANDS_TOOL "shell"

struct commands {
	char **texts;
	size_t count;
	uint64_t timeout_ms, output_max; /* 0: not said */
};
void commands_done(struct commands *commands);

/* ERR_INVALID, in words for the model. */
int commands_read(const struct json_value *arguments, struct commands *ret, struct err *err);
/* All of them, a line each. */
int commands_join(const struct commands *commands, struct buf *ret, struct err *err);
/* {"index", "count"}, and with the first one what the whole call says: for whoever shows them. */
int commands_describe(const struct commands *commands, size_t index, struct buf *ret,
		      struct err *err);
