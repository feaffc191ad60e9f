/*
 * http.c - HTTP/1.1 requests from any client: llhttp in strict mode, plus checks that it lacks.
 *
 * Runs in:  reckon-front.
 * Reads:    bytes of any client that can reach the port.
 * Never:    stores more than one head, guesses, or repairs.
 */
#include "codec/http.h"

#include <llhttp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/mem.h"

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_DONE, PHASE_BAD };

struct http_inner {
	llhttp_t parser;
	enum phase phase;
	struct buf head;
	unsigned newlines; /* of the empty line that ends the head: 1 after CRLF, 2 after CRLFCRLF */
	char last;
	const char *url;
	size_t url_len;
	bool is_complete;
	bool is_head_done;
	bool in_name;
	unsigned skipped; /* bytes of an empty line before the request */
};

int http_refuse(struct http *http, unsigned status, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	http->status = status;
	http->err.code = code;
	http->err.errnum = 0;
	http->err.remedy[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(http->err.text, sizeof(http->err.text), fmt, ap);
	va_end(ap);
	return (int)code;
}

/* ---- llhttp's callbacks --------------------------------------------------------------------- */

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
	struct http_inner *inner = ((struct http *)parser->data)->inner;

	inner->url = inner->url == NULL ? at : inner->url;
	inner->url_len += len;
	return 0;
}

/* llhttp gets the whole head buffer at once, so its pointers lie in it. */
static char *own(struct http *http, const char *at)
{
	return http->inner->head.data + (at - http->inner->head.data);
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct http *http = parser->data;
	struct http_header *header = http->header_count > 0
					     ? &http->header[http->header_count - 1]
					     : NULL;

	if (http->inner->is_head_done)
		return http_refuse(http, 400, ERR_INVALID, "trailers are not accepted");
	/* llhttp may not call back for an empty value: the end of the name counts. */
	if (header == NULL || !http->inner->in_name) {
		if (http->header_count == HTTP_HEADERS_MAX)
			return http_refuse(http, 431, ERR_LIMIT, "more than %u headers",
					   HTTP_HEADERS_MAX);
		header = &http->header[http->header_count++];
		*header = (struct http_header){ .name = own(http, at) };
	}
	http->inner->in_name = true;
	header->name_len += len;
	return 0;
}

static int on_field_complete(llhttp_t *parser)
{
	((struct http *)parser->data)->inner->in_name = false;
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct http *http = parser->data;
	struct http_header *header;

	if (http->inner->is_head_done || http->header_count == 0)
		return http_refuse(http, 400, ERR_INVALID, "trailers are not accepted");
	if (len == 0)
		return 0;
	header = &http->header[http->header_count - 1];
	if (header->value != NULL && header->value + header->value_len != at)
		return http_refuse(http, 400, ERR_INVALID, "a header without a name");
	if (header->value == NULL)
		header->value = own(http, at);
	header->value_len += len;
	return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
	struct http *http = parser->data;

	http->inner->is_head_done = true;
	/* No connection changes its protocol here: the Upgrade header is ignored, as HTTP
	 * allows. */
	parser->upgrade = 0;
	return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct http *http = parser->data;

	if (len > http->body_max - http->body_len)
		return http_refuse(http, 413, ERR_LIMIT, "the body is longer than %llu bytes",
				   (unsigned long long)http->body_max);
	http->body_len += len;
	return http->body_fn != NULL ? http->body_fn(http, at, len, http->body_arg) : 0;
}

static int on_complete(llhttp_t *parser)
{
	struct http *http = parser->data;

	http->inner->is_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_url,
	.on_header_field = on_field,
	.on_header_field_complete = on_field_complete,
	.on_header_value = on_value,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

/* ---- life ----------------------------------------------------------------------------------- */

void http_init(struct http *http)
{
	memset(http, 0, sizeof(*http));
	http->inner = mem_new0(1, sizeof(*http->inner));
	http->inner->head = BUF_INIT(HTTP_HEAD_MAX);
	http_reset(http);
}

void http_reset(struct http *http)
{
	struct http_inner *inner = http->inner;
	struct buf head = inner->head;

	buf_done(&head); /* an idle connection holds no memory for a head */
	memset(inner, 0, sizeof(*inner));
	memset(http, 0, sizeof(*http));
	http->inner = inner;
	inner->head = BUF_INIT(HTTP_HEAD_MAX);
	llhttp_init(&inner->parser, HTTP_REQUEST, &settings);
	inner->parser.data = http;
}

void http_done(struct http *http)
{
	if (http->inner == NULL)
		return;
	buf_done(&http->inner->head);
	free(http->inner);
	http->inner = NULL;
}

bool http_is_idle(const struct http *http)
{
	return http->inner->phase == PHASE_HEAD && http->inner->head.len == 0;
}

const char *http_header(const struct http *http, const char *name)
{
	return http_headers_find(http->header, http->header_count, name);
}

/* ---- headers -------------------------------------------------------------------------------- */

const char *http_headers_find(const struct http_header *headers, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(headers[i].name, name) == 0)
			return headers[i].value;
	return NULL;
}

