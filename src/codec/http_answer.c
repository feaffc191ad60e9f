/*
 * http_answer.c - HTTP/1.1 answers of an untrusted server.
 *
 * Runs in:  reckon-front.
 * Reads:    bytes of programs in boxes.
 * Never:    stores more than one head, guesses, or repairs.
 */
#include "codec/http_answer.h"

#include <llhttp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define INTERIM_MAX 8u

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_DONE, PHASE_BAD };

struct http_answer_inner {
	llhttp_t parser;
	enum phase phase;
	struct buf head;
	unsigned newlines; /* of the empty line that ends the head */
	char last;
	bool has_no_body, in_name;
	bool is_head_done, is_complete;
	unsigned interim;
};

static int bad(struct http_answer *answer, const char *why)
{
	return err_set(&answer->err, ERR_PROTOCOL, "%s", why);
}

/* ---- llhttp's callbacks --------------------------------------------------------------------- */

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct http_answer *answer = parser->data;
	struct http_answer_inner *inner = answer->inner;

	if (inner->is_head_done)
		return 0; /* drops trailers */
	if (!inner->in_name) {
		if (answer->header_count == HTTP_ANSWER_HEADERS_MAX)
			return bad(answer, "too many headers");
		answer->header[answer->header_count++] = (struct http_header){
			.name = inner->head.data + (at - inner->head.data)
		};
	}
	inner->in_name = true;
	answer->header[answer->header_count - 1].name_len += len;
	return 0;
}

static int on_field_complete(llhttp_t *parser)
{
	((struct http_answer *)parser->data)->inner->in_name = false;
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct http_answer *answer = parser->data;
	struct http_header *header;

	if (answer->inner->is_head_done || len == 0)
		return 0;
	if (answer->header_count == 0)
		return bad(answer, "a header without a name");
	header = &answer->header[answer->header_count - 1];
	if (header->value != NULL && header->value + header->value_len != at)
		return bad(answer, "a header without a name");
	if (header->value == NULL)
		header->value = answer->inner->head.data + (at - answer->inner->head.data);
	header->value_len += len;
	return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
	struct http_answer *answer = parser->data;
	const bool has_length = (parser->flags & F_CONTENT_LENGTH) != 0;
	const bool is_chunked = (parser->flags & F_CHUNKED) != 0;

	answer->inner->is_head_done = true;
	answer->status = parser->status_code;
	answer->length = has_length && !is_chunked ? parser->content_length
						   : HTTP_ANSWER_LENGTH_UNKNOWN;
	if (parser->status_code == 101)
		return 2;
	parser->upgrade = 0;
	return answer->inner->has_no_body ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct http_answer *answer = parser->data;

	return answer->body_fn != NULL && answer->body_fn(at, len, answer->body_arg) < 0 ? -1 : 0;
}

