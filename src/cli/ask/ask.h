/*
 * ask.h - the parts of `reckon ask`: a question, a model, a session, and a person.
 *
 *   command.c        the tables; from the command line to the session and back
 *   options.c        the command line -> struct ask
 *   settings.c         what is wanted of the model beside the question
 *   model.c          PROVIDER/NAME, the environment and models.ini -> where the model is
 *   local.c          a model on this host
 *   session.c        where cells run: in a session of our own
 *   remote.c         or in one of a daemon (in reckon-client)
 *   agent.c          the agent driver (src/driver): begun, asked, heard
 *   converse.c       one question, and how it ends
 *   step.c           a cell the model wants: noted, shown, allowed, run
 *   approve.c        a person decides about it
 *   images.c         files that the model sees as images
 *   verify.c         what of an answer nothing supports
 *   end.c            what becomes of the session when the question has ended
 *   chat/            question after question; lines that begin with "/"
 *   show/            what a person sees of it: show.c, pictures, links, thoughts, how far it is
 *   runs/            what is noted and kept (keep.c, store.c), gone on with (resume.c, past.c), and
 *                    listed (runs.c)
 *
 * The agent is taken for captured: what it sends is shown escaped, and run where model-written code
 * runs anyway, in the box.
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

/* What is noted, and where. */
struct ask_keep {
	struct journal journal;
	int fd;	     /* of the stored run, or -1 */
	bool off;    /* --no-keep */
	bool gave_up; /* which was said */
};

struct ask;

/* Which session it is; what goes wrong is said there, and an exit status returned. */
struct ask_place {
	/* Opens or joins it: view.session. Files go in, ask_keep_session() is told. */
	int (*open)(struct ask *ask);
	/* Or NULL. 1: *ret is the record of an earlier execution, waited for; 0: there is none. */
	int (*recall)(struct ask *ask, const char *execution, struct buf *ret, struct err *err);
	/* Ends the session in its daemon; NULL: it ends with this program. */
	int (*end)(struct ask *ask, struct err *err);
};

/* A run that is gone on with. */
struct ask_resume {
	bool wanted, rerun;
	bool is_open; /* no question is asked: the last one has no answer, and gets one */
	struct agent_usage before; /* of that question */
	const char *id;	  /* as given, or NULL: the last one */
	size_t questions; /* that were there already */
	char *model, *base_url, *language, *template_name;
	char *session_id, *session_name, *session_url; /* of a daemon, or NULL */
	size_t cells;	  /* that were there already */
	bool told;	  /* the model */
};

#define ASK_THOUGHTS_MAX ((size_t)512 * 1024) /* of one question */

/* The line that says how far it is. */
struct ask_status {
	uint64_t begun_ns, next_ns;
	bool is_possible, is_shown;
};

/* What the model says that it thinks, of the last question. */
struct ask_thoughts {
	struct buf text;
	size_t begun_at; /* of the one that is being thought, or was last */
	uint64_t begun_ns;
	bool is_open, is_cut;
};

