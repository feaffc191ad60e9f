/*
 * opt.h - one table per command, from which parsing, --help, shell completion and the synopsis of
 * the man page all derive, so that none of them can fall behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* What a shell should offer for a value. */
enum opt_hint {
	OPT_HINT_NONE,
	OPT_HINT_FILE,
	OPT_HINT_DIR,
	OPT_HINT_CHOICE, /* the words in `choices` */
	OPT_HINT_LIVE,	 /* what the command in `choices` prints, a word a line */
};

#define OPT_OPERAND 1  /* id given to the handler for what is not an option */
#define OPT_ARGUMENT 2 /* what stands behind "--", when the command takes arguments of a program */
#define OPT_LONG 256   /* ids from here on have no letter */

struct opt_item {
	int id;		     /* the letter, or OPT_LONG + n */
	const char *name;    /* long name without dashes, or NULL */
	const char *value;   /* placeholder of its value ("[ID]": --name=ID, or none), or NULL */
	const char *help;    /* a short line */
	enum opt_hint hint;
	const char *choices; /* separated by spaces, with OPT_HINT_CHOICE; a command, with LIVE */
	bool repeat;	     /* may be given several times */
	bool rare;	     /* --help, which is one screen, has only its name */
};

struct opt_command {
	const char *name;
	const char *operands; /* as in the synopsis, "" when there are none */
	const char *summary;  /* one line for the list of commands */
	bool takes_arguments; /* behind "--", for somebody else: OPT_ARGUMENT */
	const char *notes;    /* lines below the options in --help, or NULL */
	const struct opt_item *items;
	size_t count;
	enum opt_hint operand_hint;
	const char *operand_choices;
	/* Commands below this one, NULL at the end; their names begin with this one's: "session ls". */
	const struct opt_command *const *subs;
	/* The overview, one screen, has only their names: administration, and the rest. */
	bool of_daemon, is_minor;
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(const struct opt_command *self, int argc, char **argv);
};

/* `value` is NULL for a switch, or where it may be missing, and the word itself for OPT_OPERAND. */
typedef int opt_fn(int id, const char *value, void *arg, struct err *err);

/*
 * Hands every option and operand to `fn` in the order of the command line. Returns 0, 1 when the
 * user asked for help (nothing after that word was looked at), or a negative code
 * with the command's name before the message.
 */
int opt_parse(const struct opt_command *command, int argc, char **argv, opt_fn *fn, void *arg,
	      struct err *err);

/* The --help of one command. */
void opt_print_help(FILE *out, const struct opt_command *command);

/* The command's own word: "ls" of "session ls". */
const char *opt_word(const struct opt_command *command);

/*
 * The command below `command` that argv[1] names. NULL, with *err set, when it names none; with
 * *ret_help (and NULL) the user asked for help.
 */
const struct opt_command *opt_sub(const struct opt_command *command, int argc, char **argv,
				  bool *ret_help, struct err *err);

/* What `--help` shows without a command; `commands` ends with NULL. */
void opt_print_overview(FILE *out, const struct opt_command *const *commands);

/*
 * The word nearest to `word` when it is near enough to be a slip of the fingers, else NULL.
 * `next` returns the candidates one after the other and NULL at the end.
 */
typedef const char *opt_word_fn(size_t index, const void *arg);
const char *opt_nearest(const char *word, opt_word_fn *next, const void *arg);

/* Names that only a look at the host tells. */
#define OPT_LIVE_SESSIONS "reckon session ls --quiet --no-wait"
#define OPT_LIVE_TEMPLATES "reckon template ls --quiet"
#define OPT_LIVE_VOLUMES "reckon volume ls --quiet --no-wait"
#define OPT_LIVE_SNAPSHOTS "reckon snapshot ls --quiet --no-wait"

/* ---- complete.c: the same tables for shells and manuals ---- */

/* `shell` is "bash", "zsh" or "fish". Returns ERR_INVALID for another. */
int opt_print_completion(FILE *out, const char *shell,
			 const struct opt_command *const *commands, struct err *err);

/* SYNOPSIS and OPTIONS of a command in scdoc. */
void opt_print_manual(FILE *out, const struct opt_command *command);
