/*
 * session.h - where the cells of a command run, with one interface for both: a session of our own,
 * which ends with the program, or one of a daemon's, which stays.
 *
 *   own.c        over libreckon
 *   daemon.c     over HTTP, in reckon-client (daemon.h)
 *   interrupt.c  Ctrl-C (interrupt.h)
 *
 * A command calls through `ops` and knows no difference. `reckon` has no way to a daemon: it hands
 * such a command line over to reckon-client, which runs the same command with session_open_daemon.
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
	uint64_t wall_ms;	   /* 0: as the session has it */
	reckon_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	reckon_input_fn *on_input; /* asks a person for a line; or NULL */
	void *on_input_arg;
	void (*on_begun)(const char *id, void *arg); /* what a daemon calls it; or NULL */
	void *on_begun_arg;
	bool has_stdin; /* the program reads stdin_fd; not in a daemon's */
	int stdin_fd;
	bool wants_outputs; /* in the record, also those that came as events */
	struct run_tools *tools; /* which it may call; or NULL */
};

struct session_result {
	struct buf record; /* JSON */
	int exit_code;	   /* that belongs to its status */
};

enum session_look_kind {
	SESSION_LOOK_VARIABLES, /* JSON as of reckon_variables(), and so on */
	SESSION_LOOK_FILES,
	SESSION_LOOK_COMPLETE,
	SESSION_LOOK_IS_COMPLETE,
};

struct session_look {
	enum session_look_kind kind;
	const char *code;
	size_t len, cursor;
};

/* Errors are those of libreckon. ERR_LOST: the session is gone. */
struct session_ops {
	/* Whenever there is a record: 0. */
	int (*execute)(struct session *session, const struct session_cell *cell,
		       struct session_result *ret, struct err *err);
	/* Appends an answer, JSON. */
	int (*look)(struct session *session, const struct session_look *look, struct buf *ret,
		    struct err *err);
	/* ERR_KERNEL_LOST: the session is there, without a kernel. */
	int (*check)(struct session *session, struct err *err);
	int (*restart)(struct session *session, struct err *err);
	/* 1: it was gone, and another one is in its place; 0: it is there. */
	int (*renew)(struct session *session, struct err *err);
	/* A file of the workspace: all of `fd` goes in. */
	int (*put)(struct session *session, const char *name, int fd, struct err *err);
	/* The stored copy, where `artifact` is not NULL; appended to `fd`. */
	int (*get)(struct session *session, const char *name, const char *artifact, int fd,
		   struct err *err);
	/* To read; *ret_fd is the caller's. */
	int (*open_file)(struct session *session, const char *name, int *ret_fd, struct err *err);
	int (*open_output)(struct session *session, const char *handle, int *ret_fd,
			   struct err *err);
	void (*close)(struct session *session);
};

struct session {
	const struct session_ops *ops;
	const struct run *run; /* as which it was opened */
	bool is_fresh;	       /* made for this program */
	bool is_left; /* Ctrl-C again left the cell alone: execute() returned an error */
	/* Of a daemon's; NULL of our own, and `url` of the private daemon. */
	const char *id, *name, *url;
	const char *language; /* of one that was there before; else NULL: the run's */
	double idle_s;	      /* unused for so long, a daemon's ends; 0: it does not */
};

/* Opens, or makes, what `run` asks for; *ret is for session_close(). */
typedef int session_open_fn(const struct run *run, struct session **ret, struct err *err);

/* A session_open_fn: of our own. */
int session_open_own(const struct run *run, struct session **ret, struct err *err);
/* libreckon's handle of such a one. */
reckon_session *session_own_handle(struct session *session);

/* NULL is fine. */
void session_close(struct session *session);
