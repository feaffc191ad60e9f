/*
 * moment.c - parses a time as in RFC 3339.
 *
 * Runs in:  the dialects.
 * Reads:    text of any client.
 * Never:    accepts an invalid time.
 */
#include "api/moment.h"

#include <string.h>
#include <time.h>

/* Reads `count` digits that no further digit follows. */
static bool take_digits(const char **at, int count, int *ret)
{
	*ret = 0;
	for (int i = 0; i < count; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static bool take_char(const char **at, char c)
{
	return *(*at)++ == c;
}

static bool take_zone(const char **at, int *ret_minutes)
{
	int hours, minutes, sign;

	*ret_minutes = 0;
	if (**at == 'Z' || **at == 'z') {
		(*at)++;
		return true;
	}
	sign = **at == '-' ? -1 : 1;
	if ((**at != '+' && **at != '-') || !(*at)++ || !take_digits(at, 2, &hours) ||
	    !take_char(at, ':') || !take_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

bool api_moment(const char *at, uint64_t *ret_ms)
{
	struct tm tm = { 0 };
	time_t seconds;
	int zone;

	if (!take_digits(&at, 4, &tm.tm_year) || !take_char(&at, '-') ||
	    !take_digits(&at, 2, &tm.tm_mon) || !take_char(&at, '-') ||
	    !take_digits(&at, 2, &tm.tm_mday) || (*at != 'T' && *at != 't' && *at != ' ') ||
	    !at++ || !take_digits(&at, 2, &tm.tm_hour) || !take_char(&at, ':') ||
	    !take_digits(&at, 2, &tm.tm_min) || !take_char(&at, ':') ||
	    !take_digits(&at, 2, &tm.tm_sec))
		return false;
	if (*at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	if (!take_zone(&at, &zone) || *at != '\0' || tm.tm_year < 1970 || tm.tm_mon < 1 ||
	    tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm) - zone * 60;
	if (seconds <= 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000u;
	return true;
}
