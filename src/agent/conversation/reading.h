/*
 * reading.h - what a model wants to see again of an output that was cut or shortened. Pure.
 *
 * Where output is left out, a mark says with which words all of it can be read, those of the command
 * line: reckon output HANDLE [--lines A:B | --head N | --tail N | --range A-B] [--grep TEXT]. A cell
 * that holds nothing but them is not run but answered with a page, and so is the tool `read_output`.
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
	char needle[AGENT_NEEDLE_MAX + 1]; /* "": all lines */
	struct agent_part part;
};

/* Whether the cell is one line that begins so, with or without the '!' of a notebook. */
bool reading_is(const char *code, size_t len);

/* ERR_INVALID, in words for the model, when the rest of that line is not understood. */
int reading_of_words(const char *code, size_t len, struct reading *ret, struct err *err);

/* The same of the tool's arguments: "handle", "lines", "grep". */
int reading_of_arguments(const struct json_value *arguments, struct reading *ret,
			 struct err *err);

void reading_choice(const struct reading *reading, struct page_choice *ret);
