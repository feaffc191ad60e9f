/*
 * ask.h - `reckon ask` and `reckon chat`: a model answers questions by running code in a session.
 *
 *   command.c   the command tables; opens and ends session and agent
 *   options.c   parses the command line into struct ask
 *   settings.c  instructions and sampling settings for the model
 *   model.c     finds the model from options, environment and models.ini
 *   local.c     the server of a local model
 *   session.c   runs cells in a local session
 *   remote.c    runs cells in a daemon's session (reckon-client only)
 *   agent.c     starts the agent driver (src/driver) and passes it questions
 *   converse.c  runs one question and reports how it ended
 *   step.c      one cell: stores, shows, approves and runs it
 *   approve.c   asks a person whether a cell may run
 *   images.c    files that the model sees as images
 *   verify.c    reports claims of the answer that nothing supports
 *   end.c       ends or keeps the session after the question
 *   chat/       several questions in a row, and lines that begin with "/"
 *   show/       output: text, pictures, links, reasoning, the status line
 *   runs/       stores a run (keep.c, store.c), resumes it (resume.c, past.c), lists runs (runs.c)
 *
 * The agent counts as hostile: its texts are escaped before they are shown, and its code runs in
 * the box only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/markdown/markdown.h"
#include "cli/repl/repl.h"
#include "cli/journal/form.h"
#include "driver/driver.h"
#include "models/models.h"
#include "reckon.h"

#define ASK_STEPS_MAX 1000u
#define ASK_QUESTION_MAX ((size_t)1024 * 1024)

enum ask_approve { ASK_APPROVE_NEVER, ASK_APPROVE_WRITES, ASK_APPROVE_ALWAYS };

/* The record of the run: in memory, and on disk if runs are stored. */
struct ask_keep {
	struct journal journal;
	int fd;	     /* the stored run's file; -1: the run is not stored */
	bool off;    /* --no-keep */
	bool gave_up; /* storing failed, and a message said so */
};

struct ask;

/* The kind of session that cells run in: a local one, or a daemon's. */
struct ask_place {
	/* Opens or joins view.session and puts files in. Prints errors; returns an exit status. */
	int (*open)(struct ask *ask);
	/* Or NULL. Waits for an earlier execution. 1: *ret is its record; 0: it has none. */
	int (*recall)(struct ask *ask, const char *execution, struct buf *ret, struct err *err);
	/* Ends the session in its daemon. NULL: the session ends with this program. */
	int (*end)(struct ask *ask, struct err *err);
};

/* The stored run that this command resumes. */
struct ask_resume {
	bool wanted, rerun;
	bool is_open; /* no new question: continue the last one, which has no answer */
	struct agent_usage before; /* usage of that question in earlier programs */
	const char *id;	  /* the ID of --resume; NULL: the newest run */
	size_t questions; /* the run's questions when the agent starts: its history */
	char *model, *base_url, *language, *template_name;
	char *session_id, *session_name, *session_url; /* the daemon's session, or NULL */
	size_t cells;	  /* cells of the stored run */
	bool is_history_sent; /* the agent has the history of the run */
};

#define ASK_THOUGHTS_MAX ((size_t)512 * 1024) /* reasoning that is kept of one question */

/* The status line. */
struct ask_status {
	uint64_t begun_ns, next_ns;
	bool is_possible, is_shown;
};

/* The model's reasoning for the last question. */
struct ask_thoughts {
	struct buf text;
	size_t begun_at; /* offset of the current or last passage */
	uint64_t begun_ns;
	bool is_open, is_cut;
};

