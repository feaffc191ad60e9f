/*
 * commands.h - a call of the shell tool: commands to run one after the other. Pure.
 *
 * Its arguments are {"commands": […], "timeout_ms", "max_output_length"}; the last two apply to
 * each command. Each command becomes a separate execution.
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
	uint64_t timeout_ms, output_max; /* 0: not set */
};
void commands_done(struct commands *commands);

/* The text of ERR_INVALID is for the model. */
int commands_read(const struct json_value *arguments, struct commands *ret, struct err *err);
/* Appends all commands, one on each line. */
int commands_join(const struct commands *commands, struct buf *ret, struct err *err);
/* Appends {"index", "count"} for the user interface; the first one also has the whole call. */
int commands_describe(const struct commands *commands, size_t index, struct buf *ret,
		      struct err *err);
