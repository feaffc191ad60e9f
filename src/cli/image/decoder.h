/*
 * decoder.h - the sandboxed child process of fence.h.
 */
#pragma once

#include <stddef.h>

/* Decodes and writes to `out`; ends the process in any case. */
void image_decoder_main(const void *png, size_t len, int out) __attribute__((noreturn));
