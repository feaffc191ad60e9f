/* denied.h - explains system calls that the sandbox refused to the author of the code. */
#pragma once

#include "lib/record/record.h"
#include "wire/warden.h"

/* Adds one diagnostic `syscall_denied` for each kind of call that was refused. */
void denied_diagnose(const struct warden_usage *usage, struct record *record);
