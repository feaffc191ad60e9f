/*
 * bash_language.c - makes a zygote program speak bash.
 *
 * Runs in:  reckon-zygote-bash.
 * Reads:    nothing.
 * Never:    does anything by itself.
 */
#include "inside/language.h"
#include "inside/languages.h"

const struct kernel_ops *const language_ops = &bash_ops;
