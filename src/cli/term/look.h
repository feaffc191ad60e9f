/*
 * look.h - decides whether a terminal gets colours and cursor movements.
 */
#pragma once

#include <stdbool.h>

/* TERM is "dumb", "emacs" or missing: the terminal only supports lines of text. */
bool term_is_dumb(void);

/* Whether the user set NO_COLOR (https://no-color.org). */
bool term_wants_no_colour(void);

/* Whether output to `fd` may have colours. */
bool term_has_colour(int fd);

/* Whether a line on `fd` can be redrawn: it is a terminal that is not dumb. */
bool term_can_redraw(int fd);

/* Switches the echo of the terminal on stdin; false: that failed. */
bool term_set_echo(bool on);
