/*
 * kernel.h - the one contract between the host side and a language kernel.
 *
 * It knows nothing of any language; the event model is Jupyter's. A kernel inherits one
 * SOCK_SEQPACKET socket as descriptor KERNEL_FD. Each packet is a struct kernel_head followed by
 * `payload_len` bytes of fields; a payload that would make the packet longer than
 * KERNEL_INLINE_MAX travels as one sealed memory file instead (KERNEL_FLAG_BLOB), passed as the
 * packet's only descriptor. A field is a struct kernel_field followed by `len` bytes, no padding,
 * no terminator. Integers are in host order: both ends are on one machine.
 *
 * The kernel is hostile. Its packets are decoded by kernel_unpack(), which checks every bound, and
 * judged by kernel_may_send(): a violation ends the kernel, never the host.
 *
 *   host                                  kernel
 *    |                                       | (forked from a zygote, inside the box)
 *    | <----------------------------- READY  |
 *    | CGROUP_JOIN [tasks] --------------->  |   in a session of a group (cgroup v1)
 *    | CONFIGURE ------------------------->  |   environment, seed; no answer
 *    | TOOLS [calls] --------------------->  |   before an execution that may call tools
 *    | EXECUTE [stdout, stderr, stdin] --->  |   three descriptors, fresh for each execution
 *    | <------------------- DISPLAY, RESULT  |   any number, ids match the EXECUTE
 *    | <------------------------------ SYNC  |   "drain the pipes before you go on"
 *    | SYNC_ACK -------------------------->  |
 *    | <------------------------------ DONE  |
 *    | PING ----------------------------->  |   from a restarted host that may have missed packets
 *    | <------------------------------ PONG  |   once it is idle
 *
 * Text that a program prints does not travel in packets: the kernel puts the two pipes of EXECUTE
 * in place of descriptors 1 and 2, so that they carry the output of subprocesses and C code, too.
 * Output that arrives after an execution's DONE comes from processes that outlived it; the host
 * never mixes it into the next execution. A SYNC exchange fixes the order between the two pipes and
 * the packets: the kernel flushes and sends SYNC before DISPLAY, RESULT, ERROR, CLEAR_OUTPUT,
 * INPUT_REQUEST and DONE if it wrote anything since the last SYNC, and when it switches from one
 * stream to the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define KERNEL_FD 3
#define KERNEL_MAGIC 0x314b4b52u /* "RKK1" */
#define KERNEL_INLINE_MAX (64u * 1024u)
#define KERNEL_PAYLOAD_MAX (64u * 1024u * 1024u)
#define KERNEL_FIELDS_MAX 8192u

