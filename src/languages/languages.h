/*
 * languages.h - the language table: what each kernel's language is called, written and shown as.
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

/* Requests that a kernel answers; libreckon answers the others itself, with nothing. */
#define LANGUAGE_LISTS_VARIABLES 1u /* KERNEL_VARIABLES */
#define LANGUAGE_COMPLETES 2u	    /* KERNEL_COMPLETE */
#define LANGUAGE_INSPECTS 4u	    /* KERNEL_INSPECT */
#define LANGUAGE_JUDGES_CELLS 8u    /* KERNEL_IS_COMPLETE */
/* Input is asked for with INPUT_REQUEST, one line at a time, and not read from stdin. */
#define LANGUAGE_REQUESTS_INPUT 16u
/* Lines that begin with "%" or "!" are addressed to the kernel and mean nothing elsewhere. */
#define LANGUAGE_HAS_MAGICS 32u
/* A template's modules can be imported ahead of need, in a zygote of their own. */
#define LANGUAGE_PRELOADS 64u
/* Code can call tools of the client: it takes KERNEL_TOOLS. */
#define LANGUAGE_CALLS_TOOLS 128u

/* What tells two spellings of the same code from two different cells. */
struct language_syntax {
	const char *comment;	     /* begins one, to the end of the line */
	bool has_block_comments;     /* and from slash-star to star-slash */
	bool ignores_operator_space; /* white space beside an operator means nothing */
	bool has_equal_quotes;	     /* 'x' and "x" are the same string */
};

/*
 * Code that gives a program its name and arguments: before_name NAME after_name, before_each ARGUMENT
 * for each, after_all. Each is quoted: as JSON, or for a shell.
 */
struct language_arguments {
	const char *before_name, *after_name, *before_each, *after_all; /* NULL: it takes none */
	bool is_shell;
};

/*
 * How cells stand in a script: as they are, but for those that a program cannot hold and those that
 * failed. These are given as text to what the prelude defines, or to the language itself.
 */
struct language_script {
	const char *prelude;		   /* NULL: nothing is defined */
	const char *cell, *failed, *close; /* before such a text, and behind it */
	const char *end_of_cell;	   /* behind a cell that draws */
	/* Words of cells; NULL at the end. */
	const char *const *given_as_text, *const *draws, *const *needs;
	const char *quotes[2]; /* of raw text of several lines; NULL: it is quoted for a shell */
};

struct language {
	const char *name;	     /* in options, requests, records and the journal */
	const char *prose_name;	     /* in a sentence */
	const char *const *aliases;  /* also behind a fence in Markdown; NULL at the end */
	const char *const *suffixes; /* of files, without the dot, the usual one first; NULL at the end */
	struct language_syntax syntax;
	unsigned features; /* LANGUAGE_… */

	struct language_arguments arguments;
	struct language_script script;
	const char *exit_error; /* name of the error when a program ends itself; its value: how */

	const char *zygote; /* program of libexec that kernels are forked from */

	const char *prompt_label; /* of the console's prompt, as in "In [3]: " */
	const char *result_label; /* of a value in the console, or NULL: shown without one */

	/* Of a notebook's metadata. */
	const char *kernelspec_name, *kernelspec_display_name, *mime;

	const char *tool_description; /* of the model's tool, which has the language's name */
	const char *tool_words; /* how code calls the client's tools, in a sentence; NULL: it cannot */
};

/* The row at a place from 0 on; the first one is the default. NULL at the end. */
const struct language *language_at(size_t index);
const struct language *language_default(void);
size_t language_index(const struct language *language);

/* By name alone; NULL when there is none. */
const struct language *language_find(const char *name);
/* The same, for an optional name: NULL is the default. */
const struct language *language_find_or_default(const char *name);
/* By name or alias, in any case: what people and models write. */
const struct language *language_find_label(const char *label, size_t len);
/* By the suffix of a file's name. */
const struct language *language_find_path(const char *path);

/* The first one whose code is commands; NULL: there is none. */
const struct language *language_shell(void);

/* Sets *err to "unknown language", with the known ones as its remedy. Returns ERR_INVALID. */
int language_unknown(const char *name, struct err *err);

/* For tables of options: "python bash", "python (default) or bash". */
extern const char language_words[], language_help[];