size_t http_headers_count(const struct http_header *headers, size_t count, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += strcmp(headers[i].name, name) == 0;
	return found;
}

void http_headers_settle(struct http_header *headers, size_t count)
{
	static char empty[1];

	for (struct http_header *header = headers; header < headers + count; header++) {
		if (header->value == NULL)
			header->value = empty;
		while (header->value_len > 0 && (header->value[header->value_len - 1] == ' ' ||
						 header->value[header->value_len - 1] == '\t'))
			header->value_len--;
		if (header->value != empty)
			header->value[header->value_len] = '\0';
		header->name[header->name_len] = '\0';
		for (char *at = header->name; *at != '\0'; at++)
			if (*at >= 'A' && *at <= 'Z')
				*at = (char)(*at + ('a' - 'A'));
	}
}

/* ---- checking a head ------------------------------------------------------------------------ */

static int llhttp_failed(struct http *http)
{
	const char *reason = llhttp_get_error_reason(&http->inner->parser);

	if (http->status != 0)
		return (int)http->err.code;
	return http_refuse(http, 400, ERR_INVALID, "not HTTP: %s",
			   reason != NULL && reason[0] != '\0' ? reason : "malformed");
}

static int check_once(struct http *http)
{
	/* Headers of which two parsers could choose different ones. */
	static const char *const once[] = { "host", "content-length", "transfer-encoding",
					    "authorization", "content-type", "idempotency-key",
					    "expect", "range", "last-event-id" };

	for (size_t i = 0; i < ARRAY_LEN(once); i++)
		if (http_headers_count(http->header, http->header_count, once[i]) > 1)
			return http_refuse(http, 400, ERR_INVALID, "more than one %s header",
					   once[i]);
	return 0;
}

static int check_host(struct http *http)
{
	const char *host = http_header(http, "host");

	if (host == NULL)
		return http->minor == 0 ? 0
					: http_refuse(http, 400, ERR_INVALID, "no Host header");
	if (host[0] == '\0' ||
	    strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") !=
		    strlen(host))
		return http_refuse(http, 400, ERR_INVALID, "the Host header is malformed");
	return 0;
}

static int check_framing(struct http *http)
{
	const char *encoding = http_header(http, "transfer-encoding");
	const char *length = http_header(http, "content-length");

	if (encoding != NULL) {
		if (length != NULL)
			return http_refuse(http, 400, ERR_INVALID,
					   "both Content-Length and Transfer-Encoding");
		if (http->minor == 0)
			return http_refuse(http, 400, ERR_INVALID, "chunks in HTTP/1.0");
		if (strcasecmp(encoding, "chunked") != 0)
			return http_refuse(http, 501, ERR_INVALID,
					   "a Transfer-Encoding other than chunked");
		http->is_chunked = true;
	}
	if (length != NULL &&
	    (length[0] == '\0' || strspn(length, "0123456789") != strlen(length)))
		return http_refuse(http, 400, ERR_INVALID, "Content-Length is not a number");
	http->length = length != NULL ? http->inner->parser.content_length : 0;
	http->has_body = !http->inner->is_complete;
	return 0;
}

static int take_target(struct http *http)
{
	struct http_inner *inner = http->inner;
	char *query, *path = own(http, inner->url);

	if (inner->url_len == 0 || path[0] != '/')
		return http_refuse(http, 400, ERR_INVALID, "the target must be a path");
	for (size_t i = 0; i < inner->url_len; i++)
		if ((unsigned char)path[i] <= 0x20 || (unsigned char)path[i] >= 0x7f ||
		    path[i] == '#')
			return http_refuse(http, 400, ERR_INVALID,
					   "a character in the target that must be encoded");
	path[inner->url_len] = '\0';
	query = strchr(path, '?');
	if (query != NULL)
		*query++ = '\0';
	http->path = path;
	http->query = query != NULL ? query : "";
	return 0;
}

