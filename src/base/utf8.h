/* utf8.h - strict UTF-8 (RFC 3629): no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Length in bytes (1..4) of the valid sequence at `text`, 0 when there is none. */
size_t utf8_sequence(const char *text, size_t len);

bool utf8_is_valid(const char *text, size_t len);

/*
 * Bytes at the end of `text` that are the beginning of a sequence cut short (0..3): what a
 * reader of a stream has to keep for the next chunk.
 */
size_t utf8_incomplete_tail(const char *text, size_t len);

/* The characters of it: of each the first byte counts. */
size_t utf8_count(const char *text, size_t len);
