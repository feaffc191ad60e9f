/*
 * audit.c - the call that lists entries of the audit, in pages.
 *
 * Runs in:  reckond's loop.
 * Reads:    the database, and segments of the audit.
 * Never:    leaves out entries that wait to be written: it writes them first.
 */
#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/audit/audit.h"
#include "host/audit/segment.h"
#include "host/calls/call.h"
#include "host/host.h"

#define LIST_DEFAULT 100u

static int list_one(const struct audit_entry *entry, void *arg, struct err *err)
{
	(void)err;
	audit_entry_write(arg, entry);
	return 0;
}

void handle_audit_list(struct host *host, const struct request *req,
		       const struct api_audit_list_in *in)
{
	cleanup_buf struct buf text = BUF_INIT(FRONT_PAYLOAD_MAX);
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct audit_head before = { .sequence = 0 };
	struct json_writer json;
	struct err err;
	int code;

	pending_row_write_all(host);
	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_key(&json, "entries");
	json_write_array_begin(&json);
	code = audit_beginning(host->place.state_fd, host->db, &before, &err);
	if (code >= 0)
		code = audit_walk(host->place.state_fd, host->db, host->tenants.key_secret,
				  in->after, limit, list_one, &json, &err);
	json_write_array_end(&json);
	json_write_member_uint(&json, "first", before.sequence + 1);
	json_write_member_uint(&json, "last", host->auditor.head.sequence);
	json_write_object_end(&json);
	if (code < 0 || json_write_finish(&json, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_audit_list(host, req->id,
				 &(struct api_audit_list_out){ { text.data, text.len } });
}
