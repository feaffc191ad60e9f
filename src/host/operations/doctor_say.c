/*
 * doctor_say.c - what reckond doctor found, one line after the other.
 *
 * Runs in:  a reckond of its own.
 * Reads:    nothing.
 * Never:    tells a remedy for what is well.
 */
#include "host/operations/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_say(struct doctor *doctor, enum doctor_state state, const char *name,
		const char *remedy, const char *fmt, ...)
{
	struct doctor_check *check;
	va_list ap;

	if (doctor->count == DOCTOR_CHECKS_MAX)
		return;
	check = &doctor->checks[doctor->count++];
	check->state = state;
	check->name = name;
	(void)snprintf(check->remedy, sizeof(check->remedy), "%s",
		       state == DOCTOR_OK ? "" : remedy);
	va_start(ap, fmt);
	(void)vsnprintf(check->detail, sizeof(check->detail), fmt, ap);
	va_end(ap);
}
