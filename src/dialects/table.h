/*
 * table.h - the names of the dialects, in the order of src/dialects/meson.build.
 *
 * A dialect is known by its number in this table, which also stands in frames (wire/front.h): the
 * daemon and the dialect processes come from one build.
 */
#pragma once

#include <stddef.h>

#define DIALECTS_MAX 16u /* the build fails when there are more */
#define DIALECT_NATIVE 0u

size_t dialect_count(void);
const char *dialect_name(size_t dialect); /* NULL when there is none with this number */
size_t dialect_find(const char *name);	  /* dialect_count() when there is none with this name */
