/* id.h - sortable, unguessable identifiers: a prefix, 48 bits of time, 80 random bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ID_SIZE 32
#define ID_TIME_SIZE 11

/* The part behind the prefix of ids made in this millisecond (since 1970): ids sort by it. */
void id_time(uint64_t ms, char ret[ID_TIME_SIZE]);

/*
 * Writes "<prefix>_" and 26 characters of Crockford base 32 (the ULID layout), for example
 * "se_01JD8Z4J9QX…". `prefix` has at most 3 characters. Fails only if getrandom() does.
 */
int id_new(char ret_id[ID_SIZE], const char *prefix, struct err *err);

/*
 * Whether a person may use the text as a name where ids begin with `prefix`: 1 to ID_NAME_MAX
 * letters, digits, '.', '_' and '-', and not the beginning of such an id.
 */
#define ID_NAME_MAX 63
bool id_is_name(const char *text, size_t len, const char *prefix);
