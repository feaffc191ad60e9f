/*
 * form.h - writes a run to a file: notebook, script, Markdown, JSON.
 *
 *   json.c           for programs
 *   save.c           for people, and saving to disk
 *   ask/show/link.c  sandbox:/mnt/data/… in answers
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/journal/journal.h"

#define JOURNAL_FORM_MAX ((size_t)1024 * 1024 * 1024)

/* ---- ask/show/link.c ---- */

/* "sandbox:/mnt/data/" may be split between two pieces of text. */
#define ASK_LINK "sandbox:/mnt/data/"
struct ask_link {
	const char *folder; /* replaces ASK_LINK; NULL: links are left unchanged */
	size_t matched;	    /* bytes of ASK_LINK at the end of the last piece, held back */
};

/* Appends `text` with links replaced; holds back the beginning of a link until the next call. */
int ask_link_add(struct ask_link *link, const char *text, size_t len, struct buf *ret,
		 struct err *err);
int ask_link_end(struct ask_link *link, struct buf *ret, struct err *err);

/* ---- json.c; `folder` is where files were saved, or NULL ---- */

/* reckon.ask/1 for one question, counted from 0; a model must be set. */
int journal_json_question(const struct journal *journal, size_t number, const char *folder,
			struct buf *ret, struct err *err);
/* reckon.transcript/1. */
int journal_json_all(const struct journal *journal, const char *folder, struct buf *ret,
		   struct err *err);

/* ---- save.c ---- */

/* Checks that the suffix names a form and that the file does not exist. */
int journal_save_check(const char *path, struct err *err);
/* Writes the form that the suffix names; with `as_ask`, a single question becomes reckon.ask/1. */
int journal_save(const struct journal *journal, const char *path, bool as_ask, const char *folder,
	       struct err *err);
int journal_markdown(const struct journal *journal, struct buf *ret, struct err *err);