struct ask {
	struct repl view; /* options, session and output of the command */
	struct buf question;
	const char *system_option; /* --system: a text or @FILE; or NULL */
	struct buf system;	   /* the user's instructions, those of instructions.md first */
	const char *temperature, *effort; /* NULL: not given */
	/* the model and its address */
	const char *model_option; /* PROVIDER/NAME, or NULL */
	const char *base_url_option;
	char *provider;
	char *model, *base_url, *key;
	char *headers; /* HTTP headers from models.ini, or NULL */
	bool has_own_url; /* base_url is not the provider's own service */
	struct agent_settings settings; /* MODELS_UNSET: not given; ask_model_find() sets it */
	struct agent_settings option_settings; /* the settings as given on the command line */
	const char *images[AGENT_IMAGES_MAX]; /* paths given with --image */
	size_t image_count;
	/* Replaces the agent by a new one, which gets the run so far as history. */
	int (*start_again)(struct ask *ask, struct err *err);
	char *model_named;		/* the name given to /model, or NULL */
	bool has_price;
	enum ask_approve approve;
	const char *save_path; /* or NULL */
	bool json, is_chat;
	struct agent_usage chat_usage; /* the sum for all questions of a chat */
	bool has_named_files;	       /* a question named the command line's files to the model */
	bool to_terminal;	/* stdout is one */
	/* the agent */
	struct driver driver; /* the current question and its result */
	/* a model on this host */
	bool is_local;
	pid_t local_pid;
	int local_in; /* the server ends when this descriptor is closed */
	const struct ask_place *place;
	bool is_fresh; /* the session was made for this run */
	bool is_quiet; /* --rerun is running cells: show and store nothing */
	size_t new_files; /* files of the command line; after them come those of the resumed run */
	struct ask_resume resume;
	struct buf note; /* a note that the model gets with the next question */
	bool approved_all;
	/* the result */
	struct ask_keep keep;
	struct ask_link link;
	struct markdown *markdown; /* NULL: print the model's text unrendered */
	size_t preview; /* lines on the screen, to be cleared before the final text */
	struct ask_status status;
	struct ask_thoughts thoughts;
	bool prose_open; /* the model's text of this turn has begun; its line may not have ended */
	bool is_answered;
	enum agent_stop stop;
	struct err why;
};

/* ---- command.c ---- */

int cmd_ask(const struct opt_command *self, int argc, char **argv);
/* The same. `daemon`: the place for a daemon's sessions; NULL in reckon, which executes
 * reckon-client for these. */
int ask_command(const struct opt_command *self, int argc, char **argv,
		const struct ask_place *daemon);

/* ---- converse.c ---- */

/* Runs one question until it has an answer or ends. Negative: the agent failed. */
int ask_once(struct ask *ask, struct err *err);
/* Prints how the question ended; returns the exit status. */
int ask_conclude(struct ask *ask);
/* Prints the error with the command's name. */
void ask_complain(const struct err *err);

/* ---- settings.c ---- */

#define ASK_SYSTEM_MAX (64u * 1024u)
int ask_settings_take_temperature(struct ask *ask, const char *value, struct err *err);
/* Reads the instructions. Call it before anything starts. */
int ask_settings_load(struct ask *ask, struct err *err);
/* Sends instructions and sampling settings to a new agent, before anything else. */
int ask_settings_tell(struct ask *ask, struct err *err);

/* ---- chat/chat.c ---- */

int ask_chat(struct ask *ask, struct err *err);

/* ---- chat/command.c ---- */

/* Runs a line such as "/help". False: the line is not a command. */
bool ask_chat_command(struct ask *ask, const char *line);

/* ---- options.c ---- */

#define ASK_ITEM_COUNT 46 /* rows of the option table, which ask and chat share */
extern const struct opt_item ask_items[];
int ask_options_take(int id, const char *value, void *arg, struct err *err);
int ask_options_check(struct ask *ask, struct err *err);

/* ---- model.c ---- */

/* Sets provider, name, address, key and settings from options, environment and models.ini. */
int ask_model_find(struct ask *ask, struct err *err);
bool ask_has_price(const struct ask *ask);
/* Reads the user's models.ini; models_free() frees *ret. ERR_INVALID: the file has errors. */
int ask_model_file(struct models **ret, struct err *err);

/* ---- local.c ---- */

/* Starts the server of a local model and sets address and key. Else does nothing. */
int ask_local_start(struct ask *ask, struct err *err);
void ask_local_end(struct ask *ask);

/* ---- agent.c ---- */

int ask_agent_start(struct ask *ask, struct err *err);
void ask_agent_end(struct ask *ask);
int ask_agent_question(struct ask *ask, struct err *err);

/* ---- step.c ---- */

