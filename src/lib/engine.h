/*
 * engine.h - the members of an engine; for the files of this folder and their tests.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "lib/client.h"
#include "lib/store/store.h"
#include "reckon.h"

struct reckon_engine {
	struct client *client; /* NULL until a session or doctor needs the warden */
	struct store *store;
	struct reckon_session *sessions;
	char *state_dir;
	char *template_dir;
	bool is_private;
	bool is_strict;
	bool is_busy; /* inside an execution: its callbacks may not start another call */
};

/*
 * Like reckon_engine_open(), but uses the warden at the other end of `warden_fd`, which it takes,
 * also on failure. For tests.
 */
int engine_open_on(const reckon_engine_options *options, int warden_fd, reckon_engine **ret,
		   struct err *err);

/*
 * Returns the connection; makes a new one if there is none or it is dead. Sessions of a dead
 * connection stay on it and are lost.
 */
int engine_client(struct reckon_engine *engine, struct client **ret, struct err *err);

/*
 * Makes an engine for a context: same directories, its own store and connection (`sock`, which it
 * takes), so that it shares nothing with another thread.
 */
int engine_new_for_context(const struct reckon_engine *of, int sock, struct reckon_engine **ret,
			   struct err *err);

/* The same for files only: without a connection. */
int engine_new_for_files(const struct reckon_engine *of, struct reckon_engine **ret,
			 struct err *err);

/* The same with a connection to a warden, which it takes, also on failure; the engine must have
 * none. */
int engine_greet(struct reckon_engine *engine, int sock, struct err *err);

/* ERR_INVALID if called from an event callback. */
int engine_check_idle(const struct reckon_engine *engine, struct err *err);
