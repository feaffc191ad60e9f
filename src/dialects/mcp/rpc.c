/*
 * rpc.c - JSON-RPC 2.0 as MCP uses it.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    messages of any client.
 * Never:    accepts a batch, an id that is not a string or whole number, or a message of two kinds
 *           at once.
 */
#include "dialects/mcp/rpc.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "codec/base64.h"
#include "codec/json_get.h"

static const char *const legacy_versions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
					       RPC_VERSION_LEGACY };

bool rpc_is_legacy_version(const char *version)
{
	for (size_t i = 0; version != NULL && i < ARRAY_LEN(legacy_versions); i++)
		if (strcmp(version, legacy_versions[i]) == 0)
			return true;
	return false;
}

const char *rpc_text(const struct json_value *object, const char *name, size_t max)
{
	size_t len;
	const char *text = json_read_text(json_read_member(object, name), &len);

	return text != NULL && len <= max && strlen(text) == len ? text : NULL;
}

/* Reads a string or a whole number, kept as JSON. */
static bool take_id(const struct json_value *value, char ret[RPC_ID_MAX])
{
	cleanup_buf struct buf text = BUF_INIT(RPC_ID_MAX - 1);
	struct err ignored;
	int64_t number;

	if (json_read_kind(value) != JSON_KIND_STRING && !json_read_int(value, &number))
		return false;
	if (json_read_dump(value, &text, &ignored) < 0)
		return false;
	(void)snprintf(ret, RPC_ID_MAX, "%s", buf_text(&text));
	return true;
}

unsigned rpc_capabilities(const struct json_value *capabilities)
{
	const struct json_value *elicits = json_read_member(capabilities, "elicitation");
	/* Without modes, elicitation means forms; with modes, forms must be one of them. */
	const bool has_forms =
		json_get_has_object(capabilities, "elicitation") &&
		(json_get_has_object(elicits, "form") || json_read_member(elicits, "url") == NULL);

	return (has_forms ? (unsigned)RPC_CAN_ELICIT : 0u) |
	       (json_get_has_object(capabilities, "sampling") ? (unsigned)RPC_CAN_SAMPLE : 0u) |
	       (json_get_has_object(capabilities, "roots") ? (unsigned)RPC_CAN_LIST_ROOTS : 0u) |
	       (json_get_has_object(json_read_member(capabilities, "extensions"), RPC_TASKS)
			? (unsigned)RPC_HAS_TASKS
			: 0u);
}

static int invalid(enum rpc_code *ret_code, struct err *err, const char *text)
{
	*ret_code = RPC_INVALID_REQUEST;
	return err_set(err, ERR_INVALID, "%s", text);
}

static int take_meta(struct rpc *rpc, enum rpc_code *ret_code, struct err *err)
{
	const struct json_value *meta = json_read_member(rpc->params, "_meta");
	const struct json_value *token;

	if (meta == NULL)
		return 0;
	*ret_code = RPC_INVALID_PARAMS;
	if (json_read_kind(meta) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "params._meta must be an object");
	rpc->meta = meta;
	token = json_read_member(meta, "progressToken");
	if (token != NULL && !take_id(token, rpc->token))
		return err_set(
			err, ERR_INVALID,
			"progressToken must be a string or a whole number of at most %u bytes",
			RPC_ID_MAX - 1);
	rpc->is_modern = json_read_member(meta, RPC_META "protocolVersion") != NULL;
	if (!rpc->is_modern)
		return 0;
	rpc->version = rpc_text(meta, RPC_META "protocolVersion", 32);
	rpc->log_level = rpc_text(meta, RPC_META "logLevel", 16);
	rpc->capabilities = rpc_capabilities(json_read_member(meta, RPC_META "clientCapabilities"));
	return 0;
}

static int take_call(struct rpc *rpc, enum rpc_code *ret_code, struct err *err)
{
	const struct json_value *params = json_read_member(rpc->document, "params");

	rpc->method = rpc_text(rpc->document, "method", 128);
	if (rpc->method == NULL)
		return invalid(ret_code, err, "method must be a string of at most 128 bytes");
	if (json_read_member(rpc->document, "result") != NULL ||
	    json_read_member(rpc->document, "error") != NULL)
		return invalid(ret_code, err, "a message is a request or a response, not both");
	rpc->kind = rpc->id[0] != '\0' ? RPC_REQUEST : RPC_NOTIFICATION;
	if (params == NULL)
		return 0;
	if (json_read_kind(params) != JSON_KIND_OBJECT) {
		*ret_code = RPC_INVALID_PARAMS;
		return err_set(err, ERR_INVALID, "params must be an object");
	}
	rpc->params = params;
	return take_meta(rpc, ret_code, err);
}

