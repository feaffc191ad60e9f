/*
 * run.h - the parts of `reckon run`: options, input and output. `reckon repl` uses its limits,
 * files and reports, too.
 *
 *   main.c    session, cells in order, Ctrl-C
 *   options.c the command line -> struct run
 *   entry.c   a folder as a program
 *   cells.c   initializes and frees struct run; checks whether a text can be a cell
 *   input.c   sources and files: all errors are found before a session exists
 *   ask.c     asks the person when code calls input()
 *   approve.c asks the person to approve tool calls
 *   tools.c   programs that the code may call
 *   output.c  events as they arrive, messages of Reckon
 *   record.c  records in the chosen mode
 *   report.c  how a cell ended and what it used, for a person
 *   save.c    figures and files of a record
 *   files.c   a file into OUTDIR, complete or not at all
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/options/opt.h"
#include "cli/session/session.h"
#include "cli/term/image.h"
#include "cli/term/term.h"
#include "codec/json_read.h"
#include "languages/languages.h"
#include "reckon.h"

#define RUN_SOURCE_MAX ((size_t)4 * 1024 * 1024)
#define RUN_CELLS_MAX 1000
#define RUN_FILES_MAX 1000
#define RUN_MOUNTS_MAX 8
#define RUN_VOLUMES_MAX 4 /* a daemon's limit for one session */
#define RUN_ENV_MAX 1000
#define RUN_ARGUMENTS_MAX 10000
#define RUN_NOTEBOOK_MAX ((size_t)256 * 1024 * 1024) /* including its outputs */

struct run_cell {
	const char *origin; /* "-c", a path, or "-" for stdin; belongs to argv */
	const char *inline_text; /* of -c, else NULL */
	struct buf source;
};

struct run_file {
	char *path; /* on the user's side */
	char *name; /* in the workspace */
	int fd;
};

/* A volume of a daemon, for a session that is created. */
struct run_volume {
	char *name; /* or its id */
	char *path; /* or NULL: /mnt/NAME */
	bool read_only;
};

enum run_mode { RUN_MODE_TEXT, RUN_MODE_JSON, RUN_MODE_EVENTS };

/* The parsed command line; call run_init() first and run_done() last. */
struct run {
	struct run_cell *cells;
	size_t cell_count;
	struct run_file *files;
	size_t file_count;
	reckon_mount mounts[RUN_MOUNTS_MAX];
	size_t mount_count;
	struct run_volume volumes[RUN_VOLUMES_MAX];
	size_t volume_count;
	/* the id or name of the snapshot that a session begins with, or NULL */
	const char *snapshot;
	const char **env; /* NULL-terminated */
	size_t env_count;
	const char **arguments; /* the program's, after "--" */
	size_t argument_count;
	bool has_arguments, ends_options; /* "--" was given after a cell, or before any */
	struct buf prologue; /* code that sets the program's arguments; empty: none */
	const char *language;
	bool language_given; /* by -l */
	const char *template_name;
	const char *out_path;
	const char *entry;   /* a file in the folder that is the first operand; NULL: run cells */
	const char *workdir; /* the program's, or NULL */
	const char *stdin_path;
	int stdin_fd;
	const char *tools_path;
	struct run_tools *tools; /* tools.h; or NULL */
	reckon_limits limits;
	const char *session; /* the argument of -s: a session's name at a daemon, or NULL */
	const char *url, *key; /* of that daemon; remote/remote.h */
	bool no_wait;	       /* see remote/remote.h, too */
	const char *on_disconnect; /* "continue", "cancel" or NULL: not given */
	uint64_t text_bytes; /* limit of the record's text; 0: libreckon's default */
	enum run_mode mode;
	unsigned session_flags; /* RECKON_SESSION_… */
	bool json, events; /* both is an error, which is found after parsing */
	bool receipt, strict, private_warden, keep_going;
	bool approve; /* a person approves each tool call */
};

/* ---- options.c ---- */

#define RUN_ITEM_COUNT 36 /* rows in run_items */
extern const struct opt_item run_items[];

/* The opt_fn for struct run. */
int run_options_take(int id, const char *value, void *arg, struct err *err);

/* Checks combinations of options, and that there is something to run. */
int run_options_check(struct run *run, struct err *err);

/*
 * Checks that -s is used only with options for a daemon's session, and that options for those are
 * not used without -s.
 */
int run_options_check_session(const struct run *run, struct err *err);

/* ---- main.c ---- */

int cmd_run(const struct opt_command *self, int argc, char **argv);
/* The same. `daemon` opens a session for -s; NULL: reckon-client has to do it. */
int run_command(const struct opt_command *self, int argc, char **argv, session_open_fn *daemon);

/* The row of the chosen or default language; never NULL once options are parsed. */
const struct language *run_language(const struct run *run);

/* ---- cells.c ---- */

void run_init(struct run *run);
void run_done(struct run *run);

/* Adds a cell without its source, which input.c loads. */
struct run_cell *run_add_cell(struct run *run, const char *origin, const char *inline_text);

/* Checks that `text` can be a cell: UTF-8 without NUL bytes. */
int run_input_check_source(const char *text, size_t len, struct err *err);

