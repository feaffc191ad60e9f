/*
 * describe.h - the field table at run time, which all code that reads or writes a struct follows.
 *
 * calls.h, with the structs and the table itself, is generated in the build (generate.py).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/http.h"

#define API_NO_OFFSET UINT16_MAX
#define API_NAMED_MAX 63u  /* of a name given instead of an id: no longer text is a name */
#define API_MONEY_UNIT 1000000 /* one unit of a `money` field */
#define API_ENV_TOTAL_MAX (32u * 1024u) /* all variables together, each with "=" and NUL */

/* Bytes that may hold a NUL; `data` NULL: not given. */
struct api_bytes {
	const char *data;
	size_t len;
};

/* An `env` has a `const char *` (NAME=value) per item, a `many` a struct of the field's type. */
struct api_list {
	const void *items;
	size_t count;
};

enum api_kind { /* table/model.py defines each in C and in JSON */
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
	uint16_t offset;       /* in the struct */
	uint16_t given_offset; /* of the bool that says whether it is given; or API_NO_OFFSET */
	bool is_required;
	bool is_nullable; /* in an answer: null if missing; in a request: null means 0 */
	enum api_form form;
	uint64_t least; /* a number's value, a text's bytes, a list's entries */
	uint64_t most;
	const char *const *words;    /* NULL-terminated; a word counts from 1, words' bits from 0 */
	const struct api_type *type; /* of a `one`, or of each entry of a `many` */
	const char *const *excludes; /* fields that cannot be used with this one; NULL-terminated */
	const char *needs;	     /* a field that must have `needs_value` with this, or NULL */
	unsigned needs_value;
	bool needs_or_none; /* or may be missing */
	bool has_default;   /* sending `default_value` is the same as leaving it out */
	uint64_t default_value;
	const char *short_name; /* of a `many`: an entry may be a string: this field's value */
	unsigned status; /* of an answer that is this field; 0: the call's status */
};

struct api_type {
	const char *name;
	size_t size;
	const struct api_field *fields;
	size_t count;
};

/* The scope that a key needs; the same bits as FRONT_SCOPE_… */
enum api_scope {
	API_SCOPE_NONE = 0, /* no key is needed */
	API_SCOPE_ADMIN = 1,
	API_SCOPE_SESSIONS = 2,
	API_SCOPE_EXECUTE = 4,
	API_SCOPE_FILES = 8,
	API_SCOPE_READ = 16,
	API_SCOPE_AGENT = 32,
	API_SCOPE_ANY = 128, /* any valid key */
};

/* Name and status of an error for clients of the native API. */
struct api_error_row {
	const char *name;
	unsigned status;
};

struct api_call {
	const char *name;
	const char *path; /* of the native API; "": clients cannot call it */
	enum http_verb verb;
	unsigned status; /* of success */
	enum api_scope scope;
	enum api_scope own_scope; /* enough for objects that the same key created */
	const struct api_type *takes, *gives;
	uint16_t session_offset; /* of the session's id in `takes`; or API_NO_OFFSET */
	uint16_t execution_offset;
	const char *media;	 /* of an answer that is not JSON, else NULL */
	bool is_whole;		 /* the answer is the value of its one given field */
	bool gives_descriptor;	 /* of a file to read, or to write an upload to */
	bool gives_events;	 /* the answer is a stream, fetched piece by piece */
	bool is_part;		 /* of a client's request that another call counts */
	bool begins;		 /* starts something; refused while the daemon drains */
	bool grows;		 /* stores more data; refused while the disk is full */
	bool needs_box;		 /* needs its session's box, which must not be paused */
	bool is_local;		 /* the dialect answers it; reckond does not know it */
	unsigned commits;	 /* of an upload: enum api_id of the call that takes it; or 0 */
};
