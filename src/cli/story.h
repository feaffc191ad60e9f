/*
 * story.h - a run of `reckon ask` or `reckon chat`: what was asked, said, run and answered.
 *
 *   story.c        in memory
 *   story_read.c   a line of a stored run -> memory
 *   story_write.c  what happens -> a line
 *   runs_store.c   the folder with the stored runs (runs.h)
 *
 * A stored run is lines of JSON, docs/run.schema.json. What a run is in memory comes from such
 * lines alone, also while it happens: so what can be saved or resumed later is what was there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/agent.h"

#define STORY_SCHEMA "reckon.run/1"
#define STORY_ID_SIZE 24
#define STORY_LINE_MAX ((size_t)32 * 1024 * 1024)
#define STORY_RECORD_MAX ((size_t)24 * 1024 * 1024) /* a longer one is kept in brief */
#define STORY_WHOLE_MAX ((size_t)256 * 1024 * 1024) /* past it every record is kept in brief */
#define STORY_BYTES_MAX ((size_t)384 * 1024 * 1024) /* past it nothing more is kept */
#define STORY_ITEMS_MAX 100000u
#define STORY_FILES_MAX 1000u
#define STORY_TOKENS_MAX (INT64_C(1) << 50) /* also millionths of a price */

enum story_kind {
	STORY_QUESTION,
	STORY_SAID, /* by the model, before a cell */
	STORY_CELL,
	STORY_ANSWER,
	STORY_NOTE, /* of ours: a session was lost, cells were run again */
};

struct story_item {
	enum story_kind kind;
	char *text;   /* never NULL; of a cell its code */
	char *record; /* of a cell, JSON; NULL: it did not run, was left out, or nobody knows */
	char *status; /* of a cell: the record's, "refused", or NULL when it never came back */
	char *output; /* of a cell without a record: what the model saw; else NULL */
	uint64_t left_out; /* bytes of a record that was too long to be kept */
};

/* How a question ended; AGENT_STOP_COUNT_ while it has not. */
struct story_question {
	size_t item;
	enum agent_stop stop;
	bool has_cost;
	struct agent_usage usage;
	char *message; /* or NULL */
};

struct story_file {
	char *path; /* on this host, absolute */
	char *name; /* in the workspace */
};

struct story {
	char id[STORY_ID_SIZE];
	char started[CLOCK_RFC3339_SIZE];
	char *command; /* "ask", "chat" */
	/* as it was said last */
	char *model; /* PROVIDER/NAME */
	char *base_url; /* or NULL: the provider's own */
	char *language;
	char *template_name; /* or NULL */
	char *calling;
	/* of a daemon, or NULL: it went with its program */
	char *session_id, *session_name;
	char *session_url; /* NULL: the user's private daemon */
	struct story_file *files;
	size_t file_count;
	struct story_item *items;
	size_t item_count, cell_count;
	struct story_question *questions;
	size_t question_count;
	size_t lines, bytes;
	bool is_cut; /* the last line is half of one: its program was ended while it wrote */
};

/* ---- story.c ---- */

void story_init(struct story *story);
void story_done(struct story *story);
#define cleanup_story __attribute__((cleanup(story_done)))

/* NULL when there is none. */
struct story_question *story_last_question(struct story *story);
/* The n-th cell that was begun, from 1; NULL when there is no such. */
struct story_item *story_cell(struct story *story, size_t number);
struct story_item *story_add(struct story *story, enum story_kind kind);
/* All questions together. */
void story_sum(const struct story *story, struct agent_usage *ret, bool *ret_has_cost);
/* Of agent_stop_name(), or AGENT_STOP_COUNT_ when it is none. */
enum agent_stop story_stop_of(const char *name);

/* ---- story_read.c ---- */

/*
 * What a line (without its end) says. A type that is not known is passed over; anything else that
 * the schema does not allow is ERR_PROTOCOL, and the story is as it was.
 */
int story_read(struct story *story, const char *line, size_t len, struct err *err);

/* ---- story_write.c: each appends one line without its end ---- */

struct story_setting {
	const char *model, *base_url, *language, *template_name, *calling;
	const struct agent_settings *settings;
};

int story_write_run(struct buf *ret, const char *id, const char *command, struct err *err);
int story_write_setting(struct buf *ret, const struct story_setting *setting, struct err *err);
/* `id` NULL: of this program alone. */
int story_write_session(struct buf *ret, const char *id, const char *name, const char *url,
			struct err *err);
int story_write_file(struct buf *ret, const char *path, const char *name, struct err *err);
/* QUESTION, SAID or NOTE. */
int story_write_text(struct buf *ret, enum story_kind kind, const char *text, size_t len,
		     struct err *err);
int story_write_usage(struct buf *ret, const struct agent_usage *usage, bool has_cost,
		      struct err *err);
int story_write_cell(struct buf *ret, size_t number, const char *code, size_t len,
		     struct err *err);
/* `record` is JSON that can be read. */
int story_write_record(struct buf *ret, size_t number, const char *record, size_t len,
		       struct err *err);

/* A cell without its record: it was refused, or the record is `left_out` bytes long. */
struct story_brief {
	const char *status;
	const char *output;
	size_t output_len;
	uint64_t left_out;
};
int story_write_brief(struct buf *ret, size_t number, const struct story_brief *brief,
		      struct err *err);

struct story_end {
	const char *text; /* NULL: there is no answer */
	size_t len;
	enum agent_stop stop;
	const char *message; /* or NULL */
	const struct agent_usage *usage;
	bool has_cost;
};
int story_write_answer(struct buf *ret, const struct story_end *end, struct err *err);
