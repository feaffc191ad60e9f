/*
 * message.h - a message under construction; shared by message.c and envelope.c.
 */
#pragma once

#include "dialects/anthropic/anthropic.h"

/* Usage of a run. */
struct usage {
	uint64_t in, cached, out, reasoning;
};

/* A call by code. */
struct lent_call {
	const char *id, *name, *arguments;
	size_t len;
};

struct message {
	struct request *request;
	struct order *order;
	struct run run;
	struct blocks blocks;
	bool has_begun;
	struct usage before; /* reported in earlier messages */
	struct usage usage;
	/* of the current cell */
	char cell[NAME_SIZE];
	enum anthropic_tool shown;
	struct lent_call calls[ANTHROPIC_LENT_MAX];
	size_t call_count;
	struct programmatic_place place;
	uint64_t wait_s;
};

/* ---- envelope.c ---- */
void message_usage(const struct json_value *usage, struct usage *ret);
/* Sends a stream's head, once; negative: the client is gone. */
int message_begin(struct message *message);
/* Sends the end, after all content. */
void message_finish(struct message *message, const char *reason);
void message_fail(const struct message *message, unsigned status, const char *text);
