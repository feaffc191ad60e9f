/*
 * look.c - decides whether a terminal gets colours and cursor movements.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    TERM, NO_COLOR.
 * Never:    sends a query to the terminal.
 */
#include "cli/term/look.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

bool term_is_dumb(void)
{
	const char *term = getenv("TERM");

	return term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0 ||
	       strcmp(term, "emacs") == 0;
}

bool term_wants_no_colour(void)
{
	const char *value = getenv("NO_COLOR");

	return value != NULL && value[0] != '\0';
}

bool term_can_redraw(int fd)
{
	return isatty(fd) && !term_is_dumb();
}

bool term_has_colour(int fd)
{
	return term_can_redraw(fd) && !term_wants_no_colour();
}

bool term_set_echo(bool on)
{
	struct termios mode;

	if (tcgetattr(STDIN_FILENO, &mode) < 0)
		return false;
	if (on)
		mode.c_lflag |= ECHO;
	else
		mode.c_lflag &= ~(tcflag_t)ECHO;
	return tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) == 0;
}
