/*
 * reading.h - parses requests to read an output that was truncated or shortened. Pure.
 *
 * Where output is omitted, a mark names the command that reads it, as on the command line: reckon
 * output HANDLE [--lines A:B | --head N | --tail N | --range A-B] [--grep TEXT]. A cell with only
 * this command is not run, but answered with a page of the output, like a call of the tool
 * `read_output`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "codec/json_read.h"
#include "codec/page.h"
#include "wire/agent.h"

#define READING_TOOL "read_output"

struct reading {
	char handle[AGENT_HANDLE_MAX + 1];
	char needle[AGENT_NEEDLE_MAX + 1]; /* search text; "": all lines */
	struct agent_part part;
};

/* Whether the cell is one line with this command, with or without the '!' of a notebook. */
bool reading_is(const char *code, size_t len);

/* ERR_INVALID, with a text for the model: the arguments are not valid. */
int reading_of_words(const char *code, size_t len, struct reading *ret, struct err *err);

/* The same for the tool's arguments: "handle", "lines", "grep". */
int reading_of_arguments(const struct json_value *arguments, struct reading *ret,
			 struct err *err);

void reading_choice(const struct reading *reading, struct page_choice *ret);
