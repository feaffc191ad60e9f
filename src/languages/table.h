/* table.h - the rows, in the order of meson.build; generated into table.c. */
#pragma once

#include "languages/languages.h"

extern const struct language *const language_table[]; /* NULL-terminated */
