/*
 * describe.h - how the field table looks at run time: what reads and writes a struct goes by this.
 *
 * calls.h, with the structs and the table itself, is made in the build (generate.py).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/http.h"

#define API_NO_OFFSET UINT16_MAX
#define API_ID_MAX 31u	   /* bytes of an id */
#define API_NAMED_MAX 63u  /* of what may be given for one: a longer text is no name at all */
#define API_ENV_TOTAL_MAX (32u * 1024u) /* all variables, each with "=" and NUL */

/* Bytes that may hold a NUL; `data` NULL: not given. */
struct api_bytes {
	const char *data;
	size_t len;
};

/* Of an `env` each is a `const char *`, NAME=value; of a `many` a struct as its field says. */
struct api_list {
	const void *items;
	size_t count;
};

enum api_kind { /* table/model.py says what each is in C and in JSON */
	API_FLAG,
	API_NUMBER,
	API_TEXT,
	API_ID,
	API_CODE,
	API_WORD,
	API_JSON,
	API_ENV,
	API_MANY,
};

enum api_place { API_BODY, API_PATH, API_QUERY, API_WHOLE };

struct api_type;

struct api_field {
	const char *name;
	enum api_kind kind;
	enum api_place place;
	uint16_t offset;       /* in its struct */
	uint16_t given_offset; /* of the bool that says that it is there; or API_NO_OFFSET */
	bool is_required;
	bool is_nullable; /* of an answer: null when there is none */
	bool is_path;	  /* of a text: it begins with "/" */
	uint64_t least;	  /* of a number its value, of a text its bytes, of a list its entries */
	uint64_t most;
	const char *const *words;	/* of a word, closed by NULL; the first is 1 */
	const struct api_type *type; /* of each entry of a `many` */
};

struct api_type {
	const char *name;
	size_t size;
	const struct api_field *fields;
	size_t count;
};

/* What a key must be allowed; the same bits as FRONT_SCOPE_… */
enum api_scope {
	API_SCOPE_NONE = 0, /* no key is needed */
	API_SCOPE_ADMIN = 1,
	API_SCOPE_SESSIONS = 2,
	API_SCOPE_EXECUTE = 4,
	API_SCOPE_FILES = 8,
	API_SCOPE_READ = 16,
	API_SCOPE_AGENT = 32,
};

struct api_call {
	const char *name;
	const char *path; /* of the native API, as in its table of endpoints */
	enum http_verb verb;
	unsigned status; /* of success */
	enum api_scope scope;
	const struct api_type *takes, *gives;
	uint16_t session_offset; /* of the session's id in what it takes; or API_NO_OFFSET */
	const char *media;	 /* of an answer that is no JSON, else NULL */
	bool is_whole;		 /* the answer is the value of its one field */
};
