/*
 * catalog.h - the parts of `reckon models`: lists configured models and checks whether they work.
 *
 *   command.c  the command line; checks models.ini
 *   catalog.c  providers in models.ini, in the environment and on this host
 *   ask.c      asks each server for its models with its own reckon-agent
 *   show.c     tables and JSON
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
	CATALOG_FAILED,	   /* `why` has the reason */
	CATALOG_NO_KEY,	   /* so no request was sent */
	CATALOG_INSTALLED, /* on this host; it is started at the first question */
	CATALOG_NOT_REQUESTED,
};

struct catalog_row {
	struct models_choice choice;
	struct agent_settings settings;
	enum catalog_state state;
	struct err why;
	struct buf names; /* names of its models, one on each line */
	uint64_t count;	  /* number of its models, including those not in `names` */
};

struct catalog {
	char path[PATH_MAX]; /* of models.ini */
	bool is_there;
	struct models *models;
	struct catalog_row *rows;
	size_t count;
	const char *const *wanted; /* names of providers, ending with NULL; none: all */
};

/* ---- catalog.c ---- */

/* Collects the configured providers; ERR_INVALID if a wanted one is not configured. */
int catalog_collect(struct catalog *catalog, struct err *err);
void catalog_done(struct catalog *catalog);
/* Appends the names of local models, one on each line. */
void catalog_local(struct buf *ret);

/* ---- ask.c ---- */

/* Asks every server whose state is CATALOG_NOT_REQUESTED. */
void catalog_ask(struct catalog *catalog);

/* ---- show.c ---- */

const char *catalog_state_name(enum catalog_state state);
/* Both return an exit status. */
int catalog_show(const struct catalog *catalog);
int catalog_show_json(const struct catalog *catalog);
