/*
 * doctor_say.c - collects the results of reckond doctor.
 *
 * Runs in:  a separate reckond.
 * Reads:    nothing.
 * Never:    stores a remedy for a check that is ok.
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