/* Callbacks of struct driver_ops; `arg` is the struct ask. */
void ask_step_begin(const struct driver_cell *cell, void *arg);
const char *ask_step_approve(const struct driver_cell *cell, void *arg);
int ask_step_execute(const struct driver_cell *cell, struct err *err, void *arg);
void ask_step_end(const struct driver_cell_end *end, void *arg);
enum driver_session ask_step_session(struct buf *note, struct err *err, void *arg);

/* ---- approve.c ---- */

bool ask_needs_approval(const struct ask *ask);
/* Shows the cell at the terminal and asks: 'y', 'n', or 'q', which also raises SIGINT. */
char ask_approval(struct ask *ask, const char *code, size_t len);

/* ---- session.c ---- */

extern const struct ask_place ask_place_own;
/* Stores where the open session is and puts its files in. Returns an exit status. */
int ask_place_join(struct ask *ask);
/* Runs a cell and appends its record. ERR_LOST: the session is lost, and the cell did not run. */
int ask_place_execute(struct ask *ask, const char *code, size_t len, struct buf *ret,
		      struct err *err);
/* 1: the session was lost; a new one replaces it and has the files. 0: it still exists. */
int ask_place_renew(struct ask *ask, struct err *err);
int ask_place_put(struct ask *ask, const struct run_file *file, struct err *err);
/* Whether the session needs volumes or a snapshot, which only a daemon has. */
bool ask_wants_storage(const struct ask *ask);
int ask_place_files(struct ask *ask, bool new);

/* ---- end.c ---- */

#define ASK_NAME_SIZE 64
/* The name of the daemon's session that belongs to this run alone: "ask-ID" or "chat-ID". */
void ask_session_name(const struct ask *ask, char ret[ASK_NAME_SIZE]);
/* Whether `name` is the session of this run's question, which ends when the answer is there. */
bool ask_session_is_own(const struct ask *ask, const char *name);
/* Ends the question's own session; without an answer, prints what happens to the session. */
void ask_session_end(struct ask *ask);

/* ---- runs/open.c ---- */

/* For --resume without a question: checks that the run's last question has no answer yet. */
int ask_open_check(struct ask *ask, struct err *err);
/* Saves what earlier cells of the resumed question made into the folder of -o. */
void ask_open_save(struct ask *ask);

/* ---- runs/resume.c ---- */

/* Loads the run and takes from it what the command line does not set. */
int ask_resume_load(struct ask *ask, struct err *err);
/* Like ask_model_find(); without --base-url, fails if the address is not the resumed run's. */
int ask_resume_find(struct ask *ask, struct err *err);
/* Opens the run's files that still exist and appends them to those of the command line. */
int ask_resume_files(struct ask *ask, struct err *err);
/* Once the session is open: fetches missing records, reports what a new session lacks, and runs
 * cells again for --rerun. Returns an exit status. */
int ask_resume_session(struct ask *ask);
void ask_resume_done(struct ask *ask);

/* ---- runs/past.c ---- */

/* Sends the run's questions, cells and answers, as far as they fit the context, and the note. */
int ask_past_tell(struct ask *ask, struct err *err);
/* Whether the history is empty: no question, or /undo removed all of them. */
bool ask_past_is_empty(const struct ask *ask);

/* ---- show/show.c ---- */

void ask_show_text(struct ask *ask, const char *text, size_t len);
void ask_show_notice(struct ask *ask, const char *text, size_t len);
void ask_show_code(struct ask *ask, const char *code, size_t len);
/* Whether the output for steps is a terminal. */
bool ask_shows_at_terminal(const struct ask *ask);
/* A reckon_event_fn; `arg` is the struct ask. */
int ask_show_event(const reckon_event *event, void *arg);
void ask_show_record(struct ask *ask, const struct json_value *record);
/* The model sends the text of this turn again: end what was printed of it. */
void ask_show_break(struct ask *ask);
/* The text of this turn was not the answer: print it as a step. */
void ask_show_turn(struct ask *ask);
void ask_show_end(struct ask *ask);

/* ---- images.c ---- */

/* The images of one question; ask_images_done() frees their bytes. */
struct ask_images {
	struct agent_client_image list[AGENT_IMAGES_MAX];
	size_t count, bytes;
	size_t recalled; /* how many of them an earlier question showed */
};