enum kernel_type {
	/* host to kernel */
	KERNEL_EXECUTE = 1,	/* CODE, FILENAME, [INPUT_ALLOWED], ENV* of this cell; fds: stdout,
				   stderr, stdin                                              */
	KERNEL_VARIABLES = 2,	/* -> VARIABLES_REPLY                                           */
	KERNEL_COMPLETE = 3,	/* CODE, CURSOR -> COMPLETE_REPLY                               */
	KERNEL_INSPECT = 4,	/* CODE, CURSOR, [DETAIL] -> INSPECT_REPLY                      */
	KERNEL_INPUT_REPLY = 5, /* TEXT, or no field: end of input                              */
	KERNEL_SYNC_ACK = 6,
	KERNEL_SHUTDOWN = 7,	 /* end at once, no answer                                       */
	KERNEL_CONFIGURE = 8,	 /* ENV ("K=V") any number, SEED, CWD at most once; no answer    */
	KERNEL_RESUME = 9,	 /* first packet of a branch: [SEED] (OPEN_FD OPEN_PATH OPEN_FLAGS
				   OPEN_OFFSET)* files to open again; no answer              */
	KERNEL_IS_COMPLETE = 10, /* CODE -> IS_COMPLETE_REPLY                                   */
	KERNEL_TOOLS =
		11, /* DATA: JSON, [{"name","description","parameters"}]; fd: a socket for calls
			      of the EXECUTE that follows (docs/internals/questions.md); no answer */
	KERNEL_CGROUP_JOIN = 15, /* fd: a group's `tasks`, to write "0" to; no answer. Only
				   the warden sends it, before any packet of a client        */
	KERNEL_PARK = 16,	 /* no client yet: the kernel may prepare what a first cell
				   needs; no answer. Comes before a CGROUP_JOIN              */
	KERNEL_PING = 17,	 /* -> PONG with its id, once the kernel is idle. All earlier
			     packets belong to the host before a restart                 */
	/* kernel to host */
	KERNEL_READY = 32,	     /* LANGUAGE, VERSION                                        */
	KERNEL_DISPLAY = 33,	     /* bundle: [DISPLAY_ID] [METADATA] (MIME DATA)+             */
	KERNEL_UPDATE_DISPLAY = 34,  /* bundle with DISPLAY_ID                                   */
	KERNEL_RESULT = 35,	     /* bundle: the value of the cell                            */
	KERNEL_ERROR = 36,	     /* NAME VALUE TRACEBACK [REPAIR] HINT* (FRAME_FILE FRAME_LINE
				       FRAME_FUNCTION FRAME_SOURCE)*; REPAIR: the failure in few
				       words, at most 4 KiB; HINT: one line, 500 bytes, up to 5 */
	KERNEL_CLEAR_OUTPUT = 37,    /* [WAIT]                                                   */
	KERNEL_INPUT_REQUEST = 38,   /* PROMPT [PASSWORD] -> INPUT_REPLY                         */
	KERNEL_SYNC = 39,	     /* -> SYNC_ACK                                              */
	KERNEL_DONE = 40,	     /* STATUS "ok" | "error" | "interrupted", NOTE*, VAR_NAME*
				       VAR_GONE*: names of variables that are new, or gone, since
				       the last DONE; at most 50 of each                        */
	KERNEL_VARIABLES_REPLY = 41, /* (VAR_NAME VAR_TYPE VAR_SHAPE VAR_SIZE VAR_PREVIEW
					[VAR_KIND])* [VAR_OMITTED]                              */
	KERNEL_COMPLETE_REPLY = 42,  /* CURSOR_START CURSOR_END MATCH*                          */
	KERNEL_INSPECT_REPLY = 43,   /* (MIME DATA)*; no field: unknown                    */
	KERNEL_IS_COMPLETE_REPLY = 44, /* STATUS "complete" | "incomplete" | "invalid",
					  [INDENT] of the line that would follow; none: unknown  */
	KERNEL_PONG = 45,
};

/* Field tags. Numbers are decimal text; text is UTF-8 (the host replaces invalid bytes). */
enum kernel_tag {
	KERNEL_TAG_CODE = 1,
	KERNEL_TAG_FILENAME = 2, /* name of the cell in tracebacks, "<cell 3>" */
	KERNEL_TAG_CURSOR = 3,	 /* byte offset into CODE */
	KERNEL_TAG_TEXT = 4,
	KERNEL_TAG_ENV = 5,
	KERNEL_TAG_SEED = 6,
	KERNEL_TAG_INPUT_ALLOWED = 7, /* "1": INPUT_REQUEST will be answered */
	KERNEL_TAG_LANGUAGE = 16,
	KERNEL_TAG_VERSION = 17,
	KERNEL_TAG_MIME = 18,
	KERNEL_TAG_DATA = 19, /* of the MIME field before it: raw bytes, JSON text or UTF-8 text */
	KERNEL_TAG_DISPLAY_ID = 20,
	KERNEL_TAG_METADATA = 21, /* JSON object */
	KERNEL_TAG_NAME = 22,
	KERNEL_TAG_VALUE = 23,
	KERNEL_TAG_TRACEBACK = 24,
	KERNEL_TAG_REPAIR = 25,
	KERNEL_TAG_FRAME_FILE = 26,
	KERNEL_TAG_FRAME_LINE = 27,
	KERNEL_TAG_FRAME_FUNCTION = 28,
	KERNEL_TAG_FRAME_SOURCE = 29,
	KERNEL_TAG_WAIT = 30,
	KERNEL_TAG_PROMPT = 31,
	KERNEL_TAG_PASSWORD = 32,
	KERNEL_TAG_STATUS = 33,
	KERNEL_TAG_VAR_NAME = 34,
	KERNEL_TAG_VAR_TYPE = 35,
	KERNEL_TAG_VAR_SHAPE = 36,
	KERNEL_TAG_VAR_SIZE = 37, /* bytes, "" if unknown */
	KERNEL_TAG_VAR_PREVIEW = 38,
	KERNEL_TAG_CURSOR_START = 39,
	KERNEL_TAG_CURSOR_END = 40,
	KERNEL_TAG_MATCH = 41,
	KERNEL_TAG_OPEN_FD = 43,
	KERNEL_TAG_OPEN_PATH = 44,
	KERNEL_TAG_OPEN_FLAGS = 45, /* as in open(2) */
	KERNEL_TAG_OPEN_OFFSET = 46,
	KERNEL_TAG_HINT = 47, /* with ERROR: one known remedy */
	KERNEL_TAG_VAR_KIND = 48, /* "data" (also when absent), "function", "class" */
	KERNEL_TAG_VAR_OMITTED = 49, /* how many variables the reply leaves out */
	KERNEL_TAG_DETAIL = 50, /* "1": include the source, as name?? does */
	KERNEL_TAG_INDENT = 60, /* spaces */
	KERNEL_TAG_VAR_GONE = 61, /* with DONE: an earlier VAR_NAME that no longer exists */
	KERNEL_TAG_CWD = 62, /* with CONFIGURE: the working directory */
	KERNEL_TAG_NOTE = 42, /* with DONE, any number: "code: message", becomes a diagnostic */
};

