/*
 * remote.h - commands that ask a daemon. They run in libexec/reckon-client, which alone of our
 * user's programs loads libcurl; `reckon` judges nothing of them and execs it.
 *
 *   tables.c  their options; linked into both programs
 *   exec.c    in reckon: hands the command line over
 *   main.c    in reckon-client: from the table to the function
 *   remote.c         --url, --key and what else they share
 *   remote_….c       one file for each command; of those about processes see process/process.h
 *
 * A new command: its table in tables.c (or a file of its own) with .run = remote_exec, a row
 * in commands.c, and a row with its function in main.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/opt.h"
#include "client/client.h"
#include "reckon.h"

/* The .run of their tables. */
int remote_exec(const struct opt_command *self, int argc, char **argv);

/* Replaces this program by reckon-client; `key` is where --key has its value in argv, or NULL. */
int remote_hand_over(int argc, char **argv, const char *key);

/* Ids and rows of options that each of them has; remote_take() takes them. */
enum {
	REMOTE_OPT_URL = OPT_LONG + 512, REMOTE_OPT_KEY, REMOTE_OPT_JSON,
	REMOTE_OPT_FOLLOW, REMOTE_OPT_NO_WAIT, REMOTE_OPT_NO_LINK, REMOTE_OPT_VOLUME,
	REMOTE_OPT_INTACT,
};

#define REMOTE_OPTIONS_ADDRESS                                                                    \
	{ REMOTE_OPT_URL, "url", "URL", "the daemon (RECKON_URL; else your private one)",          \
	  OPT_HINT_NONE, NULL, false },                                                           \
	{ REMOTE_OPT_KEY, "key", "KEY", "API key; RECKON_API_KEY keeps it out of ps",             \
	  OPT_HINT_NONE, NULL, false }
#define REMOTE_OPTIONS                                                                            \
	REMOTE_OPTIONS_ADDRESS,                                                                   \
	{ REMOTE_OPT_NO_WAIT, "no-wait", NULL, "fail when the daemon is busy (waits 60 s)",\
	  OPT_HINT_NONE, NULL, false }
#define REMOTE_OPTION_SESSION                                                                     \
	{ 's', "session", "SESSION", "name or id (else the only one)", OPT_HINT_LIVE,              \
	  OPT_LIVE_SESSIONS, false }
#define REMOTE_OPTION_VOLUME                                                                      \
	{ REMOTE_OPT_VOLUME, "volume", "VOLUME", "of this volume, not of a session",               \
	  OPT_HINT_LIVE, OPT_LIVE_VOLUMES, false }
#define REMOTE_OPTION_JSON                                                                        \
	{ REMOTE_OPT_JSON, "json", NULL, "what the daemon says, as JSON", OPT_HINT_NONE, NULL,    \
	  false }

/* What the command line says; commands with more to say have it as their first member. */
struct remote {
	struct client_options where;
	bool json;
	bool no_wait;
	const char *session; /* -s, or NULL */
	const char *name; /* the one operand of most of them, or NULL */
};

/* Takes an option of REMOTE_OPTIONS, or an operand when there was none: true. */
bool remote_take(struct remote *remote, int id, const char *value);

/* An opt_fn for commands with nothing but that; `arg` is a struct remote. */
int remote_take_all(int id, const char *value, void *arg, struct err *err);

/* "unexpected argument" */
int remote_unexpected(const char *value, struct err *err);

/*
 * Parses with `fn`; -1: go on, else the exit status (help was printed, or the error).
 */
int remote_parse(const struct opt_command *self, int argc, char **argv, opt_fn *fn, void *arg);

/* Opens, and warns when a key would travel in the clear. */
int remote_open(const struct remote *remote, struct client **ret, struct err *err);

/* Prints the error in the name of the command; returns the exit status. */

/* Text of an answer, "" when it is missing. */

/* The status of a session for a person: the API's word, and of a live one "busy", "no kernel". */
const char *remote_session_status(const struct json_value *session);

/* One line of JSON on stdout; returns the exit status. */
int remote_print_json(const struct json_value *value);

/* rows.c: a list of an answer as a table on stdout; returns the exit status. */
struct remote_column {
	const char *head, *key;
	enum {
		REMOTE_TEXT,
		REMOTE_NUMBER,
		REMOTE_SIZE,  /* of files, in bytes */
		REMOTE_LIMIT, /* likewise, as limits are given */
		REMOTE_AGE,   /* since a moment */
	} kind;
};
int remote_print_rows(const struct json_value *rows, const struct remote_column *columns,
		      size_t count);
/* One object, a line for each member that is there. */
int remote_print_lines(const struct json_value *object, const struct remote_column *lines,
		       size_t count);
/* For shells, which complete and loop over it: one member of each, a line each. */
int remote_print_words(const struct json_value *rows, const char *key);

