/*
 * run.h - the parts of `reckon run`: what was asked, what goes in, what comes out. `reckon repl`
 * has its limits, files and reports from here too.
 *
 *   main.c     session, cells in order, Ctrl-C
 *   options.c the command line -> struct run
 *   entry.c   a folder as a program
 *   cells.c   what was asked for, empty and filled; what can be a cell
 *   input.c   sources and files: everything that can be wrong is found before a session exists
 *   ask.c     a person who answers input()
 *   approve.c a person who decides about calls of tools
 *   tools.c   programs that the code may call
 *   output.c  events as they come, lines of ours
 *   record.c  records in the mode that was asked for
 *   report.c  how a cell ended and what it cost, for a person
 *   save.c    figures and files of a record
 *   files.c   a file into OUTDIR, whole or not at all
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
#define RUN_VOLUMES_MAX 4 /* as many as a daemon gives a session */
#define RUN_ENV_MAX 1000
#define RUN_ARGUMENTS_MAX 10000
#define RUN_NOTEBOOK_MAX ((size_t)256 * 1024 * 1024) /* with its outputs */

struct run_cell {
	const char *origin; /* "-c", a path, or "-" for stdin; from argv */
	const char *inline_text; /* of -c, else NULL */
	struct buf source;
};

struct run_file {
	char *path; /* on this side */
	char *name; /* in the workspace */
	int fd;
};

/* Of a daemon's, for a session that is made. */
struct run_volume {
	char *name; /* or its id */
	char *path; /* or NULL: below its name */
	bool read_only;
};

enum run_mode { RUN_MODE_TEXT, RUN_MODE_JSON, RUN_MODE_EVENTS };

/* What the command line asks for; run_init() first, run_done() in the end. */
struct run {
	struct run_cell *cells;
	size_t cell_count;
	struct run_file *files;
	size_t file_count;
	reckon_mount mounts[RUN_MOUNTS_MAX];
	size_t mount_count;
	struct run_volume volumes[RUN_VOLUMES_MAX];
	size_t volume_count;
	const char *snapshot; /* that a session begins with: its id or name, or NULL */
	const char **env; /* NULL-terminated */
	size_t env_count;
	const char **arguments; /* of the program, behind "--" */
	size_t argument_count;
	bool has_arguments, ends_options; /* "--" was there: behind a cell, before any */
	struct buf prologue; /* code that gives them to it; empty: none */
	const char *language;
	bool language_given; /* by -l */
	const char *template_name;
	const char *out_path;
	const char *entry;   /* a file of the folder that is the first operand; NULL: cells */
	const char *workdir; /* of it, or NULL */
	const char *stdin_path;
	int stdin_fd;
	const char *tools_path;
	struct run_tools *tools; /* tools.h; or NULL */
	reckon_limits limits;
	const char *session; /* -s: the name of one at a daemon, or NULL */
	const char *url, *key; /* of that daemon; remote/remote.h */
	bool no_wait;	       /* likewise */
	const char *on_disconnect; /* "continue", "cancel"; NULL: not said */
	uint64_t text_bytes; /* of the record's text; 0: as libreckon has it */
	enum run_mode mode;
	unsigned session_flags; /* RECKON_SESSION_… */
	bool json, events; /* both is an error, found after parsing */
	bool receipt, strict, private_warden, keep_going;
	bool approve; /* calls of tools */
};

/* ---- options.c ---- */

#define RUN_ITEM_COUNT 36 /* of its table of options */
extern const struct opt_item run_items[];

/* The opt_fn for struct run. */
int run_options_take(int id, const char *value, void *arg, struct err *err);

/* What no option alone can tell: that they go together, and that there is something to run. */
int run_options_check(struct run *run, struct err *err);

/* That with -s there are only options that a daemon's session can have, without it none of its. */
int run_options_check_session(const struct run *run, struct err *err);

/* ---- main.c ---- */

int cmd_run(const struct opt_command *self, int argc, char **argv);
/* The same; `daemon` opens a session of -s, NULL where that is another program's. */
int run_command(const struct opt_command *self, int argc, char **argv, session_open_fn *daemon);

/* The row of `language`, or of the default; never NULL once options were taken. */
const struct language *run_language(const struct run *run);

/* ---- cells.c ---- */

void run_init(struct run *run);
void run_done(struct run *run);

/* One more cell, of which the source is still to come. */
struct run_cell *run_add_cell(struct run *run, const char *origin, const char *inline_text);

/* Whether `text` can be a cell: UTF-8, no NUL byte. */
int run_input_check_source(const char *text, size_t len, struct err *err);

/* ---- input.c ---- */

/* Reads every source, opens every file and directory; the first thing wrong is the error. */
int run_input_load(struct run *run, struct err *err);

/* ---- folder.c ---- */

