/*
 * look.h - what may be sent to a terminal: colours, moves of the cursor.
 */
#pragma once

#include <stdbool.h>

/* TERM is "dumb", "emacs" or missing: lines of text are all that it takes. */
bool term_is_dumb(void);

/* Whether the user wants no colours, by NO_COLOR (https://no-color.org). */
bool term_wants_no_colour(void);

/* Whether what is written to `fd` may have colours. */
bool term_has_colour(int fd);

/* Whether a line that was written to `fd` can be written again: a terminal that is not dumb. */
bool term_can_redraw(int fd);

/* Whether stdin, a terminal, shows what is typed; false: it cannot be told. */
bool term_set_echo(bool on);