static enum http_verb verb_of(uint8_t method)
{
	static const struct {
		uint8_t method;
		enum http_verb verb;
	} known[] = {
		{ HTTP_GET, HTTP_VERB_GET },	 { HTTP_POST, HTTP_VERB_POST },
		{ HTTP_PUT, HTTP_VERB_PUT },	 { HTTP_PATCH, HTTP_VERB_PATCH },
		{ HTTP_DELETE, HTTP_VERB_DELETE }, { HTTP_HEAD, HTTP_VERB_HEAD },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].method == method)
			return known[i].verb;
	return HTTP_VERB_OTHER;
}

static int take_head(struct http *http)
{
	struct http_inner *inner = http->inner;
	llhttp_t *parser = &inner->parser;
	const llhttp_errno_t code = llhttp_execute(parser, inner->head.data, inner->head.len);

	if ((code != HPE_OK && code != HPE_PAUSED) || !inner->is_head_done)
		return llhttp_failed(http);
	if (parser->http_major != 1 || parser->http_minor > 1)
		return http_refuse(http, 505, ERR_INVALID, "only HTTP/1.1 and HTTP/1.0 are spoken");
	http->minor = parser->http_minor;
	http->verb = verb_of(parser->method);
	http->method = llhttp_method_name((llhttp_method_t)parser->method);
	/* Check now: llhttp clears the flags at the end of a message without a body. */
	http_headers_settle(http->header, http->header_count);
	if (check_once(http) < 0 || check_host(http) < 0 || check_framing(http) < 0 ||
	    take_target(http) < 0)
		return (int)http->err.code;
	http->keep_alive = http->minor == 1;
	for (size_t i = 0; i < http->header_count; i++)
		if (strcmp(http->header[i].name, "connection") == 0 &&
		    strcasestr(http->header[i].value, "close") != NULL)
			http->keep_alive = false;
	return 0;
}

/* ---- feeding -------------------------------------------------------------------------------- */

