/*
 * front.h - what reckon-front may ask of reckond, and how it is answered.
 *
 * The front reads HTTP from anybody and is taken for captured; reckond reads only these frames.
 * One SOCK_SEQPACKET socket, descriptor FRONT_FD of the front. Each frame is a struct front_head
 * followed by its payload; one larger than FRONT_INLINE_MAX travels as one sealed memory file
 * (FRONT_FLAG_BLOB), after any other descriptor.
 *
 *   front                                   reckond
 *    | READY ------------------------------->  |   once, after it dropped everything
 *    | a call (id) ------------------------->  |   ids grow; at most FRONT_PENDING_MAX unanswered
 *    | <------------------ REPLY or ERROR (id) |   exactly one each, in any order
 *    | CANCEL (id) ------------------------->  |   whoever asked went away: the reply may not come;
 *                                                 also later, of what began a stream of events, or
 *                                                 of an upload that no call has taken
 *    | HANDOFF ----------------------------->  |   a client's connection for another dialect
 *    | <--------------------------- CONNECTION |   the same, to that dialect's process
 *
 * A call has FRONT_FLAG_CALL: its type is the number of a row of the field table (src/api), its
 * payload the image of struct api_caller and of what that call takes. A REPLY holds the image of what
 * it gives, and comes with a descriptor where the table says so; an ERROR holds a struct api_failure.
 * Both have the flag too. READY and CANCEL hold nothing; front_may_send() says when they may come.
 *
 * Everything is a question with one answer, also the events of an execution (execution_events answers
 * with what there is, or waits until there is something): so a slow client never makes a queue here.
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

#define FRONT_FD 3
#define FRONT_LISTEN_FD 4
#define FRONT_MAGIC 0x31464b52u /* "RKF1" */
#define FRONT_INLINE_MAX (48u * 1024u)
#define FRONT_PAYLOAD_MAX (64u * 1024u * 1024u)
#define FRONT_PENDING_MAX 16384u
#define FRONT_CODE_MAX (4u * 1024u * 1024u)
#define FRONT_ENV_MAX 256u
#define FRONT_ENV_BYTES_MAX (32u * 1024u)
#define FRONT_ID_MAX 31u
#define FRONT_CWD_MAX 1023u
#define FRONT_QUESTION_MAX (1024u * 1024u)
#define FRONT_KEY_MAX 128u
#define FRONT_REQUEST_ID_MAX 64u
#define FRONT_HANDOFF_MAX (80u * 1024u) /* bytes already read: a head, and what came ahead */
#define FRONT_HOPS_MAX 8u /* hand-offs of one connection without a request served in between */

enum front_type {
	/* front to reckond; a call has its own number, and the flag */
	FRONT_READY = 1,
	FRONT_CANCEL = 2,
	FRONT_HANDOFF = 3, /* a connection for another dialect: no answer */
	/* reckond to front */
	FRONT_REPLY = 64,
	FRONT_ERROR = 65,
	FRONT_CONNECTION = 66,
};

/* What a session asks for beyond the walls that every box has. */
#define FRONT_POLICY_ISOLATE_CORE 1u	    /* as RECKON_SESSION_CORE_SCHEDULING */
#define FRONT_POLICY_ISOLATE_SPECULATION 2u /* as RECKON_SESSION_NO_SPECULATION */

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

#define FRONT_FLAG_BLOB 1u
#define FRONT_FLAG_CALL 2u

struct front_head {
	uint32_t magic;
	uint16_t type;
	uint16_t flags;
	uint64_t id; /* of the request */
	uint32_t payload_len;
	uint32_t reserved; /* 0 */
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

/* The monitor table: whether a front may send a frame of this type, which is not a call, in `state`. */
bool front_may_send(enum front_state state, uint16_t type);

/* Sends a frame without a payload. ERR_TIMEOUT: the peer does not read just now. */
int front_send(int sock, enum front_type type, uint64_t id, struct err *err);
/*
 * Sends an image: `type` is the number of a call, FRONT_REPLY or FRONT_ERROR; `fd` (or -1) goes along.
 */
int front_send_image(int sock, uint16_t type, uint64_t id, const struct buf *payload, int fd,
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
