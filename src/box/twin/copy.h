/* copy.h - copies the files of a session that is branched. */
#pragma once

#include "base/err.h"
#include "box/mount/shell.h"

/*
 * Copies the workspace of `from` into the empty one of `to`: regular files, directories, symbolic
 * links (as text, never followed) and FIFOs, with modes and times; `to` owns them. Runs in a
 * short-lived child; call it while the parent's processes are stopped.
 */
int copy_workspace(const struct shell *from, const struct shell *to, struct err *err);
