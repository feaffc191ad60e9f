/*
 * descriptors.h - checks whether this process has descriptors left for new work.
 */
#pragma once

#include <stdbool.h>

#define DESCRIPTORS_NONE_LEFT "the daemon has no descriptors left: its limit of open files"
bool descriptors_are_left(void);
