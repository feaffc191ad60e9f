/*
 * journal.h - a run of `reckon ask` or `reckon chat`: questions, texts, cells and answers.
 *
 *   journal.c         the run in memory
 *   read.c            a line of a stored run -> memory
 *   write.c           an event -> a line
 *   ask/runs/store.c  the folder with the stored runs (ask/runs/runs.h)
 *
 * A stored run is lines of JSON, docs/run.schema.json. The run in memory is only built from such
 * lines, even while it happens, so a saved or resumed run equals the original.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "agent_client/outcome.h"
#include "wire/agent.h"

#define JOURNAL_SCHEMA "reckon.run/1"
#define JOURNAL_ID_SIZE 24
#define JOURNAL_LINE_MAX ((size_t)32 * 1024 * 1024)
/* of a longer record only a summary is stored */
#define JOURNAL_RECORD_MAX ((size_t)24 * 1024 * 1024)
/* sum of all records; past it only summaries are stored */
#define JOURNAL_WHOLE_MAX ((size_t)256 * 1024 * 1024)
#define JOURNAL_BYTES_MAX ((size_t)384 * 1024 * 1024) /* past it nothing more is stored */
#define JOURNAL_ITEMS_MAX 100000u
#define JOURNAL_FILES_MAX 1000u
#define JOURNAL_TOKENS_MAX (INT64_C(1) << 50) /* also the maximum cost, in millionths */

enum journal_kind {
	JOURNAL_QUESTION,
	JOURNAL_PROSE, /* by the model, before a cell */
	JOURNAL_CELL,
	JOURNAL_ANSWER,
	JOURNAL_NOTE, /* by Reckon: a session was lost, cells were run again */
};

struct journal_item {
	enum journal_kind kind;
	char *text;   /* never NULL; a cell's code */
	/* a cell's record, JSON; NULL: it did not run, was too long, or is not known */
	char *record;
	/* a cell's status: the record's, "refused", or NULL if the cell never ended */
	char *status;
	char *execution; /* a cell's execution id at a daemon, once known; else NULL */
	char *output; /* of a cell without a record: what the model was told; else NULL */
	uint64_t left_out; /* size of a record that was too long to be stored */
};

/* A statement in an answer that no output supports. */
struct journal_claim {
	bool is_link;
	char *text;
};

struct journal_checked {
	bool is_checked;
	uint64_t numbers, links, unsupported;
	struct journal_claim *claims;
	size_t count;
};

/* How a question ended; AGENT_STOP_COUNT_ while it is open. */
struct journal_question {
	size_t item;
	enum agent_stop stop;
	bool has_cost;
	struct agent_usage usage;
	bool is_undone;
	char *message; /* or NULL */
	struct journal_checked checked;
};

struct journal_file {
	char *path; /* on the host, absolute */
	char *name; /* in the workspace */
};

struct journal {
	char id[JOURNAL_ID_SIZE];
	char started[CLOCK_RFC3339_SIZE];
	char *command; /* "ask", "chat" */
	/* the latest settings */
	char *model; /* PROVIDER/NAME */
	char *base_url; /* or NULL: the provider's default */
	char *language;
	char *template_name; /* or NULL */
	char *calling;
	/* of a daemon's session, or NULL: the session ended with its program */
	char *session_id, *session_name;
	char *session_url; /* NULL: the user's private daemon */
	struct journal_file *files;
	size_t file_count;
	struct journal_item *items;
	size_t item_count, cell_count;
	struct journal_question *questions;
	size_t question_count;
	size_t lines, bytes;
	bool is_cut; /* the last line is incomplete: the program ended while it wrote it */
};

/* ---- journal.c ---- */

void journal_init(struct journal *journal);
void journal_done(struct journal *journal);
#define cleanup_journal __attribute__((cleanup(journal_done)))

/* NULL: there is none. */
struct journal_question *journal_last_question(struct journal *journal);
/* The n-th cell, counted from 1; NULL: there is none. */
struct journal_item *journal_cell(struct journal *journal, size_t number);
struct journal_item *journal_add(struct journal *journal, enum journal_kind kind);
/* The last question that was not undone; false: there is none. */
bool journal_last_live(const struct journal *journal, size_t *ret);
/* Whether the last question has no answer and was not undone. */
bool journal_is_open(const struct journal *journal);
void journal_drop_checked(struct journal_checked *checked);
/* The texts in *ret belong to `question`. */
void journal_read_checked(const struct journal_question *question, struct outcome_checked *ret);
/* The question that the item belongs to, or NULL. */
const struct journal_question *journal_question_of(const struct journal *journal, size_t item);
/* The sum of all questions. */
void journal_sum(const struct journal *journal, struct agent_usage *ret, bool *ret_has_cost);
/* The stop that agent_stop_name() calls `name`, or AGENT_STOP_COUNT_ if there is none. */
enum agent_stop journal_stop_of(const char *name);

/* ---- read.c ---- */

/*
 * Applies a line (without its newline) to the journal. Lines of unknown types are skipped; for
 * anything else that violates the schema it returns ERR_PROTOCOL and leaves the journal unchanged.
 */
int journal_read(struct journal *journal, const char *line, size_t len, struct err *err);

/* ---- write.c: each function appends one line without its newline ---- */

struct journal_setting {
	const char *model, *base_url, *language, *template_name, *calling;
	const struct agent_settings *settings;
};

int journal_write_run(struct buf *ret, const char *id, const char *command, struct err *err);
int journal_write_setting(struct buf *ret, const struct journal_setting *setting, struct err *err);
/* `id` NULL: a local session of this program. */
int journal_write_session(struct buf *ret, const char *id, const char *name, const char *url,
			struct err *err);
int journal_write_file(struct buf *ret, const char *path, const char *name, struct err *err);
/* QUESTION, SAID or NOTE. */
int journal_write_text(struct buf *ret, enum journal_kind kind, const char *text, size_t len,
		     struct err *err);
/* Undoes the last question that was not undone before. */
int journal_write_undo(struct buf *ret, struct err *err);
/* Resumes the last question, which has no answer. */
int journal_write_resume(struct buf *ret, struct err *err);
int journal_write_usage(struct buf *ret, const struct agent_usage *usage, bool has_cost,
		      struct err *err);
int journal_write_cell(struct buf *ret, size_t number, const char *code, size_t len,
		     struct err *err);
/* The daemon's id of the cell that is running. */
int journal_write_execution(struct buf *ret, size_t number, const char *id, struct err *err);
/* `record` is valid JSON. */
int journal_write_record(struct buf *ret, size_t number, const char *record, size_t len,
		       struct err *err);

/*
 * A cell without its record: the cell was refused, or its record of `left_out` bytes is too long.
 */
struct journal_brief {
	const char *status;
	const char *output;
	size_t output_len;
	uint64_t left_out;
};
int journal_write_brief(struct buf *ret, size_t number, const struct journal_brief *brief,
		      struct err *err);

struct journal_end {
	const char *text; /* NULL: no answer */
	size_t len;
	enum agent_stop stop;
	const char *message; /* or NULL */
	const struct outcome_checked *checked; /* or NULL */
	const struct agent_usage *usage;
	bool has_cost;
};
int journal_write_answer(struct buf *ret, const struct journal_end *end, struct err *err);