#define REMOTE_AGE_SIZE 32
/* "2 min", "3 h", "5 d" since an RFC 3339 time; "" when it is none. */
void remote_age(const char *moment, char ret[REMOTE_AGE_SIZE]);

/* "missing argument VOLUME" when there is no name; the noun is the first word of the command. */
int remote_need(const struct opt_command *self, const char *name, struct err *err);

/*
 * The whole of a command that removes what its operands name. `check` (may be NULL) looks at each
 * before anything is removed.
 */
int remote_remove(const struct opt_command *self, int argc, char **argv,
		  int (*check)(const char *name, struct err *err),
		  int (*rm)(struct client *client, const char *name, struct err *err));

/*
 * Reads the JSON of an event that a daemon sent, for json_read_free(), and fills in what a stream's
 * says. ERR_PROTOCOL: it is none.
 */
int remote_read_event(const struct client *client, reckon_event *event,
		      struct json_value **ret_document, struct err *err);

/*
 * The session that `name` names: an id, or the name of a live one. *ret is its JSON, for
 * json_read_free(). ERR_NOT_FOUND: there never was one; ERR_LOST: it is gone, with what became of
 * it.
 */
int remote_session(struct client *client, const char *name, struct json_value **ret,
		   struct err *err);

/* The same, whatever became of it: the newest of that name. */
int remote_session_any(struct client *client, const char *name, struct json_value **ret,
		       struct err *err);

/* The session of -s; without that the only one that is live. ERR_INVALID when there are several. */
int remote_chosen(struct client *client, const struct remote *remote, bool live,
		  struct json_value **ret, struct err *err);

/*
 * The body of POST sessions: template, language, environment, limits and volumes of `run`, and what
 * that does not say. storage_begin() makes the session.
 */
struct run;
struct remote_body {
	const char *name;     /* or NULL */
	const char *snapshot; /* its id, or NULL */
	uint64_t idle_ms;     /* 0: as the daemon has it */
	bool with_wall;	      /* the time limit of a cell, too */
};
int remote_session_body(const struct run *run, const struct remote_body *body, struct buf *ret,
			struct err *err);

/* What the id of a session is in a path: "sessions/ID" and what follows. */
int remote_path(struct buf *path, const struct json_value *session, const char *rest,
		struct err *err);

/*
 * tar.c: a folder as one archive, with links, modes and empty folders. `where` is the path of
 * the request. 1: the server takes or has no such archive, so nothing was done.
 */
int remote_tar_put(struct client *client, const char *where, const char *root, struct err *err);
/* Its entries come below dir_fd/base ("": dir_fd itself). */
int remote_tar_get(struct client *client, const char *where, int dir_fd, const char *base,
		   bool force, struct err *err);

/* The functions of reckon-client. */
int remote_ask(const struct opt_command *self, int argc, char **argv);
int remote_forward(const struct opt_command *self, int argc, char **argv);
int remote_daemon_status(const struct opt_command *self, int argc, char **argv);
int remote_daemon_stop(const struct opt_command *self, int argc, char **argv);
int remote_drain(const struct opt_command *self, int argc, char **argv);
int remote_undrain(const struct opt_command *self, int argc, char **argv);
int remote_files_get(const struct opt_command *self, int argc, char **argv);
int remote_files_ls(const struct opt_command *self, int argc, char **argv);
int remote_files_put(const struct opt_command *self, int argc, char **argv);
int remote_files_rm(const struct opt_command *self, int argc, char **argv);
int remote_output(const struct opt_command *self, int argc, char **argv);
int remote_mcp(const struct opt_command *self, int argc, char **argv);
int remote_logs(const struct opt_command *self, int argc, char **argv);
int remote_session_create(const struct opt_command *self, int argc, char **argv);
int remote_session_ls(const struct opt_command *self, int argc, char **argv);
int remote_session_show(const struct opt_command *self, int argc, char **argv);
int remote_session_rm(const struct opt_command *self, int argc, char **argv);
int remote_key_create(const struct opt_command *self, int argc, char **argv);
int remote_admin_rm(const struct opt_command *self, int argc, char **argv);
/* Appends the id of a tenant that is named by it or by its name. */
int remote_tenant_id(struct client *client, const char *name, struct buf *ret, struct err *err);
int remote_tenant_forget(const struct opt_command *self, int argc, char **argv);
int remote_admin_ls(const struct opt_command *self, int argc, char **argv);
int remote_tenant_one(const struct opt_command *self, int argc, char **argv);
int remote_usage(const struct opt_command *self, int argc, char **argv);
int remote_session_restore(const struct opt_command *self, int argc, char **argv);
int remote_session_tell(const struct opt_command *self, int argc, char **argv);
