/*
 * main.c - one dialect in its own fenced process; the build chooses which (-DDIALECT=name).
 *
 * Runs in:  reckon-front-NAME.
 * Reads:    the network, through httpd.
 * Never:    implements a protocol.
 */
#include "dialects/match.h"
#include "dialects/table.h"
#include "httpd/httpd.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern const struct dialect JOIN(dialect_, DIALECT);

int main(int argc, char **argv)
{
	const struct dialect *self = &JOIN(dialect_, DIALECT);

	return httpd_main(argc, argv, self, (unsigned)dialect_find(self->name), dialect_recognise);
}
