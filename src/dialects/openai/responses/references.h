/*
 * references.h - resolves items of an input that are references to stored items.
 */
#pragma once

#include "dialects/openai/openai.h"

struct reference {
	const struct json_value *from; /* item of the input */
	struct json_value *to;	       /* a copy of the stored item */
};

bool references_is(const struct json_value *item);
/* Resolves all references in the input. Negative: refused. */
int references_load(struct request *request, struct order *order);
/* The item itself, or the stored item that it refers to. */
const struct json_value *references_item(const struct order *order, const struct json_value *item);
void references_done(struct order *order);
