/*
 * log.c - one line per event on stderr.
 *
 * Runs in:  programs, never libraries.
 * Reads:    RECKON_LOG.
 * Never:    lets a value become a key, a control character or a second line.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"

#define LINE_SIZE 1984
#define VALUE_SIZE 1024
#define ROOM 16 /* for the longest escape and the end of the line */

static const char *const level_names[] = { "debug", "info", "warn", "error" };
static const char *const context_names[] = { "request", "trace",   "span",
					     "tenant",  "session", "execution" };

static enum log_level threshold = LOG_WARN;
static enum log_format format;
static unsigned limit;
static const char *name = "reckon";
static _Thread_local const struct log_context *about;

struct line {
	char text[LINE_SIZE];
	size_t len;
	unsigned has; /* bit per context_names entry that the line already has */
};

struct value {
	char text[VALUE_SIZE];
	size_t len;
	bool is_number;
};

void log_init(const char *program)
{
	const char *want = getenv("RECKON_LOG");

	name = program;
	threshold = LOG_WARN;
	for (size_t i = 0; want != NULL && i < ARRAY_LEN(level_names); i++)
		if (strcmp(want, level_names[i]) == 0)
			threshold = (enum log_level)i;
}

void log_set(enum log_level lowest, enum log_format how, unsigned lines_per_s)
{
	threshold = lowest;
	format = how;
	limit = lines_per_s;
}

int log_wants(enum log_level level)
{
	return level >= threshold;
}

void log_about(const struct log_context *context)
{
	about = context;
}

/* ---- one value ------------------------------------------------------------------------------ */

static void value_add(struct value *value, const char *text, size_t len)
{
	const size_t room = sizeof(value->text) - 1 - value->len;

	if (len > room)
		len = room;
	memcpy(value->text + value->len, text, len);
	value->len += len;
}

static void add_text(struct value *value, const char *text, int precision)
{
	if (text == NULL)
		text = "(null)";
	value_add(value, text, precision >= 0 ? strnlen(text, (size_t)precision) : strlen(text));
}

/* A precision: digits or a star; -1 if absent. */
static int read_precision(const char **at, va_list *ap)
{
	char *end;
	int precision = -1;

	if (**at != '.')
		return -1;
	(*at)++;
	if (**at == '*') {
		(*at)++;
		return va_arg(*ap, int);
	}
	precision = (int)strtol(*at, &end, 10);
	*at = end;
	return precision;
}

/* Formats one conversion, after its "%"; returns false if it is unknown. */
static bool convert(const char **at, va_list *ap, struct value *value)
{
	const int precision = read_precision(at, ap);
	char digits[32];
	int length = 0;
	uint64_t number;

	for (; **at == 'l' || **at == 'z'; (*at)++)
		length++;
	switch (*(*at)++) {
	case 's':
		add_text(value, va_arg(*ap, const char *), precision);
		return true;
	case '%':
		value_add(value, "%", 1);
		return true;
	case 'd':
	case 'i':
		(void)snprintf(digits, sizeof(digits), "%lld",
			       length > 0 ? va_arg(*ap, long long) : va_arg(*ap, int));
		break;
	case 'u':
	case 'x':
		number = length > 0 ? va_arg(*ap, unsigned long long) : va_arg(*ap, unsigned);
		(void)snprintf(digits, sizeof(digits), (*at)[-1] == 'x' ? "%llx" : "%llu",
			       (unsigned long long)number);
		break;
	default:
		return false;
	}
	value->is_number = value->len == 0 && (*at)[-1] != 'x';
	value_add(value, digits, strlen(digits));
	return true;
}

/* Reads `key=value` after any spaces; false at the end, or if the format is not as log.h says. */
static bool next_field(const char **at, va_list *ap, char *key, size_t key_size,
		       struct value *value)
{
	size_t len;
	bool quoted;

	*at += strspn(*at, " ");
	len = strcspn(*at, "=");
	if ((*at)[len] != '=' || len == 0 || len >= key_size)
		return false;
	memcpy(key, *at, len);
	key[len] = '\0';
	*at += len + 1;
	quoted = **at == '"';
	if (quoted)
		(*at)++;
	value->len = 0;
	value->is_number = false;
	while (**at != '\0' && **at != (quoted ? '"' : ' ')) {
		if (**at == '%') {
			(*at)++;
			if (!convert(at, ap, value))
				return false;
		} else {
			value->is_number = false;
			value_add(value, (*at)++, 1);
		}
	}
	if (quoted && **at == '"')
		(*at)++;
	value->is_number = value->is_number && !quoted;
	return true;
}

/* ---- one line ------------------------------------------------------------------------------- */

static bool line_has_room(const struct line *line, size_t len)
{
	return line->len + len + ROOM < sizeof(line->text);
}

