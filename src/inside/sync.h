/* sync.h - what a kernel that runs one packet at a time sends and waits for. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Asks the host on `control` whether it has all that was printed, and waits until it has. */
int sync_with_host(int control, uint64_t id, struct err *err);
