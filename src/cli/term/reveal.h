/*
 * reveal.h - text whose every character can be seen.
 *
 * Some characters have no picture of their own but change what others look like: they turn the
 * order of writing round, join, hide, or stand for nothing. What a person is to judge by its text
 * (code before it runs, names in messages) is shown with each of them as an escape.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A control, format or blank character, one without a defined picture, but for the space. */
bool term_is_hidden(uint32_t character);

/* The character of a valid UTF-8 sequence of `n` bytes. */
uint32_t term_decode(const char *sequence, size_t n);

/* Appends "\u202e" or "\U000e0041". */
int term_show_character(uint32_t character, struct buf *ret, struct err *err);

/*
 * Appends a line of code (without its newline) such that two different lines look different:
 * hidden characters and bytes that are not text as escapes, in reverse video when `coloured`, so
 * that they differ from the same escape written out. Tabs at the start are four columns each.
 */
int term_reveal_line(const char *text, size_t len, bool coloured, struct buf *ret,
		     struct err *err);