static void line_add(struct line *line, const char *text, size_t len)
{
	if (!line_has_room(line, len))
		return;
	memcpy(line->text + line->len, text, len);
	line->len += len;
}

static bool needs_quotes(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == ' ' || text[i] == '"' || text[i] == '=' || text[i] == '\\')
			return true;
	return len == 0;
}

static void add_plain(struct line *line, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];
		const char shown[] = { '\\', c < 0x20 || c == 0x7f ? '?' : (char)c };

		if (c == '"' || c == '\\')
			line_add(line, shown, 2);
		else
			line_add(line, shown + 1, 1);
	}
}

static void add_json(struct line *line, const char *text, size_t len)
{
	char escape[8];

	for (size_t i = 0, n; i < len; i += n) {
		const unsigned char c = (unsigned char)text[i];

		n = utf8_sequence(text + i, len - i);
		if (n == 0) {
			n = 1;
			line_add(line, "\\ufffd", 6);
		} else if (c < 0x20 || c == 0x7f) {
			(void)snprintf(escape, sizeof(escape), "\\u%04x", c);
			line_add(line, escape, 6);
		} else if (c == '"' || c == '\\') {
			escape[0] = '\\';
			escape[1] = (char)c;
			line_add(line, escape, 2);
		} else {
			line_add(line, text + i, n);
		}
	}
}

static void add_pair(struct line *line, const char *key, const char *text, size_t len,
		     bool is_number, bool quoted)
{
	const bool is_json = format == LOG_JSON;

	for (size_t i = 0; i < ARRAY_LEN(context_names); i++)
		if (strcmp(key, context_names[i]) == 0)
			line->has |= 1u << i;
	if (!line_has_room(line, strlen(key) + 8))
		return;
	if (line->len > (is_json ? 1u : 0u))
		line_add(line, is_json ? "," : " ", 1);
	if (is_json)
		line_add(line, "\"", 1);
	line_add(line, key, strlen(key));
	line_add(line, is_json ? "\":" : "=", is_json ? 2 : 1);
	quoted = is_json ? !is_number : quoted || needs_quotes(text, len);
	if (quoted)
		line_add(line, "\"", 1);
	if (is_json)
		add_json(line, text, len);
	else
		add_plain(line, text, len);
	if (quoted)
		line->text[line->len++] = '"'; /* in the reserved ROOM */
}

static void add_words(struct line *line, const char *key, const char *text, bool quoted)
{
	add_pair(line, key, text, strlen(text), false, quoted);
}

static void add_context(struct line *line)
{
	const char *const texts[] = { about->request, about->trace,   about->span,
				      about->tenant,  about->session, about->execution };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i][0] != '\0' && (line->has >> i & 1u) == 0)
			add_words(line, context_names[i], texts[i], false);
}

static void begin(struct line *line, enum log_level level, const char *msg)
{
	char now[CLOCK_RFC3339_SIZE];

	line->len = line->has = 0;
	clock_rfc3339_now(now);
	if (format == LOG_JSON)
		line_add(line, "{", 1);
	add_words(line, "time", now, false);
	add_words(line, "level", level_names[level], false);
	add_words(line, "from", name, false);
	add_words(line, "msg", msg, true);
}

static void finish(struct line *line)
{
	if (format == LOG_JSON)
		line->text[line->len++] = '}';
	line->text[line->len++] = '\n';
	/* One write, so that lines of several processes do not mix. There is nowhere to report a
	 * failure. */
	if (write(STDERR_FILENO, line->text, line->len) < 0)
		return;
}

/* Whether there is room for one more line in this second. */
static bool may_write(struct line *line, enum log_level level)
{
	static uint64_t second;
	static unsigned written, dropped;
	const uint64_t now = clock_mono_ns() / 1000000000u;
	char count[16];

	if (limit == 0)
		return true;
	if (now != second) {
		second = now;
		written = 0;
		if (dropped > 0) {
			begin(line, LOG_WARN, "log lines were dropped");
			(void)snprintf(count, sizeof(count), "%u", dropped);
			add_pair(line, "count", count, strlen(count), true, false);
			finish(line);
			dropped = 0;
		}
	}
	if (written < (level == LOG_ERROR ? 2 * limit : limit)) {
		written++;
		return true;
	}
	dropped++;
	return false;
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
	struct line line;
	struct value value;
	char key[48];
	va_list ap;

	if (level < threshold || !may_write(&line, level))
		return;
	begin(&line, level, msg);
	if (fields != NULL) {
		va_start(ap, fields);
		while (next_field(&fields, &ap, key, sizeof(key), &value))
			add_pair(&line, key, value.text, value.len, value.is_number, false);
		va_end(ap);
	}
	if (about != NULL)
		add_context(&line);
	finish(&line);
}
