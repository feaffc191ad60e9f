/*
 * table.h - the names of the dialects, in the order of src/dialects/meson.build.
 *
 * A dialect's number is its index in this table. Frames contain it, too (wire/front.h), because the
 * daemon and the dialect processes come from one build.
 */
#pragma once

#include <stddef.h>

#define DIALECTS_MAX 16u /* the build fails when there are more */
#define DIALECT_NATIVE 0u

size_t dialect_count(void);
const char *dialect_name(size_t dialect); /* NULL if no dialect has this number */
size_t dialect_find(const char *name);	  /* dialect_count() if no dialect has this name */