struct ask {
	struct repl view; /* its run and output: session, limits, files, how things are shown */
	struct buf question;
	const char *system_option; /* --system: a text, or @FILE; NULL */
	struct buf system;	   /* the user's instructions, standing ones first */
	const char *temperature, *effort; /* NULL: not said */
	/* where the model is */
	const char *model_option; /* PROVIDER/NAME, or NULL */
	const char *base_url_option;
	char *provider;
	char *model, *base_url, *key;
	char *headers; /* of models.ini, or NULL */
	bool has_own_url; /* not the provider's own service */
	struct agent_settings settings; /* MODELS_UNSET: not given, until the model is found */
	struct agent_settings wished;	/* as they were given */
	const char *images[AGENT_IMAGES_MAX]; /* of --image */
	size_t image_count;
	/* A fresh agent in the place of the one that there is, which is told the run so far. */
	int (*start_again)(struct ask *ask, struct err *err);
	char *model_named;		/* by /model, or NULL */
	bool has_price;
	enum ask_approve approve;
	const char *save_path; /* or NULL */
	bool json, is_chat;
	struct agent_usage chat_usage; /* of all its questions */
	bool said_files; /* the model was told of them */
	bool to_terminal;	/* stdout is one */
	/* the agent */
	struct driver driver; /* what is asked, and what comes of it */
	/* a model on this host */
	bool is_local;
	pid_t local_pid;
	int local_in; /* while it is open, the server lives */
	const struct ask_place *place;
	bool is_fresh; /* the session was made for this run */
	bool is_quiet; /* cells run again, which is not shown */
	size_t new_files; /* of the command line; those behind them are of the run that is resumed */
	struct ask_resume resume;
	struct buf note; /* told to the model with the next question */
	bool approved_all;
	/* what came of it */
	struct ask_keep keep;
	struct ask_link link;
	struct markdown *markdown; /* NULL: prose is shown as it is written */
	size_t preview; /* lines of it that stand there until they are drawn for good */
	struct ask_status status;
	struct ask_thoughts thoughts;
	bool prose_open; /* some of it was shown, its line may not have ended */
	bool is_answered;
	enum agent_stop stop;
	struct err why;
};

/* ---- command.c ---- */

int cmd_ask(const struct opt_command *self, int argc, char **argv);
/* The same; `daemon` is how cells run in its sessions, NULL where that is another program's. */
int ask_command(const struct opt_command *self, int argc, char **argv,
		const struct ask_place *daemon);

/* ---- converse.c ---- */

/* Until the question is answered, or ended; negative: the agent is gone. */
int ask_once(struct ask *ask, struct err *err);
/* Tells how it ended; the exit status. */
int ask_conclude(struct ask *ask);
/* The error, in the name of the command. */
void ask_complain(const struct err *err);

/* ---- settings.c ---- */

#define ASK_SYSTEM_MAX (64u * 1024u)
int ask_settings_take_temperature(struct ask *ask, const char *value, struct err *err);
/* Reads the instructions; before anything is started. */
int ask_settings_load(struct ask *ask, struct err *err);
/* Of a fresh agent, before all else. */
int ask_settings_tell(struct ask *ask, struct err *err);

/* ---- chat/chat.c ---- */

int ask_chat(struct ask *ask, struct err *err);

/* ---- chat/command.c ---- */

/* Whether the line is one of "/help" and its kin, which was done then. */
bool ask_chat_command(struct ask *ask, const char *line);

/* ---- options.c ---- */

#define ASK_ITEM_COUNT 46 /* of the table of options, which is the same for ask and chat */
extern const struct opt_item ask_items[];
int ask_options_take(int id, const char *value, void *arg, struct err *err);
int ask_options_check(struct ask *ask, struct err *err);

/* ---- model.c ---- */

/* Provider, name, address, key and settings, from options, environment and models.ini. */
int ask_model_find(struct ask *ask, struct err *err);
bool ask_has_price(const struct ask *ask);
/* The user's models.ini; *ret is models_free()'s. A file that is wrong is ERR_INVALID. */
int ask_model_file(struct models **ret, struct err *err);

/* ---- local.c ---- */

/* Starts the server when the model is a local one; sets address and key. */
int ask_local_start(struct ask *ask, struct err *err);
void ask_local_end(struct ask *ask);

/* ---- agent.c ---- */

int ask_agent_start(struct ask *ask, struct err *err);
void ask_agent_end(struct ask *ask);
int ask_agent_question(struct ask *ask, struct err *err);

/* ---- step.c ---- */

/* Of struct driver_ops; `arg` is the struct ask. */
void ask_step_begin(const struct driver_cell *cell, void *arg);
const char *ask_step_approve(const struct driver_cell *cell, void *arg);
int ask_step_execute(const struct driver_cell *cell, struct err *err, void *arg);
void ask_step_end(const struct driver_cell_end *end, void *arg);
enum driver_session ask_step_session(struct buf *note, struct err *err, void *arg);

