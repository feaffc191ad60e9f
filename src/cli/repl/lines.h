/*
 * lines.h - reads lines of standard input.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct repl_reader;

struct repl_reader *repl_reader_new(void);
void repl_reader_free(struct repl_reader *reader);

enum repl_line { REPL_LINE_ONE, REPL_LINE_EOF, REPL_LINE_INTERRUPTED };

/* Appends the next line, with its newline if it has one. */
enum repl_line repl_lines_read(struct repl_reader *reader, struct buf *ret);
/* Whether the next line has arrived and is indented, so that it belongs to the same block. */
bool repl_lines_next_is_indented(struct repl_reader *reader);
/* Whether all input has been read. */
bool repl_lines_at_end(const struct repl_reader *reader);
