/*
 * references.h - items of an input that are named by their ids.
 */
#pragma once

#include "dialects/openai/openai.h"

struct reference {
	const struct json_value *from; /* of the input */
	struct json_value *to;	       /* a copy of what it names */
};

bool references_is(const struct json_value *item);
/* Finds all of the input's. Negative: refused. */
int references_load(struct request *request, struct order *order);
/* The item itself, or what it names. */
const struct json_value *references_item(const struct order *order, const struct json_value *item);
void references_done(struct order *order);