static int take_response(struct rpc *rpc, enum rpc_code *ret_code, struct err *err)
{
	rpc->kind = RPC_RESPONSE;
	rpc->result = json_read_member(rpc->document, "result");
	rpc->error = json_read_member(rpc->document, "error");
	if ((rpc->result == NULL) == (rpc->error == NULL))
		return invalid(ret_code, err, "a message has a method, a result or an error");
	if (rpc->id[0] == '\0')
		return invalid(ret_code, err, "a response needs the id of its request");
	return 0;
}

int rpc_read(const char *text, size_t len, struct rpc *ret, enum rpc_code *ret_code,
	     struct err *err)
{
	const struct json_value *id;
	const char *version;

	*ret = (struct rpc){ .kind = RPC_REQUEST };
	*ret_code = RPC_PARSE;
	if (json_read_parse(text, len, RPC_MESSAGE_MAX, &ret->document, err) < 0)
		return (int)err->code;
	if (json_read_kind(ret->document) == JSON_KIND_ARRAY)
		return invalid(ret_code, err, "batches are not taken: send one message at a time");
	if (json_read_kind(ret->document) != JSON_KIND_OBJECT)
		return invalid(ret_code, err, "a message is an object");
	id = json_read_member(ret->document, "id");
	if (id != NULL && !take_id(id, ret->id))
		return invalid(ret_code, err, "id must be a string or a whole number, and short");
	version = rpc_text(ret->document, "jsonrpc", 8);
	if (version == NULL || strcmp(version, "2.0") != 0)
		return invalid(ret_code, err, "jsonrpc must be \"2.0\"");
	return json_read_member(ret->document, "method") != NULL
		       ? take_call(ret, ret_code, err)
		       : take_response(ret, ret_code, err);
}

void rpc_done(struct rpc *rpc)
{
	json_read_free(rpc->document);
	*rpc = (struct rpc){ 0 };
}

int rpc_check_modern(const struct rpc *rpc, struct err *err)
{
	if (rpc->version == NULL) {
		(void)err_set(err, ERR_INVALID, "params._meta lacks %sprotocolVersion", RPC_META);
		return RPC_INVALID_PARAMS;
	}
	if (strcmp(rpc->version, RPC_VERSION_MODERN) != 0) {
		(void)err_set(err, ERR_INVALID, "protocol version %.32s is not supported here",
			      rpc->version);
		return RPC_UNSUPPORTED_VERSION;
	}
	if (!json_get_has_object(rpc->meta, RPC_META "clientCapabilities")) {
		(void)err_set(err, ERR_INVALID, "params._meta lacks %sclientCapabilities",
			      RPC_META);
		return RPC_INVALID_PARAMS;
	}
	return 0;
}

/* ---- sessions of older clients --------------------------------------------------------------- */

int rpc_session_write(const char *version, unsigned capabilities, char ret[RPC_SESSION_SIZE],
		      struct err *err)
{
	char random[ID_SIZE];
	size_t at = 0;

	if (id_new(random, "m", err) < 0)
		return (int)err->code;
	while (at + 1 < ARRAY_LEN(legacy_versions) && strcmp(legacy_versions[at], version) != 0)
		at++;
	(void)snprintf(ret, RPC_SESSION_SIZE, "mcp-%zu-%u-%s", at, capabilities & 7u, random + 2);
	return 0;
}

bool rpc_session_read(const char *session, const char **ret_version, unsigned *ret_capabilities)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

	if (strlen(session) != 34 || strncmp(session, "mcp-", 4) != 0 || session[4] < '0' ||
	    session[4] >= '0' + (int)ARRAY_LEN(legacy_versions) || session[5] != '-' ||
	    session[6] < '0' || session[6] > '7' || session[7] != '-' ||
	    strspn(session + 8, digits) != 26)
		return false;
	*ret_version = legacy_versions[session[4] - '0'];
	*ret_capabilities = (unsigned)(session[6] - '0');
	return true;
}

bool rpc_header_read(const char *value, struct buf *ret)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	const size_t len = strlen(value), around = sizeof(begin) - 1 + sizeof(end) - 1;
	struct err ignored;

	if (len < around || strncmp(value, begin, sizeof(begin) - 1) != 0 ||
	    strcmp(value + len - 2, end) != 0)
		return buf_add(ret, value, len, &ignored) == 0;
	return base64_decode(value + sizeof(begin) - 1, len - around, ret, &ignored) == 0;
}
