/* languages.h - the languages there are; each is one struct kernel_ops (kernel.h). */
#pragma once

#include "inside/kernel.h"

extern const struct kernel_ops python_ops;
extern const struct kernel_ops bash_ops;