/* Checks one byte of the head: its line breaks, folded headers, control characters. */
static int judge_byte(struct http *http, char byte)
{
	struct http_inner *inner = http->inner;
	const char last = inner->last;

	inner->last = byte;
	if (last == '\r' && byte != '\n')
		return http_refuse(http, 400, ERR_INVALID, "a carriage return without line feed");
	if (byte == '\n' && last != '\r')
		return http_refuse(http, 400, ERR_INVALID, "a line feed without carriage return");
	if (inner->newlines == 1 && (byte == ' ' || byte == '\t'))
		return http_refuse(http, 400, ERR_INVALID, "a folded header");
	if (inner->newlines == 1 && byte == ':')
		return http_refuse(http, 400, ERR_INVALID, "a header without a name");
	if (((unsigned char)byte < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') ||
	    byte == 0x7f)
		return http_refuse(http, 400, ERR_INVALID, "a control character");
	if (byte == '\n')
		inner->newlines++;
	else if (byte != '\r')
		inner->newlines = 0;
	return 0;
}

static enum http_step feed_head(struct http *http, const char *bytes, size_t len, size_t *ret_used)
{
	struct http_inner *inner = http->inner;
	struct err err;
	size_t used = 0;

	/* Skips one empty line before the request, as HTTP asks. */
	while (used < len && inner->head.len == 0 && inner->skipped < 2) {
		if (bytes[used] != "\r\n"[inner->skipped])
			break;
		inner->skipped++;
		used++;
	}
	bytes += used;
	len -= used;
	*ret_used += used;
	used = 0;
	if (inner->skipped == 1 && len > 0) {
		(void)http_refuse(http, 400, ERR_INVALID,
				  "a carriage return without line feed");
		return HTTP_STEP_BAD;
	}
	while (used < len && inner->newlines < 2) {
		if (inner->head.len + used == 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
			(void)http_refuse(http, 400, ERR_INVALID, "empty lines");
			return HTTP_STEP_BAD;
		}
		if (judge_byte(http, bytes[used]) < 0)
			return HTTP_STEP_BAD;
		used++;
	}
	if (buf_add(&inner->head, bytes, used, &err) < 0) {
		(void)http_refuse(http, 431, ERR_LIMIT, "a head of more than %u bytes",
				  HTTP_HEAD_MAX);
		return HTTP_STEP_BAD;
	}
	*ret_used += used;
	if (inner->newlines < 2)
		return HTTP_STEP_MORE;
	if (take_head(http) < 0)
		return HTTP_STEP_BAD;
	inner->phase = PHASE_BODY;
	return HTTP_STEP_HEAD;
}

static enum http_step feed_body(struct http *http, const char *bytes, size_t len, size_t *ret_used)
{
	struct http_inner *inner = http->inner;
	llhttp_errno_t code;

	if (!inner->is_complete) {
		if (len == 0)
			return HTTP_STEP_MORE;
		code = llhttp_execute(&inner->parser, bytes, len);
		if (code == HPE_OK) {
			*ret_used += len;
			return HTTP_STEP_MORE;
		}
		if (code != HPE_PAUSED) {
			(void)llhttp_failed(http);
			return HTTP_STEP_BAD;
		}
		*ret_used += (size_t)(llhttp_get_error_pos(&inner->parser) - bytes);
	}
	inner->phase = PHASE_DONE;
	return HTTP_STEP_DONE;
}

enum http_step http_feed(struct http *http, const char *bytes, size_t len, size_t *ret_used)
{
	enum http_step step = HTTP_STEP_BAD;

	*ret_used = 0;
	switch (http->inner->phase) {
	case PHASE_HEAD:
		step = feed_head(http, bytes, len, ret_used);
		break;
	case PHASE_BODY:
		step = feed_body(http, bytes, len, ret_used);
		break;
	case PHASE_DONE:
		return HTTP_STEP_DONE;
	case PHASE_BAD:
		return HTTP_STEP_BAD;
	}
	if (step == HTTP_STEP_BAD)
		http->inner->phase = PHASE_BAD;
	return step;
}

/* ---- parts of a request --------------------------------------------------------------------- */

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

bool http_decode(const char *text, size_t len, char *ret, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '%') {
			if (len - i < 3 || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
				return false;
			byte = (unsigned char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
			i += 2;
		}
		if (byte < 0x20 || byte == 0x7f || out + 1 >= size)
			return false;
		ret[out++] = (char)byte;
	}
	ret[out] = '\0';
	return true;
}

int http_query_next(const char **at, char *name, size_t name_size, char *value, size_t value_size,
		    struct err *err)
{
	const char *part = *at;
	const size_t len = strcspn(part, "&");
	const char *equals = memchr(part, '=', len);

	if (part[0] == '\0')
		return 0;
	*at = part + len + (part[len] == '&');
	if (equals == NULL || !http_decode(part, (size_t)(equals - part), name, name_size) ||
	    !http_decode(equals + 1, len - (size_t)(equals + 1 - part), value, value_size))
		return err_set(err, ERR_INVALID, "the query is malformed: %.60s", part);
	return 1;
}

const char *http_cookie_next(const char **at, size_t *ret_len)
{
	const char *begin = *at + strspn(*at, "; \t");
	const size_t len = strcspn(begin, ";");

	*at = begin + len;
	*ret_len = len;
	return *begin != '\0' ? begin : NULL;
}

bool http_cookie(const struct http *http, const char *name, char *ret, size_t size)
{
	const size_t name_len = strlen(name);

	for (size_t i = 0; i < http->header_count; i++) {
		const char *at = http->header[i].value, *cookie;
		size_t len;

		if (strcmp(http->header[i].name, "cookie") != 0)
			continue;
		while ((cookie = http_cookie_next(&at, &len)) != NULL)
			if (len > name_len && strncmp(cookie, name, name_len) == 0 &&
			    cookie[name_len] == '=' && len - name_len <= size) {
				(void)snprintf(ret, size, "%.*s", (int)(len - name_len - 1),
					       cookie + name_len + 1);
				return true;
			}
	}
	return false;
}

/* Digits only, no overflow. */
static bool parse_u64(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;

	if (len == 0 || len > 19)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = value;
	return true;
}

int http_range(const char *header, uint64_t size, uint64_t *ret_first, uint64_t *ret_length,
	       struct err *err)
{
	uint64_t first = 0, last = size == 0 ? 0 : size - 1;
	const char *dash;

	/* A range that is not in bytes, or several ranges: the whole file is a valid answer. */
	if (strncmp(header, "bytes=", 6) != 0 || strchr(header, ',') != NULL)
		return 0;
	header += 6;
	dash = strchr(header, '-');
	if (dash == NULL)
		return 0;
	if (dash == header) {
		if (!parse_u64(dash + 1, strlen(dash + 1), &last))
			return 0;
		if (last == 0 || size == 0)
			return err_set(err, ERR_INVALID, "a range of no bytes");
		first = last < size ? size - last : 0;
		last = size - 1;
	} else {
		if (!parse_u64(header, (size_t)(dash - header), &first) ||
		    (dash[1] != '\0' && !parse_u64(dash + 1, strlen(dash + 1), &last)) ||
		    (dash[1] != '\0' && last < first))
			return 0;
		if (first >= size)
			return err_set(err, ERR_INVALID, "the range begins behind the end (%llu)",
				       (unsigned long long)size);
		if (last >= size)
			last = size - 1;
	}
	*ret_first = first;
	*ret_length = last - first + 1;
	return 1;
}
