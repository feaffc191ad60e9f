/*
 * rpc_event.c - ids of a stream's events, which say where to resume it.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    ids of any client.
 * Never:    accepts an id or token that is invalid in a message.
 *
 *   SESSION.EXECUTION.EVENT.PROGRESS.ID.TOKEN
 *
 * ID and TOKEN are the call's, as JSON in base64. A stream of tasks/result has "t." first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/mcp/rpc.h"

#define PART_MAX 128u /* bytes of an id or token inside an event's id */

bool rpc_event_id_write(const struct rpc *rpc, const struct rpc_cursor *cursor,
			char ret[RPC_EVENT_ID_SIZE])
{
	cleanup_buf struct buf id = BUF_INIT(RPC_ID_MAX), token = BUF_INIT(RPC_ID_MAX);
	struct err ignored;

	if (cursor->execution[0] == '\0' || strlen(rpc->id) > PART_MAX ||
	    strlen(rpc->token) > PART_MAX ||
	    base64_encode(rpc->id, strlen(rpc->id), &id, &ignored) < 0 ||
	    base64_encode(rpc->token, strlen(rpc->token), &token, &ignored) < 0)
		return false;
	(void)snprintf(ret, RPC_EVENT_ID_SIZE, "%s%s.%s.%" PRIu64 ".%" PRIu64 ".%s.%s",
		       cursor->is_task ? "t." : "", cursor->session, cursor->execution, cursor->after, cursor->progress,
		       buf_text(&id), buf_text(&token));
	return true;
}

/* Reads a string or a whole number as JSON, to copy it into messages unchanged. */
static bool take_part(const char *text, size_t len, bool may_lack, char ret[RPC_ID_MAX])
{
	cleanup_buf struct buf raw = BUF_INIT(PART_MAX), again = BUF_INIT(RPC_ID_MAX - 1);
	struct json_value *value = NULL;
	struct err ignored;
	int64_t number;
	bool is_good;

	ret[0] = '\0';
	if (len == 0)
		return may_lack;
	is_good = base64_decode(text, len, &raw, &ignored) == 0 &&
		  json_read_parse(buf_text(&raw), raw.len, PART_MAX, &value, &ignored) == 0 &&
		  (json_read_kind(value) == JSON_KIND_STRING || json_read_int(value, &number)) &&
		  json_read_dump(value, &again, &ignored) == 0;
	if (is_good)
		(void)snprintf(ret, RPC_ID_MAX, "%s", buf_text(&again));
	json_read_free(value);
	return is_good;
}

bool rpc_event_id_read(const char *text, struct rpc *rpc, struct rpc_cursor *ret)
{
	char after[20], progress[20];
	const char *token;
	size_t len;
	int end = 0;

	if (strlen(text) >= RPC_EVENT_ID_SIZE)
		return false;
	ret->is_task = strncmp(text, "t.", 2) == 0;
	text += ret->is_task ? 2 : 0;
	if (sscanf(text, "%31[A-Za-z0-9_].%31[A-Za-z0-9_].%18[0-9].%18[0-9].%n", ret->session,
		   ret->execution, after, progress, &end) != 4 ||
	    end == 0)
		return false;
	ret->after = strtoull(after, NULL, 10);
	ret->progress = strtoull(progress, NULL, 10);
	text += end;
	len = strcspn(text, ".");
	if (text[len] != '.')
		return false;
	token = text + len + 1;
	return take_part(text, len, false, rpc->id) &&
	       take_part(token, strlen(token), true, rpc->token);
}
