/*
 * log.h - one line per event on stderr: time=… level=info from=reckond msg="session opened" …
 *
 * Only programs log (warden, reckond, front, cli); libraries return errors. Text that comes from
 * inside a box or from the network is escaped here, so that no value can forge a key or a line.
 */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_LOGFMT, LOG_JSON };

/* Lines below this level are dropped; the default is LOG_WARN, RECKON_LOG=debug|info changes it. */
void log_init(const char *program);

/* For a daemon: at most this many lines per second (0: no limit), and twice as many errors; the
 * next line says how many were dropped. */
void log_set(enum log_level threshold, enum log_format format, unsigned lines_per_s);

/* Whether a line of this level would be written. */
int log_wants(enum log_level level);

/*
 * `fields` is a printf format for further key=value pairs, or NULL: `session=%s why="%s" ms=%u`.
 * Values are quoted and escaped if necessary, with or without quotes in the format. Supported are
 * %s %d %i %u %x %% with l, ll and z, and a precision for %s.
 */
void log_line(enum log_level level, const char *msg, const char *fields, ...)
	__attribute__((format(printf, 3, 4)));

/* Context of a line: each field that is not empty is added, unless the line already has that
 * key. */
struct log_context {
	char request[72];
	char trace[33];
	char span[17];
	char tenant[72];
	char session[32];
	char execution[32];
};
/* Sets the context of this thread's lines; it must stay valid until the next call. NULL: none. */
void log_about(const struct log_context *context);