#define KERNEL_FLAG_BLOB 1u

struct kernel_head {
	uint32_t magic;
	uint16_t type;
	uint16_t flags;
	uint64_t id; /* the execution or request of this packet; 0 for READY and CONFIGURE */
	uint32_t payload_len;
	uint32_t field_count;
};

struct kernel_field {
	uint32_t tag;
	uint32_t len;
};

/* One decoded field; `data` points into the payload and is not terminated. */
struct kernel_item {
	uint32_t tag;
	uint32_t len;
	const char *data;
};

/*
 * Decodes a payload of exactly payload_len bytes into `ret_items` (room for `max_items`). Returns
 * the number of items, or ERR_PROTOCOL if a length does not fit, the count is not `field_count`, or
 * there are more than max_items. Has no side effects; fuzzed (test/fuzz/fuzz_kernel.c).
 */
int kernel_unpack(const char *payload, size_t payload_len, uint32_t field_count,
		  struct kernel_item *ret_items, size_t max_items, struct err *err);

/* Appends one field to a payload. */
int kernel_pack(struct buf *payload, enum kernel_tag tag, const void *data, size_t len,
		struct err *err);
int kernel_pack_text(struct buf *payload, enum kernel_tag tag, const char *text, struct err *err);

/* First item with this tag, or NULL. */
const struct kernel_item *kernel_find(const struct kernel_item *items, size_t count,
				      enum kernel_tag tag);

/* What the host expects of the kernel. */
enum kernel_state {
	KERNEL_STATE_STARTING,	/* READY                                   */
	KERNEL_STATE_IDLE,	/* nothing                                 */
	KERNEL_STATE_EXECUTING, /* events and DONE of the execution        */
	KERNEL_STATE_ASKING,	/* one *_REPLY                             */
	KERNEL_STATE_ADOPTING,	/* PONG; other packets were meant for an earlier host */
};

/* The monitor table: whether a kernel may send `type` in `state`. */
bool kernel_may_send(enum kernel_state state, uint16_t type);

bool kernel_item_is(const struct kernel_item *item, const char *text); /* NULL is none */

/* The fields of a payload are packed with kernel_pack(); counts them for the head. */
uint32_t kernel_count_fields(const struct buf *payload);

/*
 * Sends one packet (as a blob if the payload is large). KERNEL_EXECUTE takes up to three
 * descriptors; a blob's descriptor always comes last.
 */
int kernel_send(int sock, enum kernel_type type, uint64_t id, const struct buf *payload,
		const int *fds, size_t nfds, struct err *err);

/*
 * Receives one packet and replaces the contents of `payload`. Returns 1, 0 at end of file, or an
 * error (ERR_TIMEOUT: nothing to read on a non-blocking socket). The caller must still check
 * kernel_may_send(). Stores descriptors other than a blob's in fds (at most fds_max).
 */
int kernel_recv(int sock, struct kernel_head *ret_head, struct buf *payload, int *fds,
		size_t fds_max, size_t *ret_nfds, struct err *err);
