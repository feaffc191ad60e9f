/* text.h - small questions about text that ends with a NUL byte, or has a length. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf;

/* The value of 0-9 and a-f; negative for any other byte. */
int text_hex_digit(char c);
/* Bytes at the beginning that are `c`. */
size_t text_run(const char *text, size_t len, char c);
bool text_ends_with(const char *text, const char *end); /* and has something before it */
/* It has no control characters: in a list or a log they could forge a line. */
bool text_is_plain(const char *text);

/* What is behind the last slash. */
const char *text_base_name(const char *path);
/* Whether `path` is `folder`, or below it. */
bool text_is_within(const char *path, const char *folder);
/* "." and "..", which each folder lists. */
bool text_is_dots(const char *name);

/* For qsort() of an array of char *. */
int text_compare(const void *left, const void *right);

/* Appends it as one word of a POSIX shell. */
int text_quote_for_shell(const char *text, struct buf *ret, struct err *err);

/* The value of an HTTP header of that name, without white space around it; false: the line is another
 * one, or the value has no room. */
bool text_header_value(const char *line, size_t len, const char *name, char *ret, size_t size);
