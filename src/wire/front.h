/*
 * front.h - what reckon-front may ask of reckond, and how it is answered.
 *
 * The front reads HTTP from anybody and is taken for captured; reckond reads only these frames.
 * One SOCK_SEQPACKET socket, descriptor FRONT_FD of the front. Each frame is a struct front_head
 * followed by fields as in kernel.h; a payload larger than FRONT_INLINE_MAX travels as one sealed
 * memory file (FRONT_FLAG_BLOB), after any other descriptor. Integers in fields are 8 bytes in
 * host order.
 *
 *   front                                   reckond
 *    | READY ------------------------------->  |   once, after it dropped everything
 *    | request (id) ------------------------>  |   ids grow; at most FRONT_PENDING_MAX unanswered
 *    | <------------------ REPLY or ERROR (id) |   exactly one each, in any order
 *    | CANCEL (id) ------------------------->  |   whoever asked went away: the reply may not come;
 *                                                 also later, of what began a stream of events
 *    | HANDOFF ----------------------------->  |   a client's connection for another dialect
 *    | <--------------------------- CONNECTION |   the same, to that dialect's process
 *
 * Everything is a question with one answer, also the events of an execution (EVENTS answers with
 * what there is, or waits until there is something): so a slow client never makes a queue here.
 * What a request may hold is one table, front_check(); when it may come, front_may_send().
 *
 * A typed call (FRONT_FLAG_CALL) holds no fields: its type is the number of a row of the field table
 * (src/api), its payload the image of struct api_caller and of what that call takes; a REPLY with the
 * flag holds the image of what it gives.
 *
 * HANDOFF and CONNECTION have id 0, one descriptor (the client's connection) and no fields: the
 * payload is a struct front_handoff and the bytes that were already read from the connection, which
 * reckond passes on and never reads. The receiver treats them as a new connection of which these
 * bytes have come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/front_quota.h"
#include "wire/front_tenant.h"
#include "wire/kernel.h"

#define FRONT_FD 3
#define FRONT_LISTEN_FD 4
#define FRONT_MAGIC 0x31464b52u /* "RKF1" */
#define FRONT_INLINE_MAX (48u * 1024u)
#define FRONT_PAYLOAD_MAX (64u * 1024u * 1024u)
#define FRONT_FIELDS_MAX 8192u
#define FRONT_PENDING_MAX 16384u
#define FRONT_CODE_MAX (4u * 1024u * 1024u)
#define FRONT_METADATA_MAX (16u * 1024u)
#define FRONT_ENV_MAX 256u
#define FRONT_ENV_BYTES_MAX (32u * 1024u)
#define FRONT_ID_MAX 31u
#define FRONT_CWD_MAX 1023u
#define FRONT_QUESTION_MAX (1024u * 1024u)
#define FRONT_RUN_FILES_MAX (7u * 1024u * 1024u) /* of all files that come with a question */
#define FRONT_KEY_MAX 128u
#define FRONT_REQUEST_ID_MAX 64u
#define FRONT_LIST_MAX 500u /* entries of one list reply */
#define FRONT_HANDOFF_MAX (80u * 1024u) /* bytes already read: a head, and what came ahead */
#define FRONT_HOPS_MAX 8u /* hand-offs of one connection without a request served in between */

enum front_type {
	/* front to reckond */
	FRONT_READY = 1,
	FRONT_CANCEL = 2,
	FRONT_HANDOFF = 3,	   /* a connection for another dialect: no answer            */
	FRONT_AUTH = 4,		   /* KEY -> nothing: is the key good                        */
	FRONT_EVENTS = 13,	   /* -> [GAP] (EVENT_ID EVENT_NAME EVENT_DATA)* [END]       */
	FRONT_FILE_LIST = 17,	   /* -> BODY                                                */
	FRONT_FILE_GET = 18,	   /* -> SIZE, descriptor                                    */
	FRONT_FILE_PUT = 19,	   /* -> SIZE (at most), descriptor to write to              */
	FRONT_FILE_COMMIT = 20,	   /* TICKET, the id of the PUT -> nothing                   */
	FRONT_FILE_DELETE = 21,	   /* -> nothing                                             */
	FRONT_ARTIFACT_GET = 22,   /* -> SIZE, descriptor                                    */
	FRONT_ARCHIVE_GET = 45,	   /* -> SIZE COUNTS, descriptor                             */
	FRONT_ARCHIVE_PUT = 46,	   /* -> as FILE_PUT; its COMMIT -> COUNTS [ARTIFACT]        */
	FRONT_FILE_MOVE = 47,	   /* -> [ARTIFACT of what it replaced]                      */
	FRONT_FILE_MKDIR = 48,	   /* -> nothing                                             */
	FRONT_VERSION_LIST = 49,   /* -> versions of one path, newest first                  */
	FRONT_LINK_CREATE = 50,	   /* -> LINK (id) TOKEN NAME EXPIRES_AT                     */
	FRONT_LINK_DELETE = 51,	   /* -> nothing                                             */
	FRONT_LINK_GET = 52,	   /* TOKEN, no key -> as FILE_GET                           */
	FRONT_KEPT_LIST = 54,	   /* WHAT (enum front_kept) -> what is kept of a session    */
	FRONT_RUN_CREATE = 60,	   /* a model answers -> BODY, the answer; or a run          */
	FRONT_RUN_SHOW = 61,	   /* ID -> BODY, the answer, or a run                       */
	FRONT_RUN_EVENTS = 62,	   /* ID -> as EVENTS                                        */
	FRONT_RUN_INTERRUPT = 63,  /* ID -> COUNT: 1 when it was going on                    */
	/* reckond to front */
	FRONT_REPLY = 64,
	FRONT_ERROR = 65, /* ERROR MESSAGE [CAUSE] [REMEDY] [RETRY_S] */
	FRONT_CONNECTION = 66,
};

