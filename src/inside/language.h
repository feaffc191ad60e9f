/* language.h - which languages a program was linked with; the build generates both definitions. */
#pragma once

#include <stddef.h>

#include "inside/kernel.h"

/* Of a zygote's program. */
extern const struct kernel_ops *const language_ops;
/* Of reckon-kernel-direct; NULL at the end. */
extern const struct kernel_ops *const all_language_ops[];
