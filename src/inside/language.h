/* language.h - the languages that a program is linked with; the build generates both
 * definitions. */
#pragma once

#include <stddef.h>

#include "inside/kernel.h"

/* In a zygote's program. */
extern const struct kernel_ops *const language_ops;
/* In reckon-kernel-direct; ends with NULL. */
extern const struct kernel_ops *const all_language_ops[];
