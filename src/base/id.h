/* id.h - sortable, unguessable identifiers: a prefix, 48 bits of time, 80 random bits. */
#pragma once

#include "err.h"

#define ID_SIZE 32

/*
 * Writes "<prefix>_" and 26 characters of Crockford base 32 (the ULID layout), for example
 * "se_01JD8Z4J9QX…". `prefix` has at most 3 characters. Fails only if getrandom() does.
 */
int id_new(char ret_id[ID_SIZE], const char *prefix, struct err *err);