bool ask_is_new_file(const struct ask *ask, const char *name); /* the command line named it */
/* "image/png", …; NULL: not an image that models accept. */
const char *ask_image_kind(int fd);
/* Checks that files of --image are images and that the model accepts images. */
int ask_images_check(const struct ask *ask, struct err *err);
/* Reads the images among the first `file_count` files, if the model accepts images. Prints a
 * message for each that is too large or one too many. */
void ask_images_read(const struct ask *ask, size_t file_count, struct ask_images *ret);
/* Adds the images of earlier questions, for a model that gets these as history, and their names to
 * the note. Prints a message for each that no longer exists. */
int ask_images_recall(struct ask *ask, struct ask_images *ret, struct err *err);
/* Whether a file of the command line is an image. */
bool ask_images_are_given(const struct ask *ask);
void ask_images_done(struct ask_images *images);

/* ---- show/status.c ---- */

void ask_status_begin(struct ask *ask);
/* Call it again and again while waiting for the model. */
void ask_status_tick(struct ask *ask);
/* Shows that a cell runs. */
void ask_status_cell(struct ask *ask);
/* Call it before printing anything else. */
void ask_status_clear(struct ask *ask);

/* ---- show/thoughts.c ---- */

void ask_thoughts_begin(struct ask *ask);
void ask_thoughts_add(struct ask *ask, const char *text, size_t len);
/* The passage has ended: prints one line about it. */
void ask_thoughts_fold(struct ask *ask);
/* Prints the reasoning for the last question. */
void ask_thoughts_show(struct ask *ask);

/* ---- chat/change.c ---- */

/* Continues with another model; "": prints the current one. Prints errors itself. */
void ask_change_model(struct ask *ask, const char *name);
void ask_change_undo(struct ask *ask);

/* ---- verify.c ---- */

/* Prints which numbers of the answer are in no output, and which links name missing files. */
void ask_tell_checked(struct ask *ask);
/* Returns AGENT_FILE_THERE, AGENT_FILE_MISSING or AGENT_FILE_UNKNOWN. */
char ask_file_is_there(struct ask *ask, const char *name);

/* ---- show/picture.c ---- */

/* Appends the text with percent escapes decoded: "a%20b.png" as "a b.png". */
int ask_unescape(const char *text, size_t len, struct buf *ret, struct err *err);

/* A markdown_image_fn; `arg` is the struct ask. */
void ask_picture(const char *path, size_t len, struct buf *ret, void *arg);

/* ---- runs/keep.c ---- */

/* Records the run if it is new, then the settings and the new files. */
void ask_keep_begin(struct ask *ask);
void ask_keep_question(struct ask *ask);
/* The last question of the run continues. */
void ask_keep_resume(struct ask *ask);
/* Call it when the model or its settings change. */
void ask_keep_setting(struct ask *ask);
/* /undo removed the last question from the conversation. */
void ask_keep_undo(struct ask *ask);
/* Records where cells run. `id` NULL: in a session that ends with this program. */
void ask_keep_session(struct ask *ask, const char *id, const char *name, const char *url);
void ask_keep_usage(struct ask *ask);
/* Records a message of this program, for later readers of the run. */
void ask_keep_note(struct ask *ask, const char *text);
/* Records a cell before it runs, and the text before it; returns its number. */
size_t ask_keep_cell(struct ask *ask, const struct driver_cell *cell);
/* Records the daemon's id of the running cell. */
void ask_keep_execution(struct ask *ask, size_t number, const char *id);
void ask_keep_record(struct ask *ask, size_t number, const char *record,
		     const struct agent_client_result *result);
/* Stores a result without a record: the cell did not run, or its record of `left_out` bytes is too
 * large. */
void ask_keep_brief(struct ask *ask, size_t number, const char *status, const char *text,
		    size_t len, uint64_t left_out);
/* Records how the question ended. */
void ask_keep_answer(struct ask *ask);
void ask_keep_end(struct ask *ask);
/* Writes the file of --save. Prints errors itself; returns an exit status. */
int ask_save(struct ask *ask);
/* Prints the last question for --json. */
int ask_json_print(const struct ask *ask);
