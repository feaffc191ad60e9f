/* utf8.h - strict UTF-8 (RFC 3629): no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Length in bytes (1..4) of the valid sequence at `text`, or 0. */
size_t utf8_sequence(const char *text, size_t len);

bool utf8_is_valid(const char *text, size_t len);

/*
 * How many bytes at the end of `text` (0..3) begin a sequence that is cut short: a reader of a
 * stream has to prepend them to the next chunk.
 */
size_t utf8_incomplete_tail(const char *text, size_t len);

/* The characters of it: of each the first byte counts. */
size_t utf8_count(const char *text, size_t len);
