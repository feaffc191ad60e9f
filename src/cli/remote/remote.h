/*
 * remote.h - commands that send requests to a daemon. They run in libexec/reckon-client, so that
 * `reckon` does not need libcurl; `reckon` only executes reckon-client with the command line.
 *
 *   tables.c  their options; linked into both programs
 *   exec.c    in reckon: executes reckon-client
 *   main.c    in reckon-client: finds the function of the command
 *   remote.c  --url, --key and other code that they share
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

/* The .run of these commands' tables in reckon. */
int remote_exec(const struct opt_command *self, int argc, char **argv);

/* Replaces this program by reckon-client. `key` points to --key's value in argv, or is NULL. */
int remote_hand_over(int argc, char **argv, const char *key);

/* Ids and rows of options that several of these commands have. */
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
#define REMOTE_OPTION_JSON                                                                         \
	{                                                                                          \
		REMOTE_OPT_JSON, "json", NULL, "print the daemon's answer as JSON", OPT_HINT_NONE, \
			NULL, false                                                                \
	}

/* Options that these commands share. */
struct remote {
	struct client_options where;
	bool json;
	bool no_wait;
	const char *session; /* -s, or NULL */
	const char *name; /* the operand, or NULL */
};

/* Takes an option of REMOTE_OPTIONS, --json, -s or the first operand. False: it is another one. */
bool remote_take(struct remote *remote, int id, const char *value);

/* An opt_fn for commands with only these options; `arg` is a struct remote. */
int remote_take_all(int id, const char *value, void *arg, struct err *err);

/* Sets the error "unexpected argument". */
int remote_unexpected(const char *value, struct err *err);

/* Parses with `fn`. -1: continue. Else the exit status: help or an error was printed. */
int remote_parse(const struct opt_command *self, int argc, char **argv, opt_fn *fn, void *arg);

/* Opens the client; warns if a key would be sent unencrypted. */
int remote_open(const struct remote *remote, struct client **ret, struct err *err);



/* A session's status for a person: the API's word, or "paused", "no kernel", "busy" if it lives. */
const char *remote_session_status(const struct json_value *session);

/* One line of JSON on stdout; returns the exit status. */
int remote_print_json(const struct json_value *value);

/* rows.c: a list of an answer as a table on stdout; returns the exit status. */
struct remote_column {
	const char *head, *key;
	enum {
		REMOTE_TEXT,
		REMOTE_NUMBER,
		REMOTE_SIZE,  /* size of a file, in bytes */
		REMOTE_LIMIT, /* limit in bytes, printed in the form that options take */
		REMOTE_AGE,   /* time since an RFC 3339 time */
	} kind;
};
int remote_print_rows(const struct json_value *rows, const struct remote_column *columns,
		      size_t count);
/* Prints one object, one line for each member that it has. */
int remote_print_lines(const struct json_value *object, const struct remote_column *lines,
		       size_t count);
/* Prints one member of each row on a line, for shell completion and loops. */
int remote_print_words(const struct json_value *rows, const char *key);

#define REMOTE_AGE_SIZE 32
/* The time since an RFC 3339 time, as "2 min", "3 h" or "5 d"; "" if `moment` is not one. */
void remote_age(const char *moment, char ret[REMOTE_AGE_SIZE]);

/* "missing argument VOLUME" when there is no name; the noun is the first word of the command. */
int remote_need(const struct opt_command *self, const char *name, struct err *err);

/*
 * Implements a command that removes what its operands name. `check` (may be NULL) checks all names
 * before anything is removed.
 */
int remote_remove(const struct opt_command *self, int argc, char **argv,
		  int (*check)(const char *name, struct err *err),
		  int (*rm)(struct client *client, const char *name, struct err *err));

/*
 * Parses the JSON of a daemon's event (json_read_free() frees it); fills in text and stream of a
 * "stream" event. ERR_PROTOCOL: the event is not JSON.
 */
int remote_read_event(const struct client *client, reckon_event *event,
		      struct json_value **ret_document, struct err *err);

/*
 * Looks up a session by id, or a live one by name. *ret is its JSON; json_read_free() frees it.
 * ERR_NOT_FOUND: it never existed; ERR_LOST: it ended, and *err says how.
 */
int remote_session(struct client *client, const char *name, struct json_value **ret,
		   struct err *err);

/* The same, but also finds sessions that ended: the newest of that name. */
int remote_session_any(struct client *client, const char *name, struct json_value **ret,
		       struct err *err);

/* The session of -s; without -s the only live one. ERR_INVALID: there are several. */
int remote_chosen(struct client *client, const struct remote *remote, bool live,
		  struct json_value **ret, struct err *err);

/*
 * Writes the body of POST sessions: template, language, environment, limits and volumes of `run`,
 * and the members of `body`. storage_begin() creates the session.
 */
struct run;
struct remote_body {
	const char *name;     /* or NULL */
	const char *snapshot; /* its id, or NULL */
	uint64_t idle_ms;     /* 0: the daemon's default */
	bool with_wall;	      /* include the time limit of a cell */
};
int remote_session_body(const struct run *run, const struct remote_body *body, struct buf *ret,
			struct err *err);

/* Appends "sessions/ID" and then `rest`. */
int remote_path(struct buf *path, const struct json_value *session, const char *rest,
		struct err *err);

/*
 * tar.c: sends a folder as one archive, with links, modes and empty folders. `where` is the path of
 * the request. 1: the server does not support such archives; nothing was done.
 */
int remote_tar_put(struct client *client, const char *where, const char *root, struct err *err);
/* Extracts the archive below dir_fd/base ("": dir_fd itself). */
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
/* Appends the id of the tenant with this id or name. */
int remote_tenant_id(struct client *client, const char *name, struct buf *ret, struct err *err);
int remote_tenant_forget(const struct opt_command *self, int argc, char **argv);
int remote_admin_ls(const struct opt_command *self, int argc, char **argv);
int remote_tenant_one(const struct opt_command *self, int argc, char **argv);
int remote_usage(const struct opt_command *self, int argc, char **argv);
int remote_session_restore(const struct opt_command *self, int argc, char **argv);
int remote_session_tell(const struct opt_command *self, int argc, char **argv);
