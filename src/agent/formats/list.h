/*
 * list.h - which models a server has: the question in each wire format, and its answer. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/formats/provider.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

#define LIST_ANSWER_MAX ((size_t)4 * 1024 * 1024)

/* Address and headers; the body stays empty. */
int list_request(enum agent_protocol protocol, struct provider_request *request, struct err *err);

struct list {
	struct buf names; /* a line each, at most AGENT_NAMES_MAX of them; without what no one types */
	uint64_t count;	  /* of all that the answer holds */
};

void list_init(struct list *list);
void list_done(struct list *list);

/* ERR_PROTOCOL for what is not a list of models; `json` may be anything. */
int list_read(const char *json, size_t len, struct list *ret, struct err *err);
