/*
 * reveal.h - makes every character of a text visible.
 *
 * Some characters have no glyph but change what others look like: they reverse the text direction,
 * join, hide, or show nothing. Text that a person has to judge (code before it runs, names in
 * messages) is printed with these characters as escapes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Whether it is a control, format or blank character, or one without a glyph; false for the space.
 */
bool reveal_is_hidden(uint32_t character);

/* Decodes a valid UTF-8 sequence of `n` bytes. */
uint32_t reveal_decode(const char *sequence, size_t n);

/* Appends "\u202e" or "\U000e0041". */
int reveal_character(uint32_t character, struct buf *ret, struct err *err);

/*
 * Appends a line of code (without its newline) such that two different lines look different: hidden
 * characters and invalid bytes become escapes. When `coloured`, they are in reverse video, to
 * differ from the same escape in the source. Tabs at the start are four columns each.
 */
int reveal_line(const char *text, size_t len, bool coloured, struct buf *ret,
		     struct err *err);
