/*
 * err.c - the one error type: set, wrap, name.
 *
 * Runs in:  every process.
 * Reads:    nothing.
 * Never:    allocates.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_clear(struct err *err)
{
	memset(err, 0, sizeof(*err));
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->errnum = 0;
	err->remedy[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return (int)code;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	const int saved = errno;
	char reason[96];
	size_t used;
	va_list ap;

	err->code = ERR_SYSTEM;
	err->errnum = saved;
	err->remedy[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s",
		       strerror_r(saved, reason, sizeof(reason)));
	return ERR_SYSTEM;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->text)];
	size_t used;
	va_list ap;

	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	return (int)err->code;
}

int err_remedy(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err->remedy, sizeof(err->remedy), fmt, ap);
	va_end(ap);
	return (int)err->code;
}

const char *err_code_name(enum err_code code)
{
	switch (code) {
	case ERR_OK:
		return "ok";
	case ERR_INVALID:
		return "invalid";
	case ERR_NOT_FOUND:
		return "not_found";
	case ERR_DENIED:
		return "denied";
	case ERR_LIMIT:
		return "limit";
	case ERR_TIMEOUT:
		return "timeout";
	case ERR_SYSTEM:
		return "system";
	case ERR_PROTOCOL:
		return "protocol";
	case ERR_LOST:
		return "lost";
	case ERR_UNAVAILABLE:
		return "unavailable";
	case ERR_KERNEL_LOST:
		return "kernel_lost";
	}
	return "unknown";
}
