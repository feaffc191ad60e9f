/*
 * form.h - a run as a file: notebook, script, Markdown, JSON.
 *
 *   json.c  for programs
 *   save.c  for people, and onto the disk
 *   ask/link.c    sandbox:/mnt/data/… in answers
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/journal/journal.h"

#define JOURNAL_FORM_MAX ((size_t)1024 * 1024 * 1024)

/* ---- ask/link.c ---- */

/* "sandbox:/mnt/data/" at the end of a piece may be the beginning of a link. */
#define ASK_LINK "sandbox:/mnt/data/"
struct ask_link {
	const char *folder; /* what stands for it; NULL: left as it is */
	size_t matched;	    /* bytes of ASK_LINK that were held back */
};

/* Appends `text` with links put in place; what may be half of one waits. */
int ask_link_add(struct ask_link *link, const char *text, size_t len, struct buf *ret,
		 struct err *err);
int ask_link_end(struct ask_link *link, struct buf *ret, struct err *err);

/* ---- json.c; `folder` is where files were saved, or NULL ---- */

/* reckon.ask/1 of one question, counted from 0; it must have a model. */
int journal_json_question(const struct journal *journal, size_t number, const char *folder,
			struct buf *ret, struct err *err);
/* reckon.transcript/1. */
int journal_json_all(const struct journal *journal, const char *folder, struct buf *ret,
		   struct err *err);

/* ---- save.c ---- */

/* Whether the name says in which form, and nothing is there yet. */
int journal_save_check(const char *path, struct err *err);
/* In the form that the end of `path` names; one question alone is reckon.ask/1 with `as_ask`. */
int journal_save(const struct journal *journal, const char *path, bool as_ask, const char *folder,
	       struct err *err);
int journal_markdown(const struct journal *journal, struct buf *ret, struct err *err);