#define FRONT_REQUEST_COUNT 64

/* Each fits a byte. */
enum front_tag {
	FRONT_TAG_KEY = 1,
	FRONT_TAG_SESSION = 2,
	FRONT_TAG_EXECUTION = 3,
	FRONT_TAG_TEMPLATE = 4,
	FRONT_TAG_LANGUAGE = 5,
	FRONT_TAG_METADATA = 8, /* a JSON object */
	FRONT_TAG_BACKGROUND = 12, /* present: answer at once */
	FRONT_TAG_IDEMPOTENCY = 13,
	FRONT_TAG_PATH = 15,
	FRONT_TAG_HANDLE = 16, /* "ar_…" or "out_…" */
	FRONT_TAG_AFTER = 17,  /* EVENTS: the last id that is known */
	FRONT_TAG_BEFORE = 18, /* lists: entries older than this id */
	FRONT_TAG_LIMIT = 19,
	FRONT_TAG_SIZE = 20,
	FRONT_TAG_TICKET = 21,
	FRONT_TAG_ID = 23,	   /* of something else: whatever the request is about */
	/* tenants and keys */
	FRONT_TAG_NAME = 71,
	FRONT_TAG_QUOTA = 81,	/* of an ERROR: its name */
	FRONT_TAG_NUMBERS = 82, /* struct front_numbers: what was reached */
	FRONT_TAG_QUEUE = 83,	/* struct front_queue */
	/* of any request: what it is known by in logs */
	FRONT_TAG_REQUEST = 85,
	FRONT_TAG_TRACE = 86, /* 32 digits of the trace, 16 of the request's span */
	/* replies */
	FRONT_TAG_ERROR = 32, /* enum front_error */
	FRONT_TAG_MESSAGE = 33,
	FRONT_TAG_CAUSE = 34,
	FRONT_TAG_REMEDY = 35,
	FRONT_TAG_RETRY_S = 36,
	FRONT_TAG_BODY = 37, /* JSON; a long one is a descriptor, with SIZE */
	FRONT_TAG_STATUS = 38,
	FRONT_TAG_CREATED_AT = 39,
	FRONT_TAG_WHY = 42,
	FRONT_TAG_EVENT_ID = 45,
	FRONT_TAG_EVENT_NAME = 46,
	FRONT_TAG_EVENT_DATA = 47,
	FRONT_TAG_GAP = 48,
	FRONT_TAG_END = 49,
	FRONT_TAG_COUNT = 50,
	/* of a session that outlives its box */
	/* contexts, restarts */
	FRONT_TAG_CONTEXT = 60, /* "ctx_…"; none: the session's first kernel */
	/* files, archives, links; most are of requests and of replies */
	FRONT_TAG_MIME = 95,
	FRONT_TAG_ETAG = 96,
	FRONT_TAG_MODIFIED_S = 97,
	FRONT_TAG_IF_MATCH = 98, /* the header, as it came */
	FRONT_TAG_IF_NONE = 99,
	FRONT_TAG_TO_PATH = 100,	   /* the other path; of a list: where it goes on */
	FRONT_TAG_OVERWRITE = 101, /* present: yes */
	FRONT_TAG_RECURSIVE = 102, /* 0 or 1 */
	FRONT_TAG_FORMAT = 103,
	FRONT_TAG_TOKEN = 104,
	FRONT_TAG_EXPIRES_S = 105,
	FRONT_TAG_MAX_DOWNLOADS = 106,
	FRONT_TAG_LINK_ENDS = 107,
	FRONT_TAG_FILE_NAME = 108,
	FRONT_TAG_WHAT = 109,
	FRONT_TAG_ARTIFACT = 110,
	FRONT_TAG_SHA256 = 111,
	FRONT_TAG_HEAD_ONLY = 112, /* present: nothing is downloaded */
	FRONT_TAG_COUNTS = 113,	   /* struct front_counts */
	FRONT_TAG_SOURCE = 114,	   /* where a version came from */
	FRONT_TAG_GOES_ON = 140, /* present: the same request of a client asks for more */
	/* a model answers */
	FRONT_TAG_MODEL = 127,	    /* PROVIDER/NAME */
	FRONT_TAG_RUN_LIMITS = 128, /* struct front_run_limits */
	FRONT_TAG_KEEP = 129,	    /* present: the session that is made for it stays */
	/* (PATH [BODY])*: fields in a field, the file's content or a name in the workspace */
	FRONT_TAG_RUN_FILES = 130,
	FRONT_TAG_QUESTION = 131,
	FRONT_TAG_FOLLOWED = 132, /* present: it ends when nobody follows its events */
	FRONT_TAG_RUN = 133,	  /* of replies: its id */
	/* of EXECUTE and RUN_CREATE: when the connection is gone, which a CANCEL of its id tells */
	FRONT_TAG_ON_DISCONNECT = 146, /* enum front_disconnect */
	FRONT_TAG_GRACE_MS = 147,
};

