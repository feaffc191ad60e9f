/*
 * text.h - makes text of a hostile program readable: no escapes, no invalid UTF-8, no excess.
 *
 * These functions cannot fail: text that does not fit is cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define TEXT_PATH_MAX ((size_t)4 * 4096) /* a path with every byte escaped */

/*
 * Replaces `ret` with the text without terminal escapes and control characters (tab and newline
 * stay; "\r\n" becomes a newline); invalid UTF-8 becomes U+FFFD.
 */
void text_plain(const char *text, size_t len, struct buf *ret);

/* The same, and a line that carriage returns or backspaces rewrite is left as it last looked. */
void text_settled(const char *text, size_t len, struct buf *ret);

/*
 * Appends `text` to `ret`; if it is longer than `max` bytes, appends its head and tail with a count
 * of the missing bytes in between, together at most `max`. Never splits a character.
 */
void text_cut(const char *text, size_t len, size_t max, struct buf *ret);

/*
 * The nearest position not after (down) or not before (up) `at` where valid text may be cut:
 * between characters, and not between a letter and its accents or within an emoji.
 */
size_t text_boundary_down(const char *text, size_t len, size_t at);
size_t text_boundary_up(const char *text, size_t len, size_t at);

#define TEXT_COUNT_SIZE 32
/* "1,234,567" */
void text_count(uint64_t count, char ret[TEXT_COUNT_SIZE]);

/*
 * Replaces `ret` with a printable path: unchanged if fs_path_is_safe() accepts it, else with each
 * unprintable byte as \xNN and each backslash doubled.
 */
void text_show_path(const char *path, struct buf *ret);
