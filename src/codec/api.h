/*
 * api.h - the JSON bodies of the native API as structs. What is not known is refused by name.
 *
 * The texts point into the parsed document, which api_done() frees. Errors are ERR_INVALID with
 * the field's name in the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define API_BODY_MAX (8u * 1024u * 1024u) /* JSON text: code may need more than it has bytes */
#define API_CODE_MAX (4u * 1024u * 1024u)
#define API_TEXT_MIN 1024
#define API_TEXT_MAX (1 << 20)
#define API_METADATA_MAX (16u * 1024u)
#define API_ENV_MAX 256u
#define API_ENV_BYTES_MAX (32u * 1024u)
#define API_IDLE_MS_MIN 1000u
#define API_IDLE_MS_MAX (30ull * 24 * 3600 * 1000)
#define API_GRACE_S_MAX 3600
#define API_EXPIRES_MS_MAX (366ull * 24 * 3600 * 1000)

/* policy.isolate_cpu: bits in the order of the names. */
#define API_ISOLATE_CPU "core", "speculation"

/* Zero where nothing was said. */
struct api_limits {
	uint64_t wall_ms, cpu_ms, memory_bytes, disk_bytes, inodes, file_bytes, output_bytes;
	uint64_t pids, cpu_percent, displays;
};

struct api_session {
	struct json_value *document;
	const char *template_name; /* NULL: not given */
	const char *language;
	const char *name;
	struct api_limits limits;
	bool has_limits; /* of PATCH */
	unsigned isolate_cpu; /* bits, as API_ISOLATE_CPU */
	struct buf env; /* NAME=value and a NUL, one after the other */
	size_t env_count;
	struct buf metadata; /* a compact JSON object, or empty */
	bool has_metadata;
	uint64_t idle_ms;
	bool has_idle;
	bool has_expiry;	 /* one of the two, or null: never */
	uint64_t expires_in_ms;	 /* from now */
	uint64_t expires_at_ms;	 /* since 1970 */
};

/* Both parse what POST (and with `is_patch` what PATCH) of a session may hold. */
int api_session_parse(const char *text, size_t len, bool is_patch, struct api_session *ret,
		      struct err *err);
void api_session_done(struct api_session *session);

/* What becomes of it when the client goes away. */
struct api_leave {
	enum { API_LEAVE_UNSAID, API_LEAVE_CONTINUE, API_LEAVE_CANCEL } policy;
	bool has_grace;
	uint64_t grace_ms;
};

struct api_execute {
	struct json_value *document;
	const char *code;
	size_t code_len;
	uint64_t timeout_ms; /* 0: the session's */
	uint64_t text_bytes; /* 0: libreckon's default */
	bool stream;
	bool background;
	bool keep; /* of code that gets a session: it stays */
	struct api_leave leave;
	const char *context; /* NULL: the session's first kernel */
	const char *language; /* of an execution; NULL: whatever its kernel has */
};

int api_execute_parse(const char *text, size_t len, struct api_execute *ret, struct err *err);
/*
 * Code and the session that it gets: {"code", "timeout_s"?, "max_text"?, "keep"?} and the fields of a
 * session, those about its later life only with keep. Both are to be freed, whatever this returns.
 */
int api_once_parse(const char *text, size_t len, struct api_session *ret_session,
		   struct api_execute *ret, struct err *err);
void api_execute_done(struct api_execute *execute);