/* What a session asks for beyond the walls that every box has. */
#define FRONT_POLICY_ISOLATE_CORE 1u	    /* as RECKON_SESSION_CORE_SCHEDULING */
#define FRONT_POLICY_ISOLATE_SPECULATION 2u /* as RECKON_SESSION_NO_SPECULATION */

enum front_disconnect { FRONT_DISCONNECT_CONTINUE = 1, FRONT_DISCONNECT_CANCEL = 2 };

/* Zero: what the daemon's file says. */
struct front_run_limits {
	uint64_t steps;
	uint64_t tokens;
	uint64_t budget_micro;
	uint64_t wall_ms;
};

/* Lists of FRONT_KEPT_LIST. */
enum front_kept { FRONT_KEPT_ARTIFACTS = 1, FRONT_KEPT_RECEIPTS = 2, FRONT_KEPT_LINKS = 3 };

/* Of an archive; as reckon_archive_info. */
struct front_counts {
	uint64_t files;
	uint64_t folders;
	uint64_t links;
	uint64_t bytes;
	uint64_t replaced;
	uint64_t renamed;
	uint64_t skipped;
	uint64_t changed;
};

/* Zero: the default. As reckon_limits. */
struct front_limits {
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t inodes;
	uint64_t file_bytes;
	uint64_t output_bytes;
	uint64_t pids;
	uint64_t cpu_percent;
	uint64_t displays;
};

/* What an ERROR says; the front knows name and HTTP status of each. */
enum front_error {
	FRONT_ERR_INTERNAL = 0,
	FRONT_ERR_INVALID,
	FRONT_ERR_UNAUTHORIZED,
	FRONT_ERR_DENIED,
	FRONT_ERR_NOT_FOUND, /* a file, an artifact, a template */
	FRONT_ERR_SESSION_NOT_FOUND,
	FRONT_ERR_SESSION_CLOSED,
	FRONT_ERR_SESSION_EXPIRED,
	FRONT_ERR_SESSION_LOST,
	FRONT_ERR_EXECUTION_NOT_FOUND,
	FRONT_ERR_CONFLICT, /* an Idempotency-Key that was used for something else */
	FRONT_ERR_BUSY,	    /* a queue or table is full: RETRY_S */
	FRONT_ERR_LIMIT,    /* the session's limit; a retry would not help */
	FRONT_ERR_TIMEOUT,
	FRONT_ERR_UNAVAILABLE,
	FRONT_ERR_KEY_EXPIRED,
	FRONT_ERR_SCOPE,	    /* the key lacks it: QUOTA is its name */
	FRONT_ERR_TENANT_SUSPENDED,
	FRONT_ERR_TENANT_NOT_FOUND,
	FRONT_ERR_KEY_NOT_FOUND,
	FRONT_ERR_LAST_ADMIN_KEY,
	FRONT_ERR_NAME_TAKEN,
	FRONT_ERR_QUOTA,     /* waiting helps: RETRY_S */
	FRONT_ERR_QUOTA_CAP, /* it does not */
	FRONT_ERR_QUOTA_SIZE,
	FRONT_ERR_OVERLOADED,
	FRONT_ERR_SESSION_EXISTS, /* a live session has this name */
	FRONT_ERR_DRAINING,  /* no new sessions */
	FRONT_ERR_NOT_READY,
	FRONT_ERR_EXPIRED,   /* it was there: retention took it */
	FRONT_ERR_KERNEL_LOST, /* the session is there: execute, or restart it */
	FRONT_ERR_PRECONDITION, /* If-Match, If-None-Match */
	FRONT_ERR_EXISTS,	/* a file in the way */
	FRONT_ERR_LINK_GONE,	/* expired, used up or revoked */
	FRONT_ERR_CONTEXT_NOT_FOUND,
	FRONT_ERR_EXECUTION_LOST, /* it was there when the daemon died */
	FRONT_ERR_DISK_FULL,	  /* it was done and could not be kept */
	FRONT_ERR_MODEL_MISSING,  /* none is configured, or not that one */
	FRONT_ERR_RUN_NOT_FOUND,
	FRONT_ERR_EXECUTION_CANCELLED, /* before it began: whoever wanted it went away */
	FRONT_ERR_COUNT_
};

