/* decoder.h - the child behind the fence of fence.h. */
#pragma once

#include <stddef.h>

/* Decodes and writes to `out`; ends the process whatever happens. */
void image_decoder_main(const void *png, size_t len, int out) __attribute__((noreturn));
