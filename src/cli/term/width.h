/*
 * width.h - how many columns of a terminal text takes.
 *
 * Wide East Asian characters take two, combining ones none. What wcwidth() does not know counts as
 * one. term_width_locale() comes first, or everything outside ASCII is unknown.
 */
#pragma once

#include <stddef.h>

/* The user's LC_CTYPE when it is UTF-8, else C.UTF-8: terminals that are not UTF-8 died out. */
void term_width_locale(void);

/* Of UTF-8 text without control characters. */
size_t term_width(const char *text, size_t len);

/* The same of text with our colours and addresses in it. */
size_t term_width_shown(const char *text, size_t len);

/* The longest beginning of `text` that fits into `columns`; its width in *ret_width. */
size_t term_width_fit(const char *text, size_t len, size_t columns, size_t *ret_width);

/* Columns and lines of the terminal on `fd`, 80 by 24 when it does not say. */
void term_width_window(int fd, size_t *ret_columns, size_t *ret_lines);
