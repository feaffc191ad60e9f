/*
 * state_command.h - commands that reckond carries out, on a state directory.
 */
#pragma once

#include "cli/cli.h"

/*
 * Hands the options of `self` and its one operand to `reckond MODE`, where MODE is the command's
 * name, and is replaced by it. Without an operand: a usage error with these words; `remedy` may be
 * NULL. Returns an exit status when there was nothing to hand over, or no reckond.
 */
int state_command_run(const struct opt_command *self, int argc, char **argv, const char *missing,
		      const char *remedy);
