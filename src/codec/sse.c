/*
 * sse.c - parses server-sent events from a stream of bytes, split anywhere.
 *
 * Runs in:  clients of the daemon, reckon-agent.
 * Reads:    any bytes, from a server.
 * Never:    stores more than one event.
 */
#include "codec/sse.h"

#include <string.h>

#define BOM "\xef\xbb\xbf"
#define FIELD_MAX 128u /* of a line, in addition to its data */

void sse_init(struct sse *sse, size_t max, sse_fn *fn, void *arg)
{
	memset(sse, 0, sizeof(*sse));
	sse->fn = fn;
	sse->arg = arg;
	sse->line = BUF_INIT(max + FIELD_MAX);
	sse->data = BUF_INIT(max);
}

void sse_done(struct sse *sse)
{
	buf_done(&sse->line);
	buf_done(&sse->data);
}

void sse_restart(struct sse *sse)
{
	buf_clear(&sse->line);
	buf_clear(&sse->data);
	memcpy(sse->next_id, sse->id, sizeof(sse->id));
	sse->name[0] = '\0';
	sse->has_data = sse->after_cr = sse->has_begun = false;
}

/* An empty line completes the event. An event without data is dropped. */
static int dispatch(struct sse *sse, struct err *err)
{
	const struct sse_event event = {
		.id = sse->id,
		.name = sse->name[0] != '\0' ? sse->name : "message",
		.data = buf_text(&sse->data),
		.len = sse->data.len,
	};
	/* Take over the id only now: an incomplete event must be sent again. */
	memcpy(sse->id, sse->next_id, sizeof(sse->id));
	const int code = sse->has_data ? sse->fn(&event, sse->arg, err) : 0;

	buf_clear(&sse->data);
	sse->name[0] = '\0';
	sse->has_data = false;
	return code < 0 ? code : 0;
}

static bool is_field(const char *line, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(line, name, len) == 0;
}

static int take_field(struct sse *sse, const char *line, size_t len, struct err *err)
{
	const char *colon = memchr(line, ':', len);
	const size_t name_len = colon != NULL ? (size_t)(colon - line) : len;
	const char *value = colon != NULL ? colon + 1 : line + len;
	size_t value_len = len - (size_t)(value - line);

	if (value_len > 0 && *value == ' ') {
		value++;
		value_len--;
	}
	if (is_field(line, name_len, "data")) {
		if (sse->has_data && buf_addc(&sse->data, '\n', err) < 0)
			return (int)err->code;
		sse->has_data = true;
		return buf_add(&sse->data, value, value_len, err);
	}
	/* Ignore long names: no known event has one. */
	if (is_field(line, name_len, "event")) {
		if (value_len >= sizeof(sse->name) || memchr(value, '\0', value_len) != NULL)
			value_len = 0;
		memcpy(sse->name, value, value_len);
		sse->name[value_len] = '\0';
	}
	/* Ignore an id that cannot be sent back in a header. */
	if (is_field(line, name_len, "id") && value_len < sizeof(sse->next_id) &&
	    strspn(value, "0123456789") >= value_len) {
		memcpy(sse->next_id, value, value_len);
		sse->next_id[value_len] = '\0';
	}
	return 0;
}

static int end_line(struct sse *sse, struct err *err)
{
	const char *line = buf_text(&sse->line);
	size_t len = sse->line.len;
	int code;

	if (!sse->has_begun && len >= strlen(BOM) && memcmp(line, BOM, strlen(BOM)) == 0) {
		line += strlen(BOM);
		len -= strlen(BOM);
	}
	sse->has_begun = true;
	/* A comment is a field with an empty name. */
	code = len == 0 ? dispatch(sse, err) : take_field(sse, line, len, err);
	buf_clear(&sse->line);
	return code;
}

int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err)
{
	while (len > 0) {
		size_t n = 0;

		if (sse->after_cr) {
			sse->after_cr = false;
			if (*bytes == '\n') {
				bytes++;
				len--;
				continue;
			}
		}
		while (n < len && bytes[n] != '\n' && bytes[n] != '\r')
			n++;
		if (n > 0 && buf_add(&sse->line, bytes, n, err) < 0)
			return err_set(err, ERR_LIMIT, "an event of more than %zu bytes",
				       sse->data.max);
		if (n < len) {
			sse->after_cr = bytes[n] == '\r';
			if (end_line(sse, err) < 0)
				return (int)err->code;
			n++;
		}
		bytes += n;
		len -= n;
	}
	return 0;
}

int sse_end(struct sse *sse, struct err *err)
{
	if (sse->line.len > 0 && end_line(sse, err) < 0)
		return (int)err->code;
	return dispatch(sse, err);
}
