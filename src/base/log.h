/*
 * log.h - one line per event on stderr, logfmt: level=info msg="session ready" …
 *
 * Only programs log (warden, cli); libraries return errors. Text that comes from inside a box
 * is escaped here, so a log line cannot be forged.
 */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Lines below this level are dropped; the default is LOG_WARN, RECKON_LOG=debug|info changes it. */
void log_init(const char *program);

/* `fields` is a printf format for further key=value pairs, or NULL. */
void log_line(enum log_level level, const char *msg, const char *fields, ...)
	__attribute__((format(printf, 3, 4)));
