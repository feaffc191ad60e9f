/*
 * catalog.h - the parts of `reckon models`: what is configured, and whether it works.
 *
 *   command.c    the command line; models.ini checked
 *   catalog.c       providers of models.ini, of the environment, of this host
 *   ask.c   each server asked for its models, by a reckon-agent of its own
 *   show.c  tables and JSON
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "models/models.h"

enum catalog_state {
	CATALOG_WORKS,
	CATALOG_FAILED,	   /* `why` says how */
	CATALOG_NO_KEY,	   /* so it was not asked */
	CATALOG_INSTALLED, /* on this host; it is started when a question comes */
	CATALOG_UNASKED,
};

struct catalog_row {
	struct models_choice choice;
	struct agent_settings settings;
	enum catalog_state state;
	struct err why;
	struct buf names; /* of its models, a line each */
	uint64_t count;	  /* of its models, also of those that are not named */
};

struct catalog {
	char path[PATH_MAX]; /* of models.ini */
	bool is_there;
	struct models *models;
	struct catalog_row *rows;
	size_t count;
	const char *const *wanted; /* providers, NULL at the end; the first one NULL: all */
};

/* ---- catalog.c ---- */

/* Rows of what is configured; ERR_INVALID when one that was named is not there. */
int catalog_collect(struct catalog *catalog, struct err *err);
void catalog_done(struct catalog *catalog);
/* Names of local models, a line each. */
void catalog_local(struct buf *ret);

/* ---- ask.c ---- */

/* Asks every server whose state is CATALOG_UNASKED. */
void catalog_ask(struct catalog *catalog);

/* ---- show.c ---- */

const char *catalog_state_name(enum catalog_state state);
/* Both return an exit status. */
int catalog_show(const struct catalog *catalog);
int catalog_show_json(const struct catalog *catalog);
