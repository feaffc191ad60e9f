/*
 * rpc.h - JSON-RPC 2.0 as MCP uses it: one message in, what it says of its protocol, one message out.
 *
 * Two eras of MCP are told apart by each request itself. One whose params._meta names a
 * protocolVersion is *modern* (2026-07-28: no handshake, no session); every other one is *legacy*
 * (initialize, then Mcp-Session-Id). Pure: no descriptor, no clock.
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

#define RPC_MESSAGE_MAX ((size_t)12 * 1024 * 1024) /* 8 MiB of a file in base 64 */
#define RPC_ID_MAX 512u				   /* bytes of an id or a token, as JSON */

#define RPC_VERSION_MODERN "2026-07-28"
#define RPC_VERSION_LEGACY "2025-11-25" /* the newest with a handshake */
#define RPC_VERSION_UNSAID "2025-03-26" /* of a client that does not say it */

#define RPC_META "io.modelcontextprotocol/"

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_REFUSED = -32000, /* by the daemon: the text and `data` say why */
	RPC_NO_RESOURCE = -32002, /* legacy alone */
	RPC_HEADER_MISMATCH = -32020,
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

/* What a client can do when it is asked. */
enum rpc_capability {
	RPC_CAN_ELICIT = 1,
	RPC_CAN_SAMPLE = 2,
	RPC_CAN_LIST_ROOTS = 4,
	RPC_HAS_TASKS = 8, /* the extension; of a modern client alone */
};
#define RPC_TASKS RPC_META "tasks"

struct rpc {
	enum rpc_kind kind;
	struct json_value *document;
	const char *method;		 /* NULL: a response */
	const struct json_value *params; /* an object, or NULL */
	const struct json_value *meta;	 /* params._meta: an object, or NULL */
	const struct json_value *result, *error; /* of a response: one of them */
	char id[RPC_ID_MAX];		 /* as JSON; "" when there is none */
	char token[RPC_ID_MAX];		 /* progressToken, as JSON; "" */
	bool is_modern;
	const char *version;   /* of a modern one, or of initialize; NULL: not said */
	const char *log_level; /* modern; NULL: none wanted */
	unsigned capabilities;
};

/*
 * 0, or negative with *ret_code. What could be read of it (the id, above all) stands in *ret either
 * way, which rpc_done() releases.
 */
int rpc_read(const char *text, size_t len, struct rpc *ret, enum rpc_code *ret_code,
	     struct err *err);
void rpc_done(struct rpc *rpc);
#define cleanup_rpc __attribute__((cleanup(rpc_done)))

/* What a modern request must say and does not: 0, or RPC_INVALID_PARAMS or RPC_UNSUPPORTED_VERSION. */
int rpc_check_modern(const struct rpc *rpc, struct err *err);

unsigned rpc_capabilities(const struct json_value *capabilities);
/* Whether it is a version that has a handshake. */
bool rpc_is_legacy_version(const char *version);

/* A text member of params, NULL when there is none; longer than `max` counts as none. */
const char *rpc_text(const struct json_value *object, const char *name, size_t max);

/*
 * Mcp-Session-Id: "mcp-V-C-RANDOM", V the version's place in the list and C the capabilities, so that
 * whoever reads it knows what was agreed, and nobody has to remember.
 */
#define RPC_SESSION_SIZE 64
int rpc_session_write(const char *version, unsigned capabilities, char ret[RPC_SESSION_SIZE],
		      struct err *err);
/* False when it is none of ours. */
bool rpc_session_read(const char *session, const char **ret_version, unsigned *ret_capabilities);

/* Where a stream is: its execution, the last event of it that was looked at, and how often progress
 * was reported. `execution` "": it cannot be resumed. */
struct rpc_cursor {
	char session[ID_SIZE], execution[ID_SIZE];
	uint64_t after, progress;
	bool is_task; /* it ends with the answer to tasks/result, not to the call */
};
#define RPC_EVENT_ID_SIZE 512
/* The id of an event, with the ids that `rpc` has. False: there is none. */
bool rpc_event_id_write(const struct rpc *rpc, const struct rpc_cursor *cursor,
			char ret[RPC_EVENT_ID_SIZE]);
/* False when it is none of ours; else `id` and `token` of `rpc` are set. */
bool rpc_event_id_read(const char *text, struct rpc *rpc, struct rpc_cursor *ret);

/* The value of a header that names something: plain, or =?base64?…?=. False: neither. */
bool rpc_header_read(const char *value, struct buf *ret);
