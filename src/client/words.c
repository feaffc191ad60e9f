/*
 * words.c - a daemon's message in the terms of the command line: commands in place of requests,
 * options in place of fields.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    text of a server.
 * Never:    lets a request through that no command makes: then the whole remedy is left out.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/inner.h"

#define PREFIX "/reckon/v1/"

/*
 * `path` is below PREFIX; a segment that does not begin with a lower-case letter ("ID", "PATH")
 * matches any segment. `with` is text that must follow the request, so such a row comes before the
 * row without it.
 */
static const struct {
	const char *method, *path, *with, *command;
} requests[] = {
	{ "GET", "sessions", "", "reckon session ls" },
	{ "POST", "sessions", "", "reckon session create" },
	{ "GET", "sessions/ID", "", "reckon session show SESSION" },
	{ "DELETE", "sessions/ID", "", "reckon session rm SESSION" },
	{ "POST", "sessions/ID/restart", "", "reckon session restart SESSION" },
	{ "POST", "sessions/ID/pause", "", "reckon session pause SESSION" },
	{ "POST", "sessions/ID/resume", "", "reckon session resume SESSION" },
	{ "POST", "sessions/ID/restore", " with `intact`",
	  "reckon session restore SESSION --intact" },
	{ "POST", "sessions/ID/restore", "", "reckon session restore SESSION" },
	{ "GET", "sessions/ID/executions", "", "reckon logs -s SESSION" },
	{ "GET", "sessions/ID/artifacts", "", "reckon logs -s SESSION" },
	{ "GET", "sessions/ID/processes", "", "reckon ps -a -s SESSION" },
	{ "GET", "sessions/ID/files", "", "reckon files ls -s SESSION" },
	{ "PUT", "sessions/ID/files/PATH", "", "reckon files put -s SESSION FILE" },
	{ "POST", "sessions/ID/links", "", "reckon forward -s SESSION PORT" },
	{ "GET", "volumes", "", "reckon volume ls" },
	{ "POST", "volumes", "", "reckon volume create NAME" },
	{ "GET", "snapshots", "", "reckon snapshot ls" },
	{ "POST", "snapshots", "", "reckon snapshot create SESSION" },
	{ "GET", "keys", "", "reckon key ls" },
	{ "POST", "keys", "", "reckon key create" },
	{ "GET", "tenants", "", "reckon tenant ls" },
	{ "POST", "tenants", "", "reckon tenant create NAME" },
	{ "GET", "ready", "", "reckon doctor" },
};

static const struct {
	const char *field, *option;
} fields[] = {
	{ "send the header Authorization: Bearer rk_...", "set RECKON_API_KEY, or give --key" },
	{ "limits.wall_s", "--timeout" },
	{ "limits.cpu_s", "--cpu-time" },
	{ "limits.memory_bytes", "--memory" },
	{ "limits.disk_bytes", "--disk" },
	{ "limits.output_bytes", "--max-output" },
	{ "limits.processes", "--pids" },
	{ "limits.cpu_percent", "--cpus" },
	{ "idle_timeout_s", "--idle" },
	{ "on_disconnect", "--on-disconnect" },
};

static bool ends_word(char c)
{
	return !isalnum((unsigned char)c) && c != '_';
}

/* The length of a request's path in `text`, without a full stop after it. */
static size_t path_length(const char *text)
{
	size_t len = strcspn(text, " ,;:()`'\"");

	while (len > 0 && text[len - 1] == '.')
		len--;
	return len;
}

static bool is_path(const char *pattern, const char *text, size_t len)
{
	for (;;) {
		const size_t of_pattern = strcspn(pattern, "/");
		const char *slash = memchr(text, '/', len);
		const size_t of_text = slash != NULL ? (size_t)(slash - text) : len;

		if (of_text == 0 || (islower((unsigned char)pattern[0]) &&
				     (of_pattern != of_text || memcmp(pattern, text, of_text) != 0)))
			return false;
		if (pattern[of_pattern] == '\0' || slash == NULL)
			return pattern[of_pattern] == '\0' && slash == NULL;
		pattern += of_pattern + 1;
		text += of_text + 1;
		len -= of_text + 1;
	}
}

/* The length of the method at the start of `text`, with the space after it; 0: there is none. */
static size_t method_length(const char *text)
{
	static const char *const methods[] = { "GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD " };

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strncmp(text, methods[i], strlen(methods[i])) == 0)
			return strlen(methods[i]);
	return 0;
}

/* The length of the request at the start of `text`; *ret_command is NULL if no command makes it. */
static size_t find_request(const char *text, const char **ret_command)
{
	const size_t method = method_length(text), prefix = strlen(PREFIX);
	size_t len;

	*ret_command = NULL;
	if (method == 0 || (text[method] != '/' && text[method] != '.'))
		return 0;
	len = path_length(text + method);
	if (len <= prefix || strncmp(text + method, PREFIX, prefix) != 0)
		return method + len;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		const size_t with = strlen(requests[i].with);

		if (strlen(requests[i].method) + 1 == method &&
		    strncmp(requests[i].method, text, method - 1) == 0 &&
		    is_path(requests[i].path, text + method + prefix, len - prefix) &&
		    strncmp(text + method + len, requests[i].with, with) == 0) {
			*ret_command = requests[i].command;
			return method + len + with;
		}
	}
	return method + len;
}

static const char *find_option(const char *text, size_t *ret_len)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const size_t len = strlen(fields[i].field);
		const bool is_quoted = text[0] == '`';

		if (strncmp(text + is_quoted, fields[i].field, len) != 0 ||
		    (is_quoted ? text[len + 1] != '`'
			       : isalnum((unsigned char)text[len]) || text[len] == '_'))
			continue;
		*ret_len = is_quoted ? len + 2 : len;
		return fields[i].option;
	}
	return NULL;
}

/* False: the text contains a request that no command makes. */
static bool reword(const char *text, struct buf *ret, struct err *err)
{
	for (const char *at = text; *at != '\0';) {
		const bool is_start = at == text || ends_word(at[-1]);
		const char *words = NULL;
		size_t len = is_start ? find_request(at, &words) : 0;

		if (len > 0 && words == NULL)
			return false;
		if (len == 0 && is_start)
			words = find_option(at, &len);
		if ((words != NULL ? buf_adds(ret, words, err) : buf_addc(ret, *at, err)) < 0)
			return true; /* no error is longer than this */
		at += words != NULL ? len : 1;
	}
	return true;
}

void words_message(const char *text, char *ret, size_t size)
{
	cleanup_buf struct buf words = BUF_INIT(size);
	struct err ignored;

	(void)snprintf(ret, size, "%s", reword(text, &words, &ignored) ? buf_text(&words) : text);
}

void words_remedy(const char *text, char *ret, size_t size)
{
	cleanup_buf struct buf words = BUF_INIT(size);
	struct err ignored;
	const bool has_command = reword(text, &words, &ignored);

	(void)snprintf(ret, size, "%s", has_command ? buf_text(&words) : "");
	/* A remedy that still mentions the protocol does not help a person who typed a command. */
	if (strstr(ret, PREFIX) != NULL || strstr(ret, "HTTP") != NULL)
		ret[0] = '\0';
}
