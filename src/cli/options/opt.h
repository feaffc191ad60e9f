/*
 * opt.h - one table per command, from which parsing, --help, shell completion and the synopsis of
 * the man page are derived, so that they always agree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* What a shell completes for a value. */
enum opt_hint {
	OPT_HINT_NONE,
	OPT_HINT_FILE,
	OPT_HINT_DIR,
	OPT_HINT_CHOICE, /* the words in `choices` */
	OPT_HINT_LIVE,	 /* the lines that the command in `choices` prints */
};

#define OPT_OPERAND 1  /* the handler's id for an operand */
/* the handler's id for an argument after "--", if the command takes a program's arguments */
#define OPT_ARGUMENT 2
#define OPT_LONG 256   /* ids from here on have no short option */

struct opt_item {
	int id;		     /* the short option's letter, or OPT_LONG + n */
	const char *name;    /* long name without dashes, or NULL */
	const char *value;   /* its value's placeholder ("[ID]": optional, as --name=ID), or NULL */
	const char *help;    /* one short line */
	enum opt_hint hint;
	/* for OPT_HINT_CHOICE, words separated by spaces; for OPT_HINT_LIVE, a command */
	const char *choices;
	bool repeat;	     /* may be given several times */
	bool rare;	     /* --help, which has to fit on one screen, only has its name */
};

struct opt_command {
	const char *name;
	const char *operands; /* for the synopsis; "" if there are none */
	const char *summary;  /* one line for the list of commands */
	/* takes arguments after "--", which are passed to a program: OPT_ARGUMENT */
	bool takes_arguments;
	const char *notes;    /* lines below the options in --help, or NULL */
	const struct opt_item *items;
	size_t count;
	enum opt_hint operand_hint;
	const char *operand_choices;
	/* Subcommands, ending with NULL; their names begin with this command's: "session ls". */
	const struct opt_command *const *subs;
	/*
	 * The overview, which has to fit on one screen, only has their names: administration, and
	 * minor ones.
	 */
	bool of_daemon, is_minor;
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(const struct opt_command *self, int argc, char **argv);
};

/*
 * `value` is NULL for a switch or a missing optional value; for OPT_OPERAND it is the word itself.
 */
typedef int opt_fn(int id, const char *value, void *arg, struct err *err);

/*
 * Calls `fn` for every option and operand in the order of the command line. Returns 0; 1 if the
 * user asked for help (the words after it are not parsed); or a negative code, with the command's
 * name before the message.
 */
int opt_parse(const struct opt_command *command, int argc, char **argv, opt_fn *fn, void *arg,
	      struct err *err);

/* Prints the --help of one command. */
void opt_print_help(FILE *out, const struct opt_command *command);

/* The last word of the command's name: "ls" of "session ls". */
const char *opt_word(const struct opt_command *command);

/*
 * The subcommand that argv[1] names. Returns NULL with *err set if it names none, and NULL with
 * *ret_help set if the user asked for help.
 */
const struct opt_command *opt_sub(const struct opt_command *command, int argc, char **argv,
				  bool *ret_help, struct err *err);

/* Prints the overview for `reckon --help`; `commands` ends with NULL. */
void opt_print_overview(FILE *out, const struct opt_command *const *commands);

/*
 * The candidate most similar to `word`, or NULL if none is similar enough to be a typing mistake.
 * `next` returns one candidate after the other, and NULL at the end.
 */
typedef const char *opt_word_fn(size_t index, const void *arg);
const char *opt_nearest(const char *word, opt_word_fn *next, const void *arg);

/* Commands that list names for completion. */
#define OPT_LIVE_SESSIONS "reckon session ls --quiet --no-wait"
#define OPT_LIVE_TEMPLATES "reckon template ls --quiet"
#define OPT_LIVE_VOLUMES "reckon volume ls --quiet --no-wait"
#define OPT_LIVE_SNAPSHOTS "reckon snapshot ls --quiet --no-wait"

/* ---- complete.c: completion scripts and manuals ---- */

/* `shell` is "bash", "zsh" or "fish"; ERR_INVALID for any other. */
int opt_print_completion(FILE *out, const char *shell,
			 const struct opt_command *const *commands, struct err *err);

/* Prints SYNOPSIS and OPTIONS of a command in scdoc. */
void opt_print_manual(FILE *out, const struct opt_command *command);
