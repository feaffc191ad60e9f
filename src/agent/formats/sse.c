/*
 * sse.c - server-sent events from a model's server.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    the network, cut anywhere.
 * Never:    keeps more than one event, or one larger than it was told.
 */
#include "agent/formats/sse.h"

#include <string.h>

#define BOM "\xef\xbb\xbf"

void sse_init(struct sse *sse, size_t event_max, sse_fn *fn, void *arg)
{
	*sse = (struct sse){
		.fn = fn,
		.arg = arg,
		.line = BUF_INIT(event_max + SSE_NAME_MAX),
		.data = BUF_INIT(event_max),
	};
}

void sse_done(struct sse *sse)
{
	buf_done(&sse->line);
	buf_done(&sse->data);
}

static int dispatch(struct sse *sse, struct err *err)
{
	int rc = 0;

	if (sse->has_data)
		rc = sse->fn(sse->name, buf_text(&sse->data), sse->data.len, sse->arg, err);
	buf_clear(&sse->data);
	sse->has_data = false;
	sse->name[0] = '\0';
	return rc;
}

static int take_data(struct sse *sse, const char *value, size_t len, struct err *err)
{
	if (sse->has_data && buf_addc(&sse->data, '\n', err) < 0)
		return (int)err->code;
	sse->has_data = true;
	return buf_add(&sse->data, value, len, err);
}

/* A whole line without its end. */
static int take_line(struct sse *sse, const char *line, size_t len, struct err *err)
{
	const char *colon = memchr(line, ':', len);
	const size_t name_len = colon != NULL ? (size_t)(colon - line) : len;
	const char *value = colon != NULL ? colon + 1 : line + len;
	size_t value_len = (size_t)(line + len - value);

	if (len == 0)
		return dispatch(sse, err);
	if (value_len > 0 && value[0] == ' ') {
		value++;
		value_len--;
	}
	if (name_len == 4 && memcmp(line, "data", 4) == 0)
		return take_data(sse, value, value_len, err);
	if (name_len == 5 && memcmp(line, "event", 5) == 0) {
		/* No name that we know is as long. */
		if (value_len >= sizeof(sse->name) || memchr(value, '\0', value_len) != NULL)
			value_len = 0;
		memcpy(sse->name, value, value_len);
		sse->name[value_len] = '\0';
	}
	return 0;
}

static int end_line(struct sse *sse, struct err *err)
{
	const char *line = buf_text(&sse->line);
	size_t len = sse->line.len;
	int rc;

	if (!sse->begun && len >= 3 && memcmp(line, BOM, 3) == 0) {
		line += 3;
		len -= 3;
	}
	sse->begun = true;
	rc = take_line(sse, line, len, err);
	buf_clear(&sse->line);
	return rc;
}

int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err)
{
	size_t at = 0;

	while (at < len) {
		size_t end = at;

		if (sse->after_cr && bytes[at] == '\n') {
			sse->after_cr = false;
			at++;
			continue;
		}
		sse->after_cr = false;
		while (end < len && bytes[end] != '\n' && bytes[end] != '\r')
			end++;
		if (buf_add(&sse->line, bytes + at, end - at, err) < 0)
			return err_set(err, ERR_LIMIT, "an event of more than %zu bytes",
				       sse->data.max);
		if (end == len)
			return 0;
		sse->after_cr = bytes[end] == '\r';
		at = end + 1;
		if (end_line(sse, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int sse_end(struct sse *sse, struct err *err)
{
	if (sse->line.len > 0 && end_line(sse, err) < 0)
		return (int)err->code;
	return dispatch(sse, err);
}
