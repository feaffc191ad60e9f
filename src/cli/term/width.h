/*
 * width.h - counts the terminal columns of a text.
 *
 * Wide East Asian characters have two columns, combining ones none, and characters that wcwidth()
 * does not know have one. Call term_width_locale() first, or wcwidth() only knows ASCII.
 */
#pragma once

#include <stddef.h>

/*
 * Sets the user's LC_CTYPE if it is UTF-8, else C.UTF-8, because all current terminals use UTF-8.
 */
void term_width_locale(void);

/* For UTF-8 text without control characters. */
size_t term_width(const char *text, size_t len);

/* For text that may contain our colours and hyperlinks. */
size_t term_width_shown(const char *text, size_t len);

/* The length of the longest prefix of `text` that fits into `columns`; *ret_width is its width. */
size_t term_width_fit(const char *text, size_t len, size_t columns, size_t *ret_width);

/* The size of the terminal on `fd`; 80 by 24 if it is not known. */
void term_width_window(int fd, size_t *ret_columns, size_t *ret_lines);
