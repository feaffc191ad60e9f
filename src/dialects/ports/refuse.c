/*
 * refuse.c - formats errors: as Reckon, or as E2B's proxy for clients that use its headers.
 *
 * Runs in:  reckon-front-ports.
 * Reads:    failures of reckond, and refusals of httpd.
 * Never:    reports a closed port to an E2B client as a missing sandbox.
 */
#include "dialects/refuse.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "dialects/ports/ports.h"

#define ERROR_MAX 8192u

static int write_as_e2b(const struct http *http, const struct ports_address *address,
			const struct refusal *refusal, unsigned *status, struct buf *ret,
			struct err *err)
{
	const bool is_gone = strncmp(refusal->code, "session_", 8) == 0;
	const bool is_closed = strcmp(refusal->code, "port_closed") == 0;
	struct json_writer json;
	char message[1024];

	*status = is_gone ? 502 : refusal->status;
	(void)snprintf(message, sizeof(message), "%s%s%.900s",
		       is_gone	   ? "The sandbox was not found"
		       : is_closed ? "The sandbox is running but port is not open"
				   : "",
		       is_gone || is_closed ? ": " : "", refusal->message);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "sandboxId", http_header(http, "e2b-sandbox-id"));
	json_write_member_string(&json, "message", message);
	if (is_closed)
		json_write_member_uint(&json, "port", address->port);
	json_write_member_uint(&json, "code", *status);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

void ports_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(ERROR_MAX);
	struct ports_address address;
	unsigned status;
	struct err err;

	if (!ports_address(request_head(request), &address) || address.road != PORTS_BY_HEADER) {
		refuse_as_reckon(request, refusal);
		return;
	}
	if (write_as_e2b(request_head(request), &address, refusal, &status, &body, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, "application/json", &body, NULL);
}
