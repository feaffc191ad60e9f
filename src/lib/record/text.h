/*
 * text.h - text from a hostile program, made fit to read: no escapes, no broken UTF-8, no excess.
 *
 * These cannot fail: what does not fit the target is cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define TEXT_PATH_MAX ((size_t)4 * 4096) /* a path with every byte escaped */

/*
 * Replaces `ret` with the text without terminal escapes and control characters (tab and newline
 * stay; "\r\n" is a newline) and with U+FFFD for what is not UTF-8.
 */
void text_plain(const char *text, size_t len, struct buf *ret);

/* The same, and a line rewritten by carriage returns or backspaces is left as it last looked. */
void text_settled(const char *text, size_t len, struct buf *ret);

/*
 * Appends `text` to `ret`; when it is longer than `max` bytes its head and tail with a count of
 * what is left out between them, together at most `max`. Never splits a character.
 */
void text_cut(const char *text, size_t len, size_t max, struct buf *ret);

/*
 * Where valid text may be cut, not beyond (down) or not before (up) `at`: between characters, and
 * not between a letter and its accents or the parts of an emoji.
 */
size_t text_boundary_down(const char *text, size_t len, size_t at);
size_t text_boundary_up(const char *text, size_t len, size_t at);

#define TEXT_COUNT_SIZE 32
/* "1,234,567" */
void text_count(uint64_t count, char ret[TEXT_COUNT_SIZE]);

/*
 * Replaces `ret` with a path as it may be shown: itself when fs_path_is_safe() would take it,
 * else with every byte that is not a printable text as \xNN and each backslash doubled.
 */
void text_show_path(const char *path, struct buf *ret);
