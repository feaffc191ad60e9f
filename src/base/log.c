/*
 * log.c - one line per event on stderr.
 *
 * Runs in:  programs, never libraries.
 * Reads:    RECKON_LOG.
 * Never:    lets a control character through.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum log_level threshold = LOG_WARN;
static const char *name = "reckon";

void log_init(const char *program)
{
	const char *want = getenv("RECKON_LOG");

	name = program;
	if (want != NULL && strcmp(want, "debug") == 0)
		threshold = LOG_DEBUG;
	else if (want != NULL && strcmp(want, "info") == 0)
		threshold = LOG_INFO;
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	char line[1024];
	int used;

	if (level < threshold)
		return;
	used = snprintf(line, sizeof(line), "level=%s from=%s msg=\"%s\"%s", names[level], name,
			msg, fields != NULL ? " " : "");
	if (fields != NULL && used > 0 && (size_t)used < sizeof(line)) {
		va_list ap;

		va_start(ap, fields);
		(void)vsnprintf(line + used, sizeof(line) - (size_t)used, fields, ap);
		va_end(ap);
	}
	for (char *at = line; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	(void)dprintf(STDERR_FILENO, "%s\n", line);
}
