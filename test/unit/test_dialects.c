/* The table of dialects: the native one is the first, and every name maps to its own number. */
#include "unit.h"

#include <string.h>

#include "dialects/table.h"

UNIT_TEST(every_name_is_found)
{
	assert_true(dialect_count() >= 1 && dialect_count() <= DIALECTS_MAX);
	assert_string_equal(dialect_name(DIALECT_NATIVE), "native");
	for (size_t i = 0; i < dialect_count(); i++) {
		/* The name is part of a program's name and appears in responses and metrics. */
		assert_int_equal(strspn(dialect_name(i), "abcdefghijklmnopqrstuvwxyz0123456789"),
				 strlen(dialect_name(i)));
		assert_in_range(strlen(dialect_name(i)), 1, 31);
		assert_int_equal(dialect_find(dialect_name(i)), i);
	}
	assert_null(dialect_name(dialect_count()));
	assert_int_equal(dialect_find("nobody's"), dialect_count());
}
