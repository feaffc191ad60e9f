/*
 * branch.h - creates a session as a copy of a live, idle one, with the same variables and files.
 *
 * Not in reckon.h: only tests and benchmarks use it, through the static library.
 */
#pragma once

#include "reckon.h"

/*
 * Only between executions of `parent`. The warden copies the process and the workspace and resumes
 * the copy, so the new session is idle at once. Close *ret with reckon_session_close().
 */
int session_branch(struct reckon_session *parent, struct reckon_session **ret, reckon_error *err);
