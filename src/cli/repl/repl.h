/*
 * repl.h - the parts of `reckon repl`: one session, and a person at a terminal.
 *
 *   main.c     the command line -> struct repl, the loop, leaving
 *   session.c  sessions come, and run cells; restart
 *   lost.c     sessions are lost
 *   show.c     events and records as a person reads them: text, tables, pictures
 *   cells.c    what ran, for %save and figures
 *   command.c  %commands
 *   files.c    %put, %get, %files, and files that survive their session
 *   save.c     %save: notebook; script.c: script
 *   look.c     is it a whole cell, what could stand here
 *   read.c     cells from a pipe or a dumb terminal
 *   lines.c    their lines, and answers to input()
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
#define REPL_ANSWER_MAX ((size_t)128 * 1024 * 1024) /* of a question about the session */
#define REPL_WALL_MS (UINT64_C(7) * 24 * 3600 * 1000) /* the longest that --timeout takes */

struct repl_cell {
	char *source; /* or, without a record, prose between cells */
	bool is_prose;
	char *record; /* JSON; NULL when there was no room for it */
	size_t number;
};

/* A file of the workspace, and where it can be had when the session is gone. */
struct repl_file {
	char *name;
	char *artifact; /* or NULL */
	char *host;	/* or NULL */
};

struct repl {
	struct run run;
	struct run_output output;
	struct session *session;
	bool lost;		 /* it ended; asked for nothing any more */
	bool leaving;
	bool interactive, dumb, coloured;
	bool no_history;
	bool said_files;
	bool for_model; /* its cells are a model's: nobody can type %get */
	enum term_image_mode images;
	uint64_t wall_ms;
	size_t number; /* of the cell that comes next */
	size_t figures; /* in the cell that runs */
	int status;	/* of the first failure */
	struct repl_cell *cells;
	size_t cell_count, cell_bytes;
	struct repl_file *files;
	size_t file_count;
	struct history *history;
	struct editor *editor;
	struct repl_reader *reader;
	struct buf preload; /* stands on the next line to begin with */
};

/* ---- main.c ---- */

int cmd_repl(const struct opt_command *self, int argc, char **argv);
/* The same; `daemon` opens a session of -s, NULL where that is another program's. */
int repl_command_run(const struct opt_command *self, int argc, char **argv,
		     session_open_fn *daemon);

/* ---- session.c ---- */

/* Opens one and puts in the files of the command line. Returns an exit status. */
int repl_session_open(struct repl *repl, session_open_fn *open);
void repl_session_close(struct repl *repl);
void repl_run(struct repl *repl, const char *source, size_t len);
void repl_restart(struct repl *repl);

/* ---- lost.c ---- */

void repl_say_lost(void);
/* True, and said so, when there is no session to ask. */
bool repl_is_lost(struct repl *repl);
/* After something failed: says why; notes when it means that the session is gone. */
void repl_failed(struct repl *repl, const char *what, struct err *err);
void repl_note_lost(struct repl *repl, const struct err *err);
/* The session's answer; *ret is for json_read_free(). */
int repl_look(struct repl *repl, const struct session_look *look, struct json_value **ret,
	      struct err *err);

/* ---- show.c ---- */

int repl_show_event(const reckon_event *event, void *arg);
void repl_show_record(struct repl *repl, const struct json_value *record);
/* Printed on stdout as it is: what is ours, or was escaped. */
void repl_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Text of a box, escaped, in one piece. */
void repl_print_text(const char *text, size_t len);
size_t repl_width(void);

struct image_found {
	const char *mime, *suffix, *label, *text;
	size_t len;
	bool is_text;
};
/* Appends what draws the picture here. */
int repl_draw_png(const struct repl *repl, const struct buf *png, struct buf *ret, struct err *err);
/* The best image of a bundle; false when there is none. */
bool repl_find_image(const struct json_value *data, struct image_found *ret);

/* ---- cells.c ---- */

void repl_cells_add(struct repl *repl, const char *source, size_t len, const char *record);
/* Text between cells: what a model said. */
void repl_cells_prose(struct repl *repl, const char *text);
void repl_cells_done(struct repl *repl);
/* A cell's record, parsed; NULL when there is none. */
struct json_value *repl_cell_record(const struct repl_cell *cell);
/* The last record, parsed; NULL when there is none. */
struct json_value *repl_cells_last(const struct repl *repl);
/* The figure that was called `name` ("figure-3-1.png"), appended as bytes; false: no such. */
bool repl_cells_figure(const struct repl *repl, const char *name, struct buf *ret);

/* ---- command.c ---- */

/* True when `text` was a command of ours and has been obeyed. */
bool repl_command(struct repl *repl, const char *text, size_t len);
/* The index-th name, without '%'; NULL past the end. */
const char *repl_command_name(size_t index);
/* Whether `text` is one line that names a command of ours. */
bool repl_command_is(const char *text, size_t len);

/* ---- files.c ---- */

void repl_files_note(struct repl *repl, const struct json_value *record);
void repl_files_put(struct repl *repl, char **words, size_t count);
void repl_files_get(struct repl *repl, char **words, size_t count);
void repl_files_list(struct repl *repl);
/* Into a new session, from wherever a copy is: the old one is gone. */
void repl_files_bring_back(struct repl *repl);
void repl_files_done(struct repl *repl);
int repl_files_read(const char *path, struct buf *ret, struct err *err);
/* A new file; an old one is replaced only with `force`. The last part is not a link that is followed. */
int repl_files_write(const char *path, bool force, const void *bytes, size_t len, struct err *err);

/* ---- save.c ---- */

void repl_save(struct repl *repl, char **words, size_t count);
int repl_save_notebook(const struct repl *repl, struct buf *ret, struct err *err);

/* ---- script.c ---- */

int repl_save_script(const struct repl *repl, struct buf *ret, struct err *err);
/* A cell's source with paths below the workspace as they are in the current directory. */
int repl_script_source(const struct language *language, const char *source, struct buf *ret,
		       struct err *err);

/* ---- look.c ---- */

enum repl_whole { REPL_WHOLE, REPL_PART, REPL_UNKNOWN };
enum repl_whole repl_look_whole(struct repl *repl, const char *text, size_t len,
				struct buf *ret_indent);
extern const struct editor_hooks repl_look_hooks; /* arg is to be set */

/* ---- read.c ---- */

/* One cell, as editor.h has it. */
enum editor_end repl_read(struct repl *repl, struct buf *ret);

/* ---- lines.c ---- */

/* A reckon_input_fn: asks the person at the terminal. `arg` is the struct repl. */
int repl_read_answer(const char *prompt, size_t prompt_len, int password, char **ret_line,
		     size_t *ret_len, void *arg);
