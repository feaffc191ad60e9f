/*
 * program_language.h - how programs of a language are compiled and run, for program.h.
 *
 * A row only has the commands; whether they are installed is known only inside a box.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct program_language {
	const char *name;
	const char *const *aliases; /* NULL-terminated */
	const char *file;	    /* default file name */
	/* For a shell; "$main" is the file. `compile` is NULL if there is no such stage. */
	const char *compile, *run;
	const char *version; /* a command that prints it; its first word must be installed */
};

/* By name or alias; NULL: none. */
const struct program_language *program_language_find(const char *name);
const struct program_language *program_language_at(size_t index); /* NULL after the last */

/* Appends a command that prints "NAME VERSION", or nothing if the language is not installed. */
int program_language_probe(const struct program_language *language, struct buf *ret,
			   struct err *err);
/* Appends `command` (a row's `compile` or `run`) for this file; the caller may add arguments. */
int program_language_command(const char *command, const char *file, struct buf *ret,
			     struct err *err);
