/* language.h - the one language that a zygote program was linked with. */
#pragma once

#include "inside/kernel.h"

/* Defined once per program: python_language.c, bash_language.c. */
extern const struct kernel_ops *const language_ops;