/* Puts the files of each directory of -f in its place; symbolic links in it are left out. */
int run_folders_load(struct run *run, struct err *err);

/* ---- notebook.c ---- */

bool run_is_notebook(const char *path);
/* Adds its code cells, and takes its language when there is none yet. */
int run_notebook_add(struct run *run, const char *origin, const char *text, size_t len,
		     struct err *err);

/* ---- program.c ---- */

/* Makes the prologue, when there are arguments. */
int run_program_load(struct run *run, struct err *err);
/* Appends 'it'\''s'. */
/* Whether a cell's program ended itself: with which status, and its last words or NULL. */
bool run_program_exited(const struct run *run, const struct json_value *record, int *ret_status,
			const char **ret_message);
/* The exit status of `record`, whose status alone means `status`. */
int run_program_status(const struct run *run, const struct json_value *record, int status);

/* ---- ask.c ---- */
struct run_output;
/* Whether there is a person to ask for input. */
bool run_can_ask(const struct run *run);
struct run_question {
	const char *prompt;
	size_t len;
	bool password;
};
/* 1: a line, without its end; 0: the end of input; -1: there were interrupts. */
int run_ask(struct run_output *output, const struct run_question *question, struct buf *ret);

/* ---- files.c ---- */

/* Whether files could be written there, without making anything. */
int run_files_check_dir(const char *path, struct err *err);

/* Makes the directory when it is missing; *ret_fd belongs to the caller. */
int run_files_open_dir(const char *path, int *ret_fd, struct err *err);

/*
 * A file that appears under its name only when it is whole: create, write to *ret_fd, commit.
 * Nothing outside dir_fd is touched and no link followed, whatever `path` says.
 */
#define RUN_FILES_TEMP_SIZE 4608
int run_files_create(int dir_fd, const char *path, char temp[RUN_FILES_TEMP_SIZE], int *ret_fd,
		     struct err *err);
int run_files_commit(int dir_fd, const char *temp, const char *path, struct err *err);
void run_files_abandon(int dir_fd, const char *temp);

/* ---- output.c ---- */

#define RUN_JSON_MAX ((size_t)512 * 1024 * 1024) /* of one event or record */

/* Where what a run prints goes. */
struct run_output {
	const struct run *run;
	struct session *session; /* which has the files */
	int out_dir;	 /* descriptor, or -1 */
	size_t cell;	 /* counts from 1 */
	bool explained;	 /* how to get at files was said once */
	bool unsaved;	 /* a file could not be saved, which was said */
	const char *wall_option; /* what moves the time limit */
	struct term_filter out, err;
	bool is_program; /* code that ends itself has not failed */
	bool is_last; /* whatever becomes of this cell, it ends the session if it fails */
	bool shows_figures; /* or saves them, without an OUTDIR */
	enum term_image_mode images; /* how stdout can show them */
	int status; /* 0, or the exit status that a failure to write means */
};

void run_output_init(struct run_output *output, const struct run *run);

/* Figures that nobody saves are drawn on the terminal; else they go to RUN_FIGURES. */
void run_output_show_figures(struct run_output *output);

/* A reckon_event_fn; `arg` is the struct run_output. */
int run_output_event(const reckon_event *event, void *arg);

/* JSON as it is, to stdout. */
void run_output_raw_line(struct run_output *output, const char *text, size_t len);

/* Text of the box to STDOUT_FILENO or STDERR_FILENO, as the terminal may see it. */
void run_output_text(struct run_output *output, int fd, const char *text, size_t len);

/* Whole lines of ours to stdout as they are: escaped where that was needed. */
void run_output_drawn(struct run_output *output, const struct buf *lines);

/* What comes next begins a line. */
void run_output_end_line(struct run_output *output, int fd);

/* Before lines of ours: both streams are at the start of a line where a person sees them. */
void run_output_settle(struct run_output *output);

/* Text of the box to stderr, as the terminal may see it, and the end of its last line. */
void run_output_stderr(struct run_output *output, const char *text, size_t len);

/* One line of ours on stderr, control characters escaped. */
void run_output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- record.c ---- */

/* After a cell: the rest of it in the mode that was asked for, files saved. */
void run_output_record(struct run_output *output, const char *json, size_t len);

/* ---- report.c ---- */

/* Traceback of failed code, one line on any other end that is not good. */
void run_report_status(struct run_output *output, const struct json_value *record);

/* What the cell cost. */
void run_report_receipt(const struct run_output *output, const struct json_value *record);

/* ---- save.c ---- */

/* Where figures go without -o, unless the terminal shows them. */
#define RUN_FIGURES "reckon-figures"


/* Figures and files: saved when there is an OUTDIR; in text mode a line for each. */
void run_save_all(struct run_output *output, const struct json_value *record);
