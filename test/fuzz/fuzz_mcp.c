/*
 * fuzz_mcp.c - messages of MCP, ids of its sessions and events, and headers that repeat a name.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: the first one selects what the others are.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted message is a request, a notification or a response, and a valid id is JSON. */
static void check(const struct rpc *rpc)
{
	struct json_value *id = NULL;
	struct err err;

	if ((rpc->method != NULL) == (rpc->kind == RPC_RESPONSE) ||
	    (rpc->kind == RPC_NOTIFICATION) != (rpc->method != NULL && rpc->id[0] == '\0') ||
	    (rpc->kind == RPC_RESPONSE && (rpc->result == NULL) == (rpc->error == NULL)))
		abort();
	if (rpc->id[0] != '\0' &&
	    (json_read_parse(rpc->id, strlen(rpc->id), RPC_ID_MAX, &id, &err) < 0))
		abort();
	json_read_free(id);
	if (rpc->is_modern)
		(void)rpc_check_modern(rpc, &err);
}

static void message(const char *text, size_t len)
{
	enum rpc_code code = RPC_INTERNAL;
	struct rpc rpc;
	struct err err;

	if (rpc_read(text, len, &rpc, &code, &err) == 0)
		check(&rpc);
	else if (code != RPC_PARSE && code != RPC_INVALID_REQUEST && code != RPC_INVALID_PARAMS)
		abort();
	rpc_done(&rpc);
}

static void words(const char *text, size_t len)
{
	cleanup_buf struct buf value = BUF_INIT(4096);
	char copy[4096];
	const char *version = NULL;
	unsigned capabilities = 0;

	if (len >= sizeof(copy))
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (rpc_session_read(copy, &version, &capabilities) &&
	    (!rpc_is_legacy_version(version) || capabilities > 7))
		abort();
	(void)rpc_header_read(copy, &value);
}

/* An event id that can be written is read again as the same. */
static void event_id(const char *text, size_t len)
{
	struct rpc_cursor cursor = { 0 }, again = { 0 };
	struct rpc rpc = { 0 }, other = { 0 };
	char copy[1024], id[RPC_EVENT_ID_SIZE];

	if (len >= sizeof(copy))
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (!rpc_event_id_read(copy, &rpc, &cursor) || !rpc_event_id_write(&rpc, &cursor, id))
		return;
	if (!rpc_event_id_read(id, &other, &again) || strcmp(rpc.id, other.id) != 0 ||
	    strcmp(rpc.token, other.token) != 0 || cursor.after != again.after ||
	    cursor.progress != again.progress || strcmp(cursor.execution, again.execution) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size == 0)
		return 0;
	if (data[0] == 'w')
		words(text + 1, size - 1);
	else if (data[0] == 'e')
		event_id(text + 1, size - 1);
	else
		message(text + 1, size - 1);
	return 0;
}