/* ---- approve.c ---- */

bool ask_needs_approval(const struct ask *ask);
/* Shows the cell at the terminal and asks: 'y', 'n', or 'q', which is a Ctrl-C as well. */
char ask_approval(struct ask *ask, const char *code, size_t len);

/* ---- session.c ---- */

extern const struct ask_place ask_place_own;
/* Of a session that is there: it is noted, and gets its files. Returns an exit status. */
int ask_place_join(struct ask *ask);
/* Runs a cell; appends the record. ERR_LOST: the session is gone, and nothing ran. */
int ask_place_execute(struct ask *ask, const char *code, size_t len, struct buf *ret,
		      struct err *err);
/* 1: the session was gone, and another one is there with the files; 0: it is there. */
int ask_place_renew(struct ask *ask, struct err *err);
int ask_place_put(struct ask *ask, const struct run_file *file, struct err *err);
/* Whether the session is to begin with what a daemon keeps: volumes, a snapshot. */
bool ask_wants_storage(const struct ask *ask);
/* Puts files in: all of them, or with `new` those that the session does not have. */
int ask_place_files(struct ask *ask, bool new);

/* ---- end.c ---- */

#define ASK_NAME_SIZE 64
/* Of the session that a daemon keeps for this run alone: "ask-ID", "chat-ID". */
void ask_session_name(const struct ask *ask, char ret[ASK_NAME_SIZE]);
/* Whether it is that of a question, which ends with its answer. */
bool ask_session_is_own(const struct ask *ask, const char *name);
/* Ends the session of a question that is answered; else says what becomes of it. */
void ask_session_end(struct ask *ask);

/* ---- runs/open.c ---- */

/* Without a question: whether the last one of the run can be gone on with. */
int ask_open_check(struct ask *ask, struct err *err);
/* Once there is a session: what its cells had made goes to -o, too. */
void ask_open_save(struct ask *ask);

/* ---- runs/resume.c ---- */

/* Loads the run and takes from it what the command line does not say. */
int ask_resume_load(struct ask *ask, struct err *err);
/* As ask_model_find(), for the model of the run. */
int ask_resume_find(struct ask *ask, struct err *err);
/* The files of the run that are still there, behind those of the command line. */
int ask_resume_files(struct ask *ask, struct err *err);
/* Once there is a session: says what it lacks, and runs cells again when that was wished. */
int ask_resume_session(struct ask *ask);
void ask_resume_done(struct ask *ask);

/* ---- runs/past.c ---- */

/* Questions, cells and answers of the run, as far as the model can read them, and the note. */
int ask_past_tell(struct ask *ask, struct err *err);
/* Whether there is nothing to tell: no question, or all were taken back. */
bool ask_past_is_empty(const struct ask *ask);

/* ---- show/show.c ---- */

void ask_show_text(struct ask *ask, const char *text, size_t len);
void ask_show_notice(struct ask *ask, const char *text, size_t len);
void ask_show_code(struct ask *ask, const char *code, size_t len);
/* Whether steps are shown at a terminal. */
bool ask_shows_at_terminal(const struct ask *ask);
/* A reckon_event_fn; `arg` is the struct ask. */
int ask_show_event(const reckon_event *event, void *arg);
void ask_show_record(struct ask *ask, const struct json_value *record);
/* What was shown of the turn does not hold; it comes again. */
void ask_show_break(struct ask *ask);
/* The turn is over: its text was no answer. */
void ask_show_turn(struct ask *ask);
void ask_show_end(struct ask *ask);

/* ---- images.c ---- */

/* Of one question; the bytes are owned. */
struct ask_images {
	struct agent_client_image list[AGENT_IMAGES_MAX];
	size_t count, bytes;
	size_t recalled; /* of them: shown before, to another model */
};

