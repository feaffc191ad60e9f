/*
 * list.h - lists the models of a server: the request in each wire format, and its answer. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/formats/provider.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

#define LIST_ANSWER_MAX ((size_t)4 * 1024 * 1024)

/* Sets address and headers; the body stays empty. */
int list_request(enum agent_protocol protocol, struct provider_request *request, struct err *err);

struct list {
	/* one on each line, at most AGENT_NAMES_MAX; without names that cannot be typed */
	struct buf names;
	uint64_t count;	  /* number of all models in the answer */
};

void list_init(struct list *list);
void list_done(struct list *list);

/* ERR_PROTOCOL: not a list of models. `json` is untrusted. */
int list_read(const char *json, size_t len, struct list *ret, struct err *err);
