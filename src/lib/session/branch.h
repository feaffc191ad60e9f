/*
 * branch.h - a second session grown from a live, idle one: same variables, same files.
 *
 * Not in reckon.h yet: exported to tests and benches through the static library.
 */
#pragma once

#include "reckon.h"

/*
 * Only between executions of `parent`. The warden copies the process and the workspace and tells
 * the copy to resume, so the branch is idle at once. *ret: reckon_session_close().
 */
int session_branch(struct reckon_session *parent, struct reckon_session **ret, reckon_error *err);
