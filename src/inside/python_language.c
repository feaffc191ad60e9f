/*
 * python_language.c - makes a zygote program speak python.
 *
 * Runs in:  reckon-zygote-python.
 * Reads:    nothing.
 * Never:    does anything by itself.
 */
#include "inside/language.h"
#include "inside/languages.h"

const struct kernel_ops *const language_ops = &python_ops;
