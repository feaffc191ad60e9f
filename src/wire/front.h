/*
 * front.h - the requests of reckon-front to reckond, and the replies.
 *
 * The front reads HTTP from anybody, and the design assumes that an attacker controls it; reckond
 * reads only these frames. One SOCK_SEQPACKET socket, descriptor FRONT_FD of the front. Each frame
 * is a struct front_head followed by its payload; one larger than FRONT_INLINE_MAX travels as one
 * sealed memory file (FRONT_FLAG_BLOB), after any other descriptor.
 *
 *   front                                   reckond
 *    | READY ------------------------------->  |   once, after it dropped its privileges
 *    | a call (id) ------------------------->  |   ids grow; at most FRONT_PENDING_MAX unanswered
 *    | <------------------ REPLY or ERROR (id) |   exactly one each, in any order
 *    | CANCEL (id) ------------------------->  |   the client left: the reply may not come; also
 *                                                 later, to end a stream of events, or to drop an
 *                                                 upload that no call has taken
 *    | HANDOFF ----------------------------->  |   a client's connection for another dialect
 *    | <--------------------------- CONNECTION |   the same, to that dialect's process
 *
 * A call has FRONT_FLAG_CALL: its type is the number of a row of the field table (src/api), its
 * payload the image of struct api_caller and of the call's arguments. A REPLY holds the image of
 * the result, with a descriptor where the table says so; an ERROR holds a struct api_failure. Both
 * have the flag too. READY and CANCEL hold nothing; front_may_send() says when they may come.
 *
 * Every request has one reply, also for the events of an execution (execution_events returns the
 * events so far, or waits for the next one): so a slow client never causes a queue here.
 *
 * HANDOFF and CONNECTION have id 0, one descriptor (the client's connection) and no fields: the
 * payload is a struct front_handoff and the bytes that were already read from the connection, which
 * reckond passes on and never reads. The receiver treats it as a new connection that has already
 * sent these bytes.
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
#define FRONT_HANDOFF_MAX (80u * 1024u) /* bytes already read: a request's head and any more */
#define FRONT_HOPS_MAX 8u /* hand-offs of one connection without serving a request in between */

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

/* Isolation that a session requests beyond the walls of every box. */
#define FRONT_POLICY_ISOLATE_CORE 1u	    /* as RECKON_SESSION_CORE_SCHEDULING */
#define FRONT_POLICY_ISOLATE_SPECULATION 2u /* as RECKON_SESSION_NO_SPECULATION */

/* Zero: the default. Otherwise as in reckon_limits. */
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

/* Start of the payload of HANDOFF and CONNECTION; the bytes already read follow. */
struct front_handoff {
	uint32_t dialect; /* index of the connection's new dialect */
	/* HANDOFF: the hops of the CONNECTION that brought it; 0 if the sender accepted the
	 * connection itself, or has since served a request on it. reckond adds one, and closes the
	 * connection at FRONT_HOPS_MAX. */
	uint32_t hops;
};

/* Which frames, other than calls, reckond expects of its front. */
enum front_state {
	FRONT_STATE_STARTING, /* READY   */
	FRONT_STATE_SERVING,  /* CANCEL, HANDOFF */
};

/* The monitor table: whether a front may send a frame of this type (not a call) in `state`. */
bool front_may_send(enum front_state state, uint16_t type);

/* Sends a frame without a payload. ERR_TIMEOUT: the peer is not reading now. */
int front_send(int sock, enum front_type type, uint64_t id, struct err *err);
/*
 * Sends an image: `type` is a call's number, FRONT_REPLY or FRONT_ERROR; passes `fd` (or -1).
 */
int front_send_image(int sock, uint16_t type, uint64_t id, const struct buf *payload, int fd,
		     struct err *err);

/*
 * Receives one frame: 1, 0 at end of file, or an error (ERR_TIMEOUT: nothing to read). Replaces the
 * contents of `payload`; *ret_fd is the frame's descriptor, or -1.
 */
int front_recv(int sock, struct front_head *ret_head, struct buf *payload, int *ret_fd,
	       struct err *err);

/*
 * Sends HANDOFF or CONNECTION with the payload described at struct front_handoff. ERR_TIMEOUT as
 * with front_send(); the caller keeps `fd`.
 */
int front_send_handoff(int sock, enum front_type type, const struct buf *payload, int fd,
		       struct err *err);

/*
 * Checks a received HANDOFF: one descriptor of a stream socket that does not listen, not too many
 * bytes or hops, and one of `count` dialects other than the sender's `own`. ERR_PROTOCOL otherwise.
 * Neither the payload nor `fd` changes its owner.
 */
int front_check_handoff(const struct front_head *head, const struct buf *payload, int fd,
			size_t own, size_t count, struct front_handoff *ret, struct err *err);
