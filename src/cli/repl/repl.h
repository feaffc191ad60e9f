/*
 * repl.h - the parts of `reckon repl`: an interactive session at a terminal.
 *
 *   main.c     the command line -> struct repl, the loop, leaving
 *   session.c  opens sessions, runs cells, restarts
 *   lost.c     handles lost sessions
 *   show.c     prints events and records for a person: text, tables, images
 *   cells.c    keeps the cells that ran, for %save and figures
 *   command.c  %commands
 *   files.c    %put, %get, %files, and copying files into a new session
 *   save.c     %save as a notebook; script.c: as a script
 *   look.c     whether a cell is complete; completion
 *   read.c     cells from a pipe or a dumb terminal
 *   lines.c    lines of stdin, and answers to input()
 *   editor.c   cells from a terminal (edit.c, history.c)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/repl/editor.h"
#include "cli/repl/history.h"
#include "cli/repl/lines.h"
#include "cli/run/run.h"
#include "cli/session/session.h"
#include "cli/term/image.h"
#include "codec/json_read.h"
#include "reckon.h"

#define REPL_CELLS_BYTES_MAX ((size_t)128 * 1024 * 1024)
/* limit of one answer about the session's state */
#define REPL_ANSWER_MAX ((size_t)128 * 1024 * 1024)
#define REPL_WALL_MS (UINT64_C(7) * 24 * 3600 * 1000) /* the maximum of --timeout */

struct repl_cell {
	char *source; /* or, without a record, text between cells */
	bool is_prose;
	char *record; /* JSON; NULL if it was dropped to save memory */
	size_t number;
};

/* A file of the workspace, and where to copy it from when the session is lost. */
struct repl_file {
	char *name;
	char *artifact; /* or NULL */
	char *host;	/* or NULL */
};

struct repl {
	struct run run;
	struct run_output output;
	struct session *session;
	bool lost;		 /* the session is lost; send no requests to it */
	bool leaving;
	bool interactive, dumb, coloured;
	bool no_history;
	bool is_hint_shown;
	bool for_model; /* the cells come from a model, so nobody can type %get */
	enum term_image_mode images;
	uint64_t wall_ms;
	size_t number; /* number of the next cell */
	size_t figures; /* number of figures in the running cell */
	int status;	/* the first failure's exit status */
	struct repl_cell *cells;
	size_t cell_count, cell_bytes;
	struct repl_file *files;
	size_t file_count;
	struct history *history;
	struct editor *editor;
	struct repl_reader *reader;
	struct buf preload; /* initial text of the next line */
};

/* ---- main.c ---- */

int cmd_repl(const struct opt_command *self, int argc, char **argv);
/* The same. `daemon` opens a session for -s; NULL: reckon-client has to do it. */
int repl_command_run(const struct opt_command *self, int argc, char **argv,
		     session_open_fn *daemon);

/* ---- session.c ---- */

/* Opens a session and puts the files of the command line into it. Returns an exit status. */
int repl_session_open(struct repl *repl, session_open_fn *open);
void repl_session_close(struct repl *repl);
void repl_run(struct repl *repl, const char *source, size_t len);
void repl_restart(struct repl *repl);

/* ---- lost.c ---- */

void repl_say_lost(void);
/* If the session is lost, says so and returns true. */
bool repl_is_lost(struct repl *repl);
/* Reports a failed request; notes it if the error means that the session is lost. */
void repl_failed(struct repl *repl, const char *what, struct err *err);
void repl_note_lost(struct repl *repl, const struct err *err);
/* Sends a request about the session's state; free *ret with json_read_free(). */
int repl_look(struct repl *repl, const struct session_look *look, struct json_value **ret,
	      struct err *err);

/* ---- show.c ---- */

int repl_show_event(const reckon_event *event, void *arg);
void repl_show_record(struct repl *repl, const struct json_value *record);
/* Prints to stdout unchanged: only for our own text, or escaped text. */
void repl_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints text of a box, escaped. */
void repl_print_text(const char *text, size_t len);
size_t repl_width(void);

struct image_found {
	const char *mime, *suffix, *label, *text;
	size_t len;
	bool is_text;
};
/* Appends the bytes that draw the image on this terminal. */
int repl_draw_png(const struct repl *repl, const struct buf *png, struct buf *ret, struct err *err);
/* Finds the best image of a bundle; false: it has none. */
bool repl_find_image(const struct json_value *data, struct image_found *ret);

/* ---- cells.c ---- */

void repl_cells_add(struct repl *repl, const char *source, size_t len, const char *record);
/* Adds text between cells, which a model wrote. */
void repl_cells_prose(struct repl *repl, const char *text);
void repl_cells_done(struct repl *repl);
/* Parses a cell's record; NULL: it has none. */
struct json_value *repl_cell_record(const struct repl_cell *cell);
/* Parses the last record; NULL: there is none. */
struct json_value *repl_cells_last(const struct repl *repl);
/* Appends the bytes of the figure called `name`, such as "figure-3-1.png"; false: not found. */
bool repl_cells_figure(const struct repl *repl, const char *name, struct buf *ret);

/* ---- command.c ---- */

/* Runs `text` if it is one of our commands, and returns true; else false. */
bool repl_command(struct repl *repl, const char *text, size_t len);
/* The index-th command's name without '%'; NULL past the end. */
const char *repl_command_name(size_t index);
/* Whether `text` is one line that names one of our commands. */
bool repl_command_is(const char *text, size_t len);

/* ---- files.c ---- */

void repl_files_note(struct repl *repl, const struct json_value *record);
void repl_files_put(struct repl *repl, char **words, size_t count);
void repl_files_get(struct repl *repl, char **words, size_t count);
void repl_files_list(struct repl *repl);
/* Copies files into a new session from other copies, because the old session is lost. */
void repl_files_bring_back(struct repl *repl);
void repl_files_done(struct repl *repl);
int repl_files_read(const char *path, struct buf *ret, struct err *err);
/*
 * Writes a file; replaces an existing one only with `force`. Does not follow a link in the last
 * component.
 */
int repl_files_write(const char *path, bool force, const void *bytes, size_t len, struct err *err);

/* ---- save.c ---- */

void repl_save(struct repl *repl, char **words, size_t count);
int repl_save_notebook(const struct repl *repl, struct buf *ret, struct err *err);

/* ---- script.c ---- */

int repl_save_script(const struct repl *repl, struct buf *ret, struct err *err);
/* Appends a cell's source, with paths in the workspace made relative to the current directory. */
int repl_script_source(const struct language *language, const char *source, struct buf *ret,
		       struct err *err);

/* ---- look.c ---- */

enum repl_whole { REPL_WHOLE, REPL_PART, REPL_UNKNOWN };
enum repl_whole repl_look_whole(struct repl *repl, const char *text, size_t len,
				struct buf *ret_indent);
extern const struct editor_hooks repl_look_hooks; /* the caller sets `arg` of a copy */

/* ---- read.c ---- */

/* Reads one cell; returns what editor_read() returns. */
enum editor_end repl_read(struct repl *repl, struct buf *ret);

/* ---- lines.c ---- */

/* A reckon_input_fn that asks the person at the terminal. `arg` is the struct repl. */
int repl_read_answer(const char *prompt, size_t prompt_len, int password, char **ret_line,
		     size_t *ret_len, void *arg);
