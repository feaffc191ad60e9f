/*
 * program_language.h - how programs of a language are compiled and run, for program.h.
 *
 * A row says what a command would be; whether the host has it is known in a box alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct program_language {
	const char *name;
	const char *const *aliases; /* NULL at the end */
	const char *file;	    /* what its file is called, when nobody says */
	/* For a shell; "$main" is the file. `compile` is NULL where there is no such stage. */
	const char *compile, *run;
	const char *version; /* a command that prints it; its first word is what has to be there */
};

/* By name or alias; NULL: none. */
const struct program_language *program_language_find(const char *name);
const struct program_language *program_language_at(size_t index); /* NULL at the end */

/* Appends a command that prints "NAME VERSION", or nothing where the host does not have it. */
int program_language_probe(const struct program_language *language, struct buf *ret,
			   struct err *err);
/* Appends `command`, a row's `compile` or `run`, for this file; arguments may be added. */
int program_language_command(const char *command, const char *file, struct buf *ret,
			     struct err *err);
