/*
 * librechat.c - LibreChat's Code API: the error format, and text members of a body.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    nothing.
 * Never:    uses another error format: clients can show only this one.
 */
#include "dialects/librechat/librechat.h"

#include <string.h>

#include "base/cleanup.h"

void librechat_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const char *message = refusal->message != NULL ? refusal->message : refusal->code;
	const char *code = refusal->code;
	struct json_writer json;
	struct err err;

	if (refusal->status == 429)
		code = "rate_limited";
	/* For these errors clients show `error`: put the message there. */
	if (strcmp(code, "unsupported_language") == 0 || refusal->status == 403)
		code = message;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "error", code);
	json_write_member_string(&json, "message", message);
	if (refusal->status == 404)
		json_write_member_string(&json, "details", message);
	if (refusal->status == 429)
		json_write_member_uint(&json, "retry_after_seconds",
				       refusal->retry_s > 0 ? refusal->retry_s : 1);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, refusal->status, LIBRECHAT_JSON, &body, refusal->headers);
}

int librechat_refuse_file(struct request *request)
{
	answer_refuse_simple(request, 403, "denied", "Unauthorized file reference", NULL);
	return -1;
}
