/*
 * state_command.h - commands on a state directory, which reckond carries out.
 */
#pragma once

#include "cli/cli.h"

/*
 * Executes `reckond MODE` with the options of `self` and its one operand; MODE is the command's
 * name. Without an operand: a usage error with the text `missing` and `remedy`, which may be NULL.
 * Returns only if nothing was executed, with the exit status.
 */
int state_command_run(const struct opt_command *self, int argc, char **argv, const char *missing,
		      const char *remedy);
