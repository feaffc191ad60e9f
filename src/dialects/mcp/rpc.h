/*
 * rpc.h - JSON-RPC 2.0 as MCP uses it: parses one message and its protocol fields.
 *
 * Each request shows its era of MCP: if params._meta has a protocolVersion it is *modern*
 * (2026-07-28: no handshake, no session); otherwise it is *legacy* (initialize, then
 * Mcp-Session-Id). These functions use no descriptor and no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

#define RPC_MESSAGE_MAX ((size_t)12 * 1024 * 1024) /* 8 MiB of a file in base64 */
#define RPC_ID_MAX 512u				   /* bytes of an id or a token, as JSON */

#define RPC_VERSION_MODERN "2026-07-28"
#define RPC_VERSION_LEGACY "2025-11-25" /* the newest version with a handshake */
#define RPC_VERSION_UNSAID "2025-03-26" /* assumed for a client that sends none */

#define RPC_META "io.modelcontextprotocol/"

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_REFUSED = -32000, /* refused by the daemon: the text and `data` say why */
	RPC_NO_RESOURCE = -32002, /* legacy only */
	RPC_HEADER_MISMATCH = -32020,
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

/* What a client supports when the server asks it. */
enum rpc_capability {
	RPC_CAN_ELICIT = 1,
	RPC_CAN_SAMPLE = 2,
	RPC_CAN_LIST_ROOTS = 4,
	RPC_HAS_TASKS = 8, /* the extension; only for modern clients */
};
#define RPC_TASKS RPC_META "tasks"

struct rpc {
	enum rpc_kind kind;
	struct json_value *document;
	const char *method;		 /* NULL: a response */
	const struct json_value *params; /* an object, or NULL */
	const struct json_value *meta;	 /* params._meta: an object, or NULL */
	const struct json_value *result, *error; /* of a response: one of the two */
	char id[RPC_ID_MAX];		 /* as JSON; "" if missing */
	char token[RPC_ID_MAX];		 /* progressToken, as JSON; "" */
	bool is_modern;
	const char *version;   /* of a modern request, or of initialize; NULL: not sent */
	const char *log_level; /* modern; NULL: no logs wanted */
	unsigned capabilities;
};

/*
 * Parses a message: 0, or negative with *ret_code. *ret has what could be read (above all the id)
 * in either case; release it with rpc_done().
 */
int rpc_read(const char *text, size_t len, struct rpc *ret, enum rpc_code *ret_code,
	     struct err *err);
void rpc_done(struct rpc *rpc);
#define cleanup_rpc __attribute__((cleanup(rpc_done)))

/* Checks the required fields of a modern request: 0, RPC_INVALID_PARAMS or
 * RPC_UNSUPPORTED_VERSION. */
int rpc_check_modern(const struct rpc *rpc, struct err *err);

unsigned rpc_capabilities(const struct json_value *capabilities);
/* Whether it is a known version with a handshake. */
bool rpc_is_legacy_version(const char *version);

/* A text member of params; NULL if it is missing or longer than `max`. */
const char *rpc_text(const struct json_value *object, const char *name, size_t max);

/*
 * Mcp-Session-Id: "mcp-V-C-RANDOM", V being the version's index in the list and C the capabilities.
 * So each process can read what was negotiated, and none has to store it.
 */
#define RPC_SESSION_SIZE 64
int rpc_session_write(const char *version, unsigned capabilities, char ret[RPC_SESSION_SIZE],
		      struct err *err);
/* False: not an id of ours. */
bool rpc_session_read(const char *session, const char **ret_version, unsigned *ret_capabilities);

/* Position in a stream: its execution, the last event that was read, and how often progress was
 * reported. `execution` "": it cannot be resumed. */
struct rpc_cursor {
	char session[ID_SIZE], execution[ID_SIZE];
	uint64_t after, progress;
	bool is_task; /* it ends with the answer to tasks/result instead of the call */
};
#define RPC_EVENT_ID_SIZE 512
/* The id of an event, with the ids in `rpc`. False: it has none. */
bool rpc_event_id_write(const struct rpc *rpc, const struct rpc_cursor *cursor,
			char ret[RPC_EVENT_ID_SIZE]);
/* False: not an id of ours; else sets `id` and `token` of `rpc`. */
bool rpc_event_id_read(const char *text, struct rpc *rpc, struct rpc_cursor *ret);

/* The value of a header with a name: plain, or =?base64?…?=. False: invalid. */
bool rpc_header_read(const char *value, struct buf *ret);