static int on_complete(llhttp_t *parser)
{
	((struct http_answer *)parser->data)->inner->is_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_header_field = on_field,
	.on_header_field_complete = on_field_complete,
	.on_header_value = on_value,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

/* ---- life ----------------------------------------------------------------------------------- */

static void begin(struct http_answer *answer)
{
	struct http_answer_inner *inner = answer->inner;

	buf_clear(&inner->head);
	inner->newlines = 0;
	inner->last = '\0';
	inner->in_name = inner->is_head_done = inner->is_complete = false;
	answer->header_count = 0;
	llhttp_init(&inner->parser, HTTP_RESPONSE, &settings);
	inner->parser.data = answer;
}

void http_answer_init(struct http_answer *answer, bool has_no_body)
{
	memset(answer, 0, sizeof(*answer));
	answer->inner = mem_new0(1, sizeof(*answer->inner));
	answer->inner->head = BUF_INIT(HTTP_ANSWER_HEAD_MAX);
	answer->inner->has_no_body = has_no_body;
	begin(answer);
}

void http_answer_done(struct http_answer *answer)
{
	if (answer->inner == NULL)
		return;
	buf_done(&answer->inner->head);
	free(answer->inner);
	answer->inner = NULL;
}

const char *http_answer_header(const struct http_answer *answer, const char *name)
{
	return http_headers_find(answer->header, answer->header_count, name);
}

/* ---- feeding -------------------------------------------------------------------------------- */

/* Refuses headers from which two parsers could read different lengths. */
static int check_framing(struct http_answer *answer)
{
	const char *encoding = http_answer_header(answer, "transfer-encoding");
	const size_t lengths =
		http_headers_count(answer->header, answer->header_count, "content-length");

	if (encoding != NULL && (lengths > 0 || strcasecmp(encoding, "chunked") != 0))
		return bad(answer, "a Transfer-Encoding other than chunked");
	return lengths > 1 ? bad(answer, "more than one Content-Length") : 0;
}

static int take_head(struct http_answer *answer)
{
	struct http_answer_inner *inner = answer->inner;
	llhttp_t *parser = &inner->parser;
	const llhttp_errno_t code = llhttp_execute(parser, inner->head.data, inner->head.len);

	if ((code != HPE_OK && code != HPE_PAUSED && code != HPE_PAUSED_UPGRADE) ||
	    !inner->is_head_done)
		return answer->err.code != ERR_OK ? (int)answer->err.code
						  : bad(answer, "what it answers is not HTTP");
	if (parser->http_major != 1 || parser->http_minor > 1)
		return bad(answer, "what it answers is not HTTP/1.1");
	http_headers_settle(answer->header, answer->header_count);
	return check_framing(answer);
}

/* Checks one byte of the head. */
static int judge_byte(struct http_answer *answer, char byte)
{
	struct http_answer_inner *inner = answer->inner;
	const char last = inner->last;

	inner->last = byte;
	if ((last == '\r') != (byte == '\n'))
		return bad(answer, "a line end that is none");
	if (inner->newlines == 1 && (byte == ' ' || byte == '\t'))
		return bad(answer, "a folded header");
	if (inner->newlines == 1 && byte == ':')
		return bad(answer, "a header without a name");
	if (((unsigned char)byte < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') ||
	    byte == 0x7f)
		return bad(answer, "a control character in its head");
	if (byte == '\n')
		inner->newlines++;
	else if (byte != '\r')
		inner->newlines = 0;
	return 0;
}

static enum http_step feed_head(struct http_answer *answer, const char *bytes, size_t len,
				size_t *ret_used)
{
	struct http_answer_inner *inner = answer->inner;
	struct err ignored;
	size_t used = 0;

	while (used < len && inner->newlines < 2)
		if (judge_byte(answer, bytes[used++]) < 0)
			return HTTP_STEP_BAD;
	if (buf_add(&inner->head, bytes, used, &ignored) < 0) {
		(void)bad(answer, "a head that is too long");
		return HTTP_STEP_BAD;
	}
	*ret_used += used;
	if (inner->newlines < 2)
		return HTTP_STEP_MORE;
	if (take_head(answer) < 0)
		return HTTP_STEP_BAD;
	if (answer->status >= 200 || answer->status == 101) {
		inner->phase = PHASE_BODY;
		return HTTP_STEP_HEAD;
	}
	if (++inner->interim > INTERIM_MAX) {
		(void)bad(answer, "too many interim answers");
		return HTTP_STEP_BAD;
	}
	begin(answer);
	return HTTP_STEP_MORE;
}

static enum http_step feed_body(struct http_answer *answer, const char *bytes, size_t len,
				size_t *ret_used)
{
	struct http_answer_inner *inner = answer->inner;
	llhttp_errno_t code;

	if (!inner->is_complete && answer->status != 101) {
		if (len == 0)
			return HTTP_STEP_MORE;
		code = llhttp_execute(&inner->parser, bytes, len);
		if (code == HPE_OK) {
			*ret_used += len;
			return HTTP_STEP_MORE;
		}
		if (code != HPE_PAUSED) {
			(void)bad(answer, "its answer is malformed");
			return HTTP_STEP_BAD;
		}
		*ret_used += (size_t)(llhttp_get_error_pos(&inner->parser) - bytes);
	}
	inner->phase = PHASE_DONE;
	return HTTP_STEP_DONE;
}

enum http_step http_answer_feed(struct http_answer *answer, const char *bytes, size_t len,
				size_t *ret_used)
{
	enum http_step step = HTTP_STEP_MORE;

	*ret_used = 0;
	/* The next answer may follow an interim answer in the same piece. */
	while (answer->inner->phase == PHASE_HEAD && step == HTTP_STEP_MORE && *ret_used < len)
		step = feed_head(answer, bytes + *ret_used, len - *ret_used, ret_used);
	if (step == HTTP_STEP_MORE && answer->inner->phase == PHASE_BODY)
		step = feed_body(answer, bytes, len, ret_used);
	else if (answer->inner->phase == PHASE_DONE)
		step = HTTP_STEP_DONE;
	else if (answer->inner->phase == PHASE_BAD)
		step = HTTP_STEP_BAD;
	if (step == HTTP_STEP_BAD)
		answer->inner->phase = PHASE_BAD;
	return step;
}

enum http_step http_answer_end(struct http_answer *answer)
{
	struct http_answer_inner *inner = answer->inner;

	if (inner->phase == PHASE_DONE)
		return HTTP_STEP_DONE;
	if (inner->phase == PHASE_BODY && inner->is_complete)
		return HTTP_STEP_DONE;
	/* Without a length or chunks the answer ends with the connection. */
	if (inner->phase == PHASE_BODY && llhttp_message_needs_eof(&inner->parser) != 0)
		return HTTP_STEP_DONE;
	inner->phase = PHASE_BAD;
	(void)bad(answer, "it ended the connection in the middle of its answer");
	return HTTP_STEP_BAD;
}