#define FRONT_FLAG_BLOB 1u
#define FRONT_FLAG_CALL 2u

struct front_head {
	uint32_t magic;
	uint16_t type;
	uint16_t flags;
	uint64_t id; /* of the request */
	uint32_t payload_len;
	uint32_t field_count;
};

/* How the payload of HANDOFF and CONNECTION begins; the bytes that were read follow. */
struct front_handoff {
	uint32_t dialect; /* the number of the one that the connection is for */
	/* Of a HANDOFF: what the CONNECTION said that brought it; 0 when the sender accepted it, or
	 * has served a request of it since. reckond counts on, and closes it at FRONT_HOPS_MAX. */
	uint32_t hops;
};

/* What reckond knows of its front. */
enum front_state {
	FRONT_STATE_STARTING, /* READY   */
	FRONT_STATE_SERVING,  /* requests */
};

/* The monitor table: whether a front may send `type` in `state`. */
bool front_may_send(enum front_state state, uint16_t type);

/*
 * Whether the fields are those that a request of this type may have: known tags, each at most as
 * often and as long as the table says, and every one that it needs. ERR_PROTOCOL otherwise.
 */
int front_check(uint16_t type, const struct kernel_item *items, size_t count, struct err *err);

/* Building a payload. Texts are not terminated on the wire. */
int front_pack(struct buf *payload, enum front_tag tag, const void *data, size_t len,
	       struct err *err);
int front_pack_text(struct buf *payload, enum front_tag tag, const char *text, struct err *err);
int front_pack_u64(struct buf *payload, enum front_tag tag, uint64_t value, struct err *err);

/* Reading one; front_u64() and front_text() give `otherwise` when there is no such field. */
const struct kernel_item *front_find(const struct kernel_item *items, size_t count,
				     enum front_tag tag);
uint64_t front_u64(const struct kernel_item *items, size_t count, enum front_tag tag,
		   uint64_t otherwise);
/* Copies it with a NUL; false when it is missing, too long for `size`, or holds a NUL. */
bool front_text(const struct kernel_item *items, size_t count, enum front_tag tag, char *ret,
		size_t size);

/* Sends one frame; `fd` (or -1) goes along. ERR_TIMEOUT: the peer does not read just now. */
int front_send(int sock, enum front_type type, uint64_t id, const struct buf *payload, int fd,
	       struct err *err);
/* The same of a typed call: `type` is its number, or FRONT_REPLY. */
int front_send_call(int sock, uint16_t type, uint64_t id, const struct buf *payload,
		    struct err *err);

/*
 * Receives one frame: 1, 0 at end of file, or an error (ERR_TIMEOUT: nothing there). The payload
 * replaces what was in `payload`; *ret_fd is a descriptor that came along, or -1.
 */
int front_recv(int sock, struct front_head *ret_head, struct buf *payload, int *ret_fd,
	       struct err *err);

/*
 * Sends HANDOFF or CONNECTION: `payload` is as described at struct front_handoff. ERR_TIMEOUT as
 * with front_send(); `fd` stays the caller's.
 */
int front_send_handoff(int sock, enum front_type type, const struct buf *payload, int fd,
		       struct err *err);

/*
 * Whether a received HANDOFF is whole: one descriptor that is a stream socket and does not listen,
 * not too many bytes or hops, and one of `count` dialects other than the sender's `own`.
 * ERR_PROTOCOL otherwise. Takes neither the payload nor `fd`.
 */
int front_check_handoff(const struct front_head *head, const struct buf *payload, int fd,
			size_t own, size_t count, struct front_handoff *ret, struct err *err);
