/*
 * session.h - the state of a session; for the files of this folder.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "lib/engine.h"
#include "lib/execution/known.h"
#include "lib/execution/pipes.h"
#include "lib/session/shared.h"
#include "lib/record/repeat_detector.h"
#include "reckon.h"
#include "wire/kernel.h"
#include "wire/warden.h"

#define SESSION_CONFIGURE_MAX (256u * 1024u)
/* Added to interrupt_fd; larger than any number of interrupts. */
#define SESSION_KILL (UINT64_C(1) << 32)

/*
 * A lost kernel that the next record has to report, because it ended between executions or with the
 * last one.
 */
struct loss {
	bool is_unreported;
	struct err why;
	struct known names;
};

/* The warden's identifiers and state of a session. */
struct session_at_warden {
	uint32_t number; /* the warden's number of the session */
	/* the warden's number of the kernel; a fresh kernel gets another one */
	uint32_t kernel_number;
	uint32_t open_flags; /* for a fresh kernel */
	uint32_t host_uid;
	uint32_t host_gid;
	int32_t kernel_pid; /* in the warden's pid namespace */
	uint32_t lease_seconds; /* 0: its box ends with this connection */
	bool keeps_box;		/* closing it does not end its box */
};

/* How its kernel was made, and how long that took. */
struct session_opening {
	bool has_twin;
	enum warden_warmth warmth;
	uint64_t shell_ns, spawn_ns; /* reported by the warden */
	/* Until the warden's reply, until the kernel is ready, in total. */
	uint64_t warden_ns, ready_ns, total_ns;
};

struct session_losses {
	bool has_ended; /* the warden reported how the kernel ended */
	struct warden_ended ended;
	bool is_kernel_lost;
	struct err why_kernel_lost;
	bool is_lost; /* the session is lost, and the kernel with it */
	struct err why_lost;
};

struct session_interrupt {
	int fd; /* eventfd; reckon_interrupt() uses nothing else */
	_Atomic(const reckon_reason *) reason; /* for the running execution, or NULL */
	/* Or NULL. While it is not 0, each execution is interrupted when it begins: its owner may
	 * have requested that a moment before. */
	const atomic_int *stop_wanted;
};

struct reckon_session {
	struct reckon_engine *engine;
	bool owns_engine; /* a context has its own engine */
	struct client *client; /* NULL: a handle only for files */
	struct reckon_session *next; /* list of the engine's sessions */
	struct shared *shared; /* shared with the session's other handles */
	char id[ID_SIZE];
	char context[ID_SIZE]; /* "": the session's first kernel */
	const struct language *language;
	char template_name[WARDEN_NAME_SIZE];
	reckon_limits limits; /* with defaults */
	uint32_t requested; /* WARDEN_UNHELD_… bits of limits that the caller set */
	uint32_t unheld; /* those that this host cannot enforce; the next record reports them */

	struct session_at_warden warden;
	struct session_opening opening;
	struct buf configured; /* payload of CONFIGURE, for a fresh kernel */
	int control;   /* socket to the kernel, non-blocking */
	int workspace; /* directory */

	enum kernel_state state;
	uint64_t next_request;
	uint64_t sequence; /* number of the last execution */
	struct known known; /* names of variables that the kernel reported */
	struct loss loss;
	struct repeat_detector repeats; /* failures so far */
	/* an empty input for cells that have none, and its non-blocking reader; or -1 */
	int no_input[2];
	struct stray_set strays; /* pipes of earlier executions that still have writers */

	struct session_losses lost;
	struct session_interrupt interrupt;
};

/* Marks the session as lost for good; keeps the first reason. */
void session_lose(struct reckon_session *session, const struct err *why);

/* Marks the kernel as lost; the next record reports what is known about its end. */
void session_lose_kernel(struct reckon_session *session, const struct err *why);

/* The same; the warden also kills what is left of the kernel. */
void session_kill(struct reckon_session *session, const struct err *why);

/* ERR_LOST or ERR_KERNEL_LOST with the reason, ERR_INVALID inside a callback, else 0. */
int session_check(struct reckon_session *session, struct err *err);
/* The same; also ERR_INVALID for a handle without a kernel. */
int session_check_kernel(struct reckon_session *session, struct err *err);
/* Only whether the session exists, not its kernel. */
int session_check_box(struct reckon_session *session, struct err *err);
/* Whether there is no kernel, with the reason. */
bool session_is_gone(const struct reckon_session *session, struct err *ret);

/* open.c: waits until a new kernel is ready, and configures it. */
int session_meet(struct reckon_session *session, struct err *err);
int session_configure(struct reckon_session *session, const char *const *env, const char *cwd,
		      struct err *err);

/* open.c: fills in defaults for limits that are not set. */
int session_fill_limits(reckon_limits *limits, struct err *err);

/* restart.c: replaces this session's kernel. */
int session_restart(struct reckon_session *session, struct err *err);

/* Handles the warden's report that a kernel ended; called by the engine. */
void session_note_ended(struct reckon_session *session, const struct warden_ended *ended);

/* "exit status 3", "signal 11 (Segmentation fault)", … */
void session_describe_end(const struct warden_ended *ended, char *ret, size_t size);

/* Takes the two descriptors and the numbers from an OPEN or BRANCH reply; on failure the caller
 * frees the session with session_free(). */
int session_adopt(struct reckon_session *session, struct client_call *call, struct err *err);
/* Takes the numbers and the control socket from a CONTEXT or RESTART reply. */
int session_adopt_kernel(struct reckon_session *session, struct client_call *call, struct err *err);
/* Prepares a request about this kernel. */
struct warden_request session_request(const struct reckon_session *session, enum warden_type type);
struct reckon_session *session_new(struct reckon_engine *engine, struct client *client);
void session_free(struct reckon_session *session); /* unlinks; NULL is fine */
void session_link(struct reckon_session *session);

/*
 * Receives one packet of the kernel into `payload`. Like kernel_recv(), but accepts no descriptors.
 */
int session_recv(struct reckon_session *session, struct kernel_head *ret_head, struct buf *payload,
		 struct err *err);

/*
 * Sends a request that has no reply (INTERRUPT, BEGIN, END); if the warden is dead, the session is
 * lost.
 */
int session_tell(struct reckon_session *session, enum warden_type type, struct err *err);
int session_tell_begin(struct reckon_session *session, const char *execution, struct err *err);

/* ---- adopt.c ---- */
/* Whether its box may remain when this connection ends: nothing unsaved is known about it. */
bool adopt_may_stay(const struct reckon_session *session);
/* Waits until a kernel that another process has used replies: then it is idle. */
int adopt_meet(struct reckon_session *session, struct err *err);

/* ---- durable.c ---- */
/* Handles the options about an earlier life of the session. */
int durable_begin(struct reckon_session *session, const reckon_session_options *options,
		  struct err *err);
/* The same for a context. */
int durable_context(struct reckon_session *context, const reckon_context_options *options,
		    struct err *err);
/* Sets the known names of variables, ["a","b"]; NULL: none. */
int durable_known(struct reckon_session *session, const char *variables, struct err *err);
struct persist_bounds durable_bounds(const struct reckon_session *session);
/* Updates the stored copy of the workspace; without KEEP it does nothing, except to zero
 * *ret_unstored (which may be NULL). */
int durable_keep(struct reckon_session *session, bool thorough,
		 struct shared_unstored *ret_unstored, struct err *err);
