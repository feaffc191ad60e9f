/*
 * refuse.c - Reckon's own error format: {"error": {"code", "message", "cause", "remedy"}}.
 *
 * Runs in:  the processes that speak HTTP, for dialects whose protocol defines no error format.
 * Reads:    failures of reckond, and refusals of httpd.
 * Never:    reports an error in another form than JSON.
 */
#include "dialects/refuse.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "codec/json_write.h"

#define ERROR_MAX 16384u

static void text_or_null(struct json_writer *json, const char *key, const char *text)
{
	json_write_key(json, key);
	if (text != NULL && text[0] != '\0')
		json_write_string(json, text);
	else
		json_write_null(json);
}

static int write_error(const struct refusal *refusal, struct buf *ret, struct err *err)
{
	struct json_writer json;

	if (refusal->more != NULL)
		return api_write_failure(refusal->more, ret, err);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "code", refusal->code);
	text_or_null(&json, "message", refusal->message);
	text_or_null(&json, "cause", refusal->cause);
	text_or_null(&json, "remedy", refusal->remedy);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

void refuse_headers(const struct refusal *refusal, char ret[REFUSE_HEADERS_SIZE])
{
	size_t len;

	ret[0] = '\0';
	if (refusal->status == 429 || refusal->status == 503)
		(void)snprintf(ret, REFUSE_HEADERS_SIZE, "Retry-After: %u\r\n",
			       refusal->retry_s > 0 ? refusal->retry_s : 1);
	else if (refusal->status == 401)
		(void)snprintf(ret, REFUSE_HEADERS_SIZE, "WWW-Authenticate: Bearer\r\n");
	len = strlen(ret);
	if (refusal->headers != NULL)
		(void)snprintf(ret + len, REFUSE_HEADERS_SIZE - len, "%s", refusal->headers);
}

void refuse_as_reckon(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(ERROR_MAX);
	char headers[REFUSE_HEADERS_SIZE];
	struct err err;

	if (write_error(refusal, &body, &err) < 0) {
		answer_break_off(request);
		return;
	}
	refuse_headers(refusal, headers);
	answer_text(request, refusal->status, "application/json", &body, headers);
}
