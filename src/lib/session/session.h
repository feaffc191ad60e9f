/*
 * session.h - what a session holds; for the files of this folder.
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
/* Of interrupt_fd: more than anybody asks to interrupt. */
#define SESSION_KILL (UINT64_C(1) << 32)

/* A kernel that was lost while nobody looked, or with the last execution: for the next record. */
struct loss {
	bool is_untold;
	struct err why;
	struct known names;
};

/* A session, or a context of one: a kernel and what goes with it. */
/* What the warden knows it by. */
struct session_at_warden {
	uint32_t number; /* what the warden calls it */
	uint32_t kernel_number; /* … and the kernel, of which each fresh one has another */
	uint32_t open_flags; /* for a fresh one */
	uint32_t host_uid;
	uint32_t host_gid;
	int32_t kernel_pid; /* as the warden sees it */
	uint32_t lease_seconds; /* 0: its box ends with this connection */
	bool keeps_box;		/* it is closed without an end of its box */
};

/* How its kernel came about. */
struct session_opening {
	bool has_twin;
	enum warden_warmth warmth;
	uint64_t shell_ns, spawn_ns; /* as the warden says */
	/* Until the warden's answer, the kernel's, the end. */
	uint64_t warden_ns, ready_ns, total_ns;
};

struct session_losses {
	bool has_ended; /* the warden said how the kernel ended */
	struct warden_ended ended;
	bool is_kernel_lost;
	struct err why_kernel_lost;
	bool is_lost; /* the session, and the kernel with it */
	struct err why_lost;
};

struct session_interrupt {
	int fd; /* eventfd: all that reckon_interrupt() touches */
	_Atomic(const reckon_reason *) reason; /* of what runs now, or NULL */
	/* Or NULL. While it is not 0, what begins is interrupted: whoever set it may have asked in
	 * the moment before. */
	const atomic_int *stop_wanted;
};

struct reckon_session {
	struct reckon_engine *engine;
	bool owns_engine; /* a context's is its own */
	struct client *client; /* NULL: a handle for files alone */
	struct reckon_session *next; /* of the engine */
	struct shared *shared; /* with other contexts */
	char id[ID_SIZE];
	char context[ID_SIZE]; /* "": the session's first kernel */
	const struct language *language;
	char template_name[WARDEN_NAME_SIZE];
	reckon_limits limits; /* defaults filled in */
	uint32_t asked; /* WARDEN_UNHELD_… bits of limits that the caller named */
	uint32_t unheld; /* those of them that this host cannot hold; told in the next record */

	struct session_at_warden warden;
	struct session_opening opening;
	struct buf configured; /* CONFIGURE, for a fresh kernel */
	int control;   /* to the kernel, non-blocking */
	int workspace; /* directory */

	enum kernel_state state;
	uint64_t next_request;
	uint64_t sequence; /* of the last execution */
	struct known known; /* names of variables, as the kernel told them */
	struct loss loss;
	struct repeat_detector repeats; /* failures so far */
	int no_input[2]; /* an input at its end for every cell that has none, and its peek; or -1 */
	struct stray_set strays; /* pipes that earlier executions left open */

	struct session_losses lost;
	struct session_interrupt interrupt;
};

/* Marks the session as lost for good; the first reason stays. */
void session_lose(struct reckon_session *session, const struct err *why);

/* Marks the kernel as lost, and of whatever is known of its death, tells the next record. */
void session_lose_kernel(struct reckon_session *session, const struct err *why);

/* The same, and the warden ends what is left of it. */
void session_kill(struct reckon_session *session, const struct err *why);

/* ERR_LOST or ERR_KERNEL_LOST with the reason, ERR_INVALID inside a callback, else 0. */
int session_check(struct reckon_session *session, struct err *err);
/* The same, and ERR_INVALID for a handle that has no kernel at all. */
int session_check_kernel(struct reckon_session *session, struct err *err);
/* Without regard to the kernel: whether the session is there. */
int session_check_box(struct reckon_session *session, struct err *err);
/* Why there is no kernel; true when there is none. */
bool session_is_gone(const struct reckon_session *session, struct err *ret);

/* open.c: a new kernel's first words, and ours to it. */
int session_meet(struct reckon_session *session, struct err *err);
int session_configure(struct reckon_session *session, const char *const *env, const char *cwd,
		      struct err *err);

/* … and what goes on with it: the options of the caller, with defaults filled in. */
int session_fill_limits(reckon_limits *limits, struct err *err);

/* restart.c: a fresh kernel in the place of this session's. */
int session_restart(struct reckon_session *session, struct err *err);

/* The warden says that a kernel ended; called by the engine. */
void session_note_ended(struct reckon_session *session, const struct warden_ended *ended);

/* "exit status 3", "signal 11 (Segmentation fault)", … */
void session_describe_end(const struct warden_ended *ended, char *ret, size_t size);

/* Takes the two descriptors and the numbers of an OPEN or BRANCH reply; on failure the session is
 * to be freed with session_free(). */
int session_adopt(struct reckon_session *session, struct client_call *call, struct err *err);
/* Of a CONTEXT or RESTART reply: the numbers, and the control socket. */
int session_adopt_kernel(struct reckon_session *session, struct client_call *call, struct err *err);
/* For a request about this kernel. */
struct warden_request session_request(const struct reckon_session *session, enum warden_type type);
struct reckon_session *session_new(struct reckon_engine *engine, struct client *client);
void session_free(struct reckon_session *session); /* unlinks; NULL is fine */
void session_link(struct reckon_session *session);

/* One packet of the kernel into `payload`. As kernel_recv(), but takes no descriptors. */
int session_recv(struct reckon_session *session, struct kernel_head *ret_head, struct buf *payload,
		 struct err *err);

/* A request without an answer (INTERRUPT, BEGIN, END); a dead warden loses the session. */
int session_tell(struct reckon_session *session, enum warden_type type, struct err *err);
int session_tell_begin(struct reckon_session *session, const char *execution, struct err *err);

/* ---- adopt.c ---- */
/* Whether its box stays when this connection ends, since nothing is known of it that is not kept. */
bool adopt_may_stay(const struct reckon_session *session);
/* A kernel that somebody else has used: idle, once it answers. */
int adopt_meet(struct reckon_session *session, struct err *err);

/* ---- durable.c ---- */
/* What the options say of an earlier life of the session. */
int durable_begin(struct reckon_session *session, const reckon_session_options *options,
		  struct err *err);
/* … and of a context. */
int durable_context(struct reckon_session *context, const reckon_context_options *options,
		    struct err *err);
/* The names of variables that there are, ["a","b"], or NULL. */
int durable_known(struct reckon_session *session, const char *variables, struct err *err);
struct persist_bounds durable_bounds(const struct reckon_session *session);
/* Brings what is kept of the workspace up to date; without KEEP it does nothing. *ret_not_kept
 * (or NULL) is zeroed then. */
int durable_keep(struct reckon_session *session, bool thorough,
		 struct shared_not_kept *ret_not_kept, struct err *err);