/* ---- input.c ---- */

/* Reads every source, opens every file and directory; returns the first error. */
int run_input_load(struct run *run, struct err *err);

/* ---- folder.c ---- */

/* Adds the files of each directory given with -f; leaves out symbolic links. */
int run_folders_load(struct run *run, struct err *err);

/* ---- notebook.c ---- */

bool run_is_notebook(const char *path);
/* Adds its code cells, and sets its language if none is chosen yet. */
int run_notebook_add(struct run *run, const char *origin, const char *text, size_t len,
		     struct err *err);

/* ---- program.c ---- */

/* Makes the prologue if there are arguments. */
int run_program_load(struct run *run, struct err *err);
/*
 * Whether the cell's program exited by itself; if so, its exit status, and its last message or
 * NULL.
 */
bool run_program_exited(const struct run *run, const struct json_value *record, int *ret_status,
			const char **ret_message);
/* The exit status for `record`; `status` is what the record's status alone means. */
int run_program_status(const struct run *run, const struct json_value *record, int status);

/* ---- ask.c ---- */
struct run_output;
/* Whether a person can be asked for input. */
bool run_can_ask(const struct run *run);
struct run_question {
	const char *prompt;
	size_t len;
	bool password;
};
/* 1: a line, without its newline; 0: end of input; -1: interrupted. */
int run_ask(struct run_output *output, const struct run_question *question, struct buf *ret);

/* ---- files.c ---- */

/* Whether files could be written there; creates nothing. */
int run_files_check_dir(const char *path, struct err *err);

/* Creates the directory if it is missing; the caller closes *ret_fd. */
int run_files_open_dir(const char *path, int *ret_fd, struct err *err);

/*
 * Creates a file that appears under its name only when it is complete: create, write to *ret_fd,
 * commit. Touches nothing outside dir_fd and follows no link, whatever `path` is.
 */
#define RUN_FILES_TEMP_SIZE 4608
int run_files_create(int dir_fd, const char *path, char temp[RUN_FILES_TEMP_SIZE], int *ret_fd,
		     struct err *err);
int run_files_commit(int dir_fd, const char *temp, const char *path, struct err *err);
void run_files_abandon(int dir_fd, const char *temp);

/* ---- output.c ---- */

#define RUN_JSON_MAX ((size_t)512 * 1024 * 1024) /* limit of one event or record */

/* The destination of a run's output, and its state. */
struct run_output {
	const struct run *run;
	struct session *session; /* the session that has the files */
	int out_dir;	 /* descriptor, or -1 */
	size_t cell;	 /* counted from 1 */
	bool explained;	 /* the message about how to get files was printed */
	bool unsaved;	 /* a file could not be saved, and an error was printed */
	const char *wall_option; /* the option that sets the time limit */
	struct term_filter out, err;
	bool is_program; /* code that ends itself has not failed */
	bool is_last; /* whatever becomes of this cell, it ends the session if it fails */
	bool shows_figures; /* or saves them, without an OUTDIR */
	enum term_image_mode images; /* how stdout can show them */
	int status; /* 0, or the exit status that a failure to write means */
};

void run_output_init(struct run_output *output, const struct run *run);

/*
 * Figures without an OUTDIR are drawn on the terminal if it can show them, else saved in
 * RUN_FIGURES.
 */
void run_output_show_figures(struct run_output *output);

/* A reckon_event_fn; `arg` is the struct run_output. */
int run_output_event(const reckon_event *event, void *arg);

/* Writes JSON to stdout unchanged. */
void run_output_raw_line(struct run_output *output, const char *text, size_t len);

/* Writes text of the box to STDOUT_FILENO or STDERR_FILENO, escaped if that is a terminal. */
void run_output_text(struct run_output *output, int fd, const char *text, size_t len);

/* Writes whole lines to stdout unchanged; the caller has escaped them. */
void run_output_drawn(struct run_output *output, const struct buf *lines);

/* Ends the current line, if it has text, so that the next output begins a line. */
void run_output_end_line(struct run_output *output, int fd);

/* Call before messages: ends the current lines of both streams that a person sees. */
void run_output_settle(struct run_output *output);

/* Writes text of the box to stderr, escaped for a terminal, and ends its last line. */
void run_output_stderr(struct run_output *output, const char *text, size_t len);

/* Prints one message line to stderr, with control characters escaped. */
void run_output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- record.c ---- */

/* Call after a cell: prints the rest of the record in the chosen mode and saves files. */
void run_output_record(struct run_output *output, const char *json, size_t len);

/* ---- report.c ---- */

/* Prints the traceback of failed code, or one line for any other failure. */
void run_report_status(struct run_output *output, const struct json_value *record);

/* Prints what the cell used. */
void run_report_receipt(const struct run_output *output, const struct json_value *record);

/* ---- save.c ---- */

/* The directory for figures without -o, unless the terminal shows them. */
#define RUN_FIGURES "reckon-figures"


/* Saves figures and files if there is an OUTDIR; in text mode, prints a line for each. */
void run_save_all(struct run_output *output, const struct json_value *record);
