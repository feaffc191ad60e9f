/*
 * entry.h - reckon run --entry: runs a folder as a program.
 */
#pragma once

#include "cli/run/run.h"

/* Checks, before a session is opened, that the file exists and that its interpreter is known. */
int run_entry_check(const struct run *run, struct err *err);

/* Copies the folder into the session's workspace and runs the program; returns the exit status. */
int run_entry(const struct run *run, struct run_output *output);
