/*
 * languages.h - the language table: names, syntax and display text of each kernel's language.
 *
 * Each folder of src/inside that holds a kernel has its row in language.c; the build collects the
 * rows of the languages that src/languages/meson.build names. Outside this folder and the kernels'
 * own, code asks a row and never compares a language's name (tools/check_languages.py).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define LANGUAGES_MAX 8 /* the build fails when there are more */

/* Requests that a kernel answers; for the others libreckon returns an empty reply itself. */
#define LANGUAGE_LISTS_VARIABLES 1u /* KERNEL_VARIABLES */
#define LANGUAGE_COMPLETES 2u	    /* KERNEL_COMPLETE */
#define LANGUAGE_INSPECTS 4u	    /* KERNEL_INSPECT */
#define LANGUAGE_JUDGES_CELLS 8u    /* KERNEL_IS_COMPLETE */
/* Code requests input with INPUT_REQUEST, one line at a time, instead of reading stdin. */
#define LANGUAGE_REQUESTS_INPUT 16u
/* Lines that begin with "%" or "!" are commands to the kernel, and invalid elsewhere. */
#define LANGUAGE_HAS_MAGICS 32u
/* A zygote of the template can import modules before a session needs them. */
#define LANGUAGE_PRELOADS 64u
/* Code can call the client's tools: the kernel accepts KERNEL_TOOLS. */
#define LANGUAGE_CALLS_TOOLS 128u

/* Syntax that decides whether two cells differ only in their spelling. */
struct language_syntax {
	const char *comment;	     /* starts a comment, to the end of the line */
	bool has_block_comments;     /* also comments from slash-star to star-slash */
	bool ignores_operator_space; /* white space beside an operator means nothing */
	bool has_equal_quotes;	     /* 'x' and "x" are the same string */
};

/*
 * Code that sets a program's name and arguments: before_name NAME after_name, before_each ARGUMENT
 * for each, after_all. Each is quoted: as JSON, or for a shell.
 */
struct language_arguments {
	const char *before_name, *after_name, *before_each, *after_all; /* NULL: unsupported */
	bool is_shell;
};

/*
 * How a script holds cells: unchanged, except cells that a program cannot contain and cells that
 * failed. A script passes those as text to a function of the prelude, or to the language itself.
 */
struct language_script {
	const char *prelude;		   /* NULL: nothing is defined */
	const char *cell, *failed, *close; /* before such a text, and after it */
	const char *end_of_cell;	   /* after a cell that draws */
	/* Words that mark such cells; NULL-terminated. */
	const char *const *given_as_text, *const *draws, *const *needs;
	const char *quotes[2]; /* around raw text of several lines; NULL: quoted for a shell */
};

struct language {
	const char *name;	     /* in options, requests, records and the journal */
	const char *prose_name;	     /* in a sentence */
	const char *const *aliases;  /* also after a fence in Markdown; NULL-terminated */
	const char *const *suffixes; /* without the dot, the usual one first; NULL-terminated */
	struct language_syntax syntax;
	unsigned features; /* LANGUAGE_… */

	struct language_arguments arguments;
	struct language_script script;
	const char *exit_error; /* error name when a program exits; the error's value says how */

	const char *zygote; /* libexec program that kernels are forked from */

	const char *prompt_label; /* of the console's prompt, as in "In [3]: " */
	const char *result_label; /* of a value in the console, or NULL: shown without one */

	/* In a notebook's metadata. */
	const char *kernelspec_name, *kernelspec_display_name, *mime;
	const char *version;	     /* of the language, as its kernel was built */
	const char *pygments_lexer;  /* what colours it in a page, */
	const char *codemirror_mode; /* and in an editor: JSON */
	const char *nbconvert_exporter; /* NULL: a script, by the suffix */

	const char *tool_description; /* of the model's tool, which has the language's name */
	const char *tool_words; /* how code calls the client's tools, a sentence; NULL: it cannot */
};

/* The row at an index from 0; the first one is the default. NULL after the last one. */
const struct language *language_at(size_t index);
const struct language *language_default(void);
size_t language_index(const struct language *language);

/* By name alone; NULL when there is none. */
const struct language *language_find(const char *name);
/* The same, for an optional name: NULL is the default. */
const struct language *language_find_or_default(const char *name);
/* By name or alias, ignoring case: what people and models write. */
const struct language *language_find_label(const char *label, size_t len);
/* By the suffix of a file's name. */
const struct language *language_find_path(const char *path);

/* The first language whose code is shell commands, or NULL. */
const struct language *language_shell(void);

/* Sets *err to "unknown language", with the known ones as its remedy. Returns ERR_INVALID. */
int language_unknown(const char *name, struct err *err);

/* For option tables: "python bash", "python (default) or bash". */
extern const char language_words[], language_help[];
