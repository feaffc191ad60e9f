/*
 * ask.h - the parts of `reckon ask`: a question, a model, a session, and a person.
 *
 *   cmd_ask.c      the question, Ctrl-C, how it ends
 *   cmd_chat.c     question after question
 *   ask_options.c  the command line -> struct ask
 *   ask_model.c    PROVIDER/NAME and the environment -> where the model is
 *   ask_local.c    a model on this host
 *   ask_agent.c    what reckon-agent is told of all this; how it is listened to (src/converse)
 *   ask_step.c     a cell the model wants: allowed, run, reported back
 *   ask_show.c     what a person sees of it
 *   ask_json.c     what a program sees of it
 *   ask_save.c     the whole as a notebook, a script, Markdown or JSON
 *   ask_link.c     sandbox:/mnt/data/… in answers
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
#include "cli/repl.h"
#include "converse/converse.h"
#include "reckon.h"

#define ASK_STEPS 8u
#define ASK_STEPS_MAX 1000u
#define ASK_WALL_MS (UINT64_C(15) * 60 * 1000)
#define ASK_CONTEXT 100000u
#define ASK_ANSWER_TOKENS 8192u
#define ASK_RETRIES 4u
#define ASK_QUESTION_MAX ((size_t)1024 * 1024)
#define ASK_RECORDS_MAX ((size_t)512 * 1024 * 1024)

enum ask_approve { ASK_APPROVE_NEVER, ASK_APPROVE_WRITES, ASK_APPROVE_ALWAYS };
enum ask_choice { ASK_AUTO, ASK_YES, ASK_NO };

struct ask_step {
	char *prose; /* what the model said before it */
	char *code;
	char *record; /* JSON, or NULL: it did not run */
};

/* "sandbox:/mnt/data/" at the end of a piece may be the beginning of a link. */
#define ASK_LINK "sandbox:/mnt/data/"
struct ask_link {
	const char *folder; /* what stands for it; NULL: left as it is */
	size_t matched;	    /* bytes of ASK_LINK that were held back */
};

struct ask {
	struct repl view; /* its run and output: session, limits, files, how things are shown */
	struct buf question;
	/* where the model is */
	const char *model_option; /* PROVIDER/NAME, or NULL */
	const char *base_url_option;
	const char *provider; /* its name in the table */
	char *model, *base_url, *key;
	struct agent_settings settings;
	enum ask_choice calling_given, vision; /* ASK_AUTO: by the provider */
	enum ask_approve approve;
	const char *save_path; /* or NULL */
	bool json, is_chat;
	bool said_files; /* the model was told of them */
	bool to_terminal;	/* stdout is one */
	/* the agent */
	struct converse *talk;
	struct converse_frame frame; /* the last one of it */
	/* a model on this host */
	bool is_local;
	pid_t local_pid;
	int local_in; /* while it is open, the server lives */
	/* the session; in view.session */
	bool approved_all;
	/* what came of it */
	struct ask_step *steps;
	size_t step_count, record_bytes;
	struct buf prose; /* of the turn that is being written */
	struct ask_link link;
	bool prose_open; /* some of it was shown, its line may not have ended */
	struct agent_usage usage;
	enum agent_stop stop;
	struct buf answer;
	struct err why;
};

/* ---- cmd_ask.c ---- */

int cmd_ask(const struct opt_command *self, int argc, char **argv);
/* How often Ctrl-C was pressed; from here on. */
int ask_interrupts(void);
void ask_interrupts_clear(void);
/* Until the question is answered, or ended; negative: the agent is gone. */
int ask_converse(struct ask *ask, struct err *err);
/* Tells how it ended; the exit status. */
int ask_conclude(struct ask *ask);
/* While it is not NULL, Ctrl-C interrupts it. */
void ask_lend(reckon_session *session);

/* ---- cmd_chat.c ---- */

int ask_chat(struct ask *ask, struct err *err);

/* ---- ask_options.c ---- */

int ask_options_take(int id, const char *value, void *arg, struct err *err);
int ask_options_check(struct ask *ask, struct err *err);

/* ---- ask_model.c ---- */

/* Provider, name, address and key, from options and environment. */
int ask_model_find(struct ask *ask, struct err *err);
bool ask_has_price(const struct ask *ask);

/* ---- ask_local.c ---- */

/* Starts the server when the model is a local one; sets address and key. */
int ask_local_start(struct ask *ask, struct err *err);
void ask_local_end(struct ask *ask);

/* ---- ask_agent.c ---- */

int ask_agent_start(struct ask *ask, struct err *err);
void ask_agent_end(struct ask *ask);
int ask_agent_question(struct ask *ask, struct err *err);
/* The next frame. Tells the agent of Ctrl-C while it waits. */
int ask_agent_receive(struct ask *ask, struct err *err);

/* ---- ask_step.c ---- */

int ask_step(struct ask *ask, struct err *err);
/* A session with the files of the command line. Returns an exit status. */
int ask_session_open(struct ask *ask);

/* ---- ask_show.c ---- */

void ask_show_text(struct ask *ask, const char *text, size_t len);
void ask_show_notice(struct ask *ask, const char *text, size_t len);
void ask_show_code(struct ask *ask, const char *code, size_t len);
/* A reckon_event_fn; `arg` is the struct ask. */
int ask_show_event(const reckon_event *event, void *arg);
void ask_show_record(struct ask *ask, const struct json_value *record);
/* The turn is over: its text was no answer. */
void ask_show_turn(struct ask *ask);
void ask_show_end(struct ask *ask);

/* ---- ask_json.c ---- */

int ask_json_print(const struct ask *ask);
int ask_json_write(const struct ask *ask, struct buf *ret, struct err *err);

/* ---- ask_save.c ---- */

/* Whether the name says in which form. */
int ask_save_check(const char *path, struct err *err);
/* Returns an exit status; what went wrong was said. */
int ask_save(struct ask *ask);

/* ---- ask_link.c ---- */

/* Appends `text` with links put in place; what may be half of one waits. */
int ask_link_add(struct ask_link *link, const char *text, size_t len, struct buf *ret,
		 struct err *err);
int ask_link_end(struct ask_link *link, struct buf *ret, struct err *err);