bool ask_is_new_file(const struct ask *ask, const char *name); /* it was given for this task */
/* "image/png", …; NULL: none that models take. */
const char *ask_image_kind(int fd);
/* Whether what was given as an image is one, and the model takes some. */
int ask_images_check(const struct ask *ask, struct err *err);
/* Those among the first files, where the model takes any; one too large is told to the person. */
void ask_images_read(const struct ask *ask, size_t file_count, struct ask_images *ret);
/* And those of earlier questions, for a model that is told of these; it gets their names too. What is
 * not there any more is told to the person. */
int ask_images_recall(struct ask *ask, struct ask_images *ret, struct err *err);
/* Whether there is one among the files of this call. */
bool ask_images_are_given(const struct ask *ask);
void ask_images_done(struct ask_images *images);

/* ---- show/status.c ---- */

void ask_status_begin(struct ask *ask);
/* While the model is waited for. */
void ask_status_tick(struct ask *ask);
/* A cell begins. */
void ask_status_cell(struct ask *ask);
/* Before anything else is shown. */
void ask_status_clear(struct ask *ask);

/* ---- show/thoughts.c ---- */

void ask_thoughts_begin(struct ask *ask);
void ask_thoughts_add(struct ask *ask, const char *text, size_t len);
/* It is over: one line of it. */
void ask_thoughts_fold(struct ask *ask);
/* All of them. */
void ask_thoughts_show(struct ask *ask);

/* ---- chat/change.c ---- */

/* Goes on with another model; "": says which one it is. What goes wrong is said. */
void ask_change_model(struct ask *ask, const char *name);
void ask_change_undo(struct ask *ask);

/* ---- verify.c ---- */

/* Says which numbers of the answer no output has, and which links name files that are not there. */
void ask_tell_checked(struct ask *ask);
/* AGENT_FILE_THERE, AGENT_FILE_MISSING, AGENT_FILE_UNKNOWN. */
char ask_file_is_there(struct ask *ask, const char *name);

/* ---- show/picture.c ---- */

/* Appends what "a%20b.png" means. */
int ask_unescape(const char *text, size_t len, struct buf *ret, struct err *err);

/* A markdown_image_fn; `arg` is the struct ask. */
void ask_picture(const char *path, size_t len, struct buf *ret, void *arg);

/* ---- runs/keep.c ---- */

/* A run, or what a program that resumes one adds first. */
void ask_keep_begin(struct ask *ask);
void ask_keep_question(struct ask *ask);
/* The last question of the run is gone on with. */
void ask_keep_resume(struct ask *ask);
/* Which model, and how it is asked; when that changes. */
void ask_keep_setting(struct ask *ask);
/* The last question is taken back. */
void ask_keep_undo(struct ask *ask);
/* Where cells run; `id` NULL: in a session that ends with this program. */
void ask_keep_session(struct ask *ask, const char *id, const char *name, const char *url);
void ask_keep_usage(struct ask *ask);
/* Of ours, for whoever reads it later. */
void ask_keep_note(struct ask *ask, const char *text);
/* A cell that is to run, and the prose before it; its number. */
size_t ask_keep_cell(struct ask *ask, const struct driver_cell *cell);
/* What the daemon calls it, while it runs. */
void ask_keep_execution(struct ask *ask, size_t number, const char *id);
void ask_keep_record(struct ask *ask, size_t number, const char *record,
		     const struct agent_client_result *result);
/* Without a record: it did not run, or the record was `left_out` bytes long. */
void ask_keep_brief(struct ask *ask, size_t number, const char *status, const char *text,
		    size_t len, uint64_t left_out);
/* How the question ended. */
void ask_keep_answer(struct ask *ask);
void ask_keep_end(struct ask *ask);
/* --save; returns an exit status, what went wrong was said. */
int ask_save(struct ask *ask);
/* --json, of the last question. */
int ask_json_print(const struct ask *ask);
