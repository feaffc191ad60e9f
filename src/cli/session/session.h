/*
 * session.h - one interface to the session in which a command's cells run: a local session, which
 * ends with the program, or a daemon's, which outlives it.
 *
 *   own.c        over libreckon
 *   daemon.c     over HTTP, in reckon-client (daemon.h)
 *   interrupt.c  Ctrl-C (interrupt.h)
 *
 * A command only calls `ops`. `reckon` cannot connect to a daemon: it executes reckon-client with
 * the same command line, which runs the same command with session_open_daemon.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "reckon.h"

struct run;
struct run_tools;
struct session;

struct session_cell {
	const char *code;
	size_t len;
	uint64_t wall_ms;	   /* 0: the session's own limit */
	reckon_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	reckon_input_fn *on_input; /* asks a person for a line; or NULL */
	void *on_input_arg;
	/* called with the daemon's id of the cell; or NULL */
	void (*on_begun)(const char *id, void *arg);
	void *on_begun_arg;
	bool has_stdin; /* the program reads stdin_fd; not supported by a daemon */
	int stdin_fd;
	bool wants_outputs; /* the record also has outputs that came as events */
	struct run_tools *tools; /* that the cell may call; or NULL */
};

struct session_result {
	struct buf record; /* JSON */
	int exit_code;	   /* for the record's status */
};

enum session_look_kind {
	SESSION_LOOK_VARIABLES, /* JSON as from reckon_variables(); the others likewise */
	SESSION_LOOK_FILES,
	SESSION_LOOK_COMPLETE,
	SESSION_LOOK_IS_COMPLETE,
};

struct session_look {
	enum session_look_kind kind;
	const char *code;
	size_t len, cursor;
};

/* Errors have libreckon's codes. ERR_LOST: the session is lost. */
struct session_ops {
	/* Returns 0 whenever there is a record. */
	int (*execute)(struct session *session, const struct session_cell *cell,
		       struct session_result *ret, struct err *err);
	/* Appends the answer, which is JSON. */
	int (*look)(struct session *session, const struct session_look *look, struct buf *ret,
		    struct err *err);
	/* ERR_KERNEL_LOST: the session exists, but has no kernel. */
	int (*check)(struct session *session, struct err *err);
	int (*restart)(struct session *session, struct err *err);
	/* 1: the session was lost and is replaced; 0: it still exists. */
	int (*renew)(struct session *session, struct err *err);
	/* Writes all of `fd` to a file of the workspace. */
	int (*put)(struct session *session, const char *name, int fd, struct err *err);
	/* Writes the file to `fd`; the stored copy if `artifact` is not NULL. */
	int (*get)(struct session *session, const char *name, const char *artifact, int fd,
		   struct err *err);
	/* Opens for reading; the caller closes *ret_fd. */
	int (*open_file)(struct session *session, const char *name, int *ret_fd, struct err *err);
	int (*open_output)(struct session *session, const char *handle, int *ret_fd,
			   struct err *err);
	void (*close)(struct session *session);
};

struct session {
	const struct session_ops *ops;
	const struct run *run; /* the options with which it was opened */
	bool is_fresh;	       /* created by this program */
	bool is_left; /* a further Ctrl-C left the cell running: execute() returned an error */
	/*
	 * Of a daemon's session; NULL for a local one. `url` is NULL for the private daemon, too.
	 */
	const char *id, *name, *url;
	const char *language; /* of a session that existed before; else NULL: the run's */
	double idle_s;	      /* a daemon ends the session after so many idle seconds; 0: never */
};

/* Opens or creates the session for `run`; session_close() frees *ret. */
typedef int session_open_fn(const struct run *run, struct session **ret, struct err *err);

/* A session_open_fn for a local session. */
int session_open_own(const struct run *run, struct session **ret, struct err *err);
/* libreckon's handle of a local session. */
reckon_session *session_own_handle(struct session *session);

/* NULL is fine. */
void session_close(struct session *session);
