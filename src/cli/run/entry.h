/*
 * entry.h - reckon run --entry: a folder as a program.
 */
#pragma once

#include "cli/run/run.h"

/* Before anything is opened: that there is such a file, and how it is run. */
int run_entry_check(const struct run *run, struct err *err);

/* Copies the folder into the session's workspace and runs the program; the exit status. */
int run_entry(const struct run *run, struct run_output *output);
