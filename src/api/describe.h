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
#define API_NAMED_MAX 63u  /* of what may be given for one: a longer text is not a name at all */
#define API_MONEY_UNIT 1000000 /* of a `money`, in one */
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
	API_SECONDS,
	API_TIME,
	API_TEXT,
	API_ID,
	API_CODE,
	API_WORD,
	API_WORDS,
	API_JSON,
	API_OBJECT,
	API_ENV,
	API_BASE64,
	API_MONEY,
	API_ONE,
	API_MANY,
};

enum api_place { API_BODY, API_PATH, API_QUERY, API_HEADER, API_WHOLE, API_INTERNAL };

enum api_form { API_FORM_ANY, API_FORM_PATH, API_FORM_SESSION_NAME, API_FORM_DAY,
		API_FORM_LINE };

struct api_type;

struct api_field {
	const char *name;
	enum api_kind kind;
	enum api_place place;
	uint16_t offset;       /* in its struct */
	uint16_t given_offset; /* of the bool that says that it is there; or API_NO_OFFSET */
	bool is_required;
	bool is_nullable; /* of an answer: null when there is none; of a request: null is 0 */
	enum api_form form;
	uint64_t least; /* of a number its value, of a text its bytes, of a list its entries */
	uint64_t most;
	const char *const *words;    /* closed by NULL; of a word the first is 1, of words bit 0 */
	const struct api_type *type; /* of a `one`, or of each entry of a `many` */
	const char *const *excludes; /* fields that may not be set beside it, closed by NULL */
	const char *needs;	     /* the field that must have `needs_value` beside it, or NULL */
	unsigned needs_value;
	bool needs_or_none; /* or be left out */
	bool has_default;   /* a client that sends `default_value` says nothing */
	uint64_t default_value;
	const char *short_name; /* of a `many`: the field of an entry that is a string alone */
	unsigned status; /* of a whole answer; 0: that of the call */
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
	API_SCOPE_ANY = 128, /* any key that is good */
};

/* What an error of a call is called towards clients of the native API. */
struct api_error_row {
	const char *name;
	unsigned status;
};

struct api_call {
	const char *name;
	const char *path; /* of the native API; "": no client can ask for it */
	enum http_verb verb;
	unsigned status; /* of success */
	enum api_scope scope;
	enum api_scope own_scope; /* enough for what the key itself began */
	const struct api_type *takes, *gives;
	uint16_t session_offset; /* of the session's id in what it takes; or API_NO_OFFSET */
	uint16_t execution_offset;
	const char *media;	 /* of an answer that is not JSON, else NULL */
	bool is_whole;		 /* the answer is the value of the one field that is given */
	bool gives_descriptor;	 /* one comes along: of a file, or to write an upload to */
	bool gives_events;	 /* the answer is a stream, which is asked for piece by piece */
	bool is_part;		 /* of a client's request that another call counts */
	bool begins;		 /* something, which a daemon that stops does not */
	bool grows;		 /* it adds to what is kept, for which the disk may be too full */
	bool needs_box;		 /* of its session, which must not be paused */
	bool is_local;		 /* what speaks for clients answers it, reckond does not know it */
	unsigned commits;	 /* of an upload: the enum api_id that takes what was written; or 0 */
};
