/* agent.h - an answer: agent.c collects it, answer.c reports it. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "agent_client/outcome.h"
#include "driver/driver.h"
#include "reckon_agent.h"

#define ANSWER_RECORDS_MAX ((size_t)512 * 1024 * 1024)

struct reckon_answer {
	struct outcome outcome;
	struct buf question;
	struct buf text;
	bool has_text;
	struct agent_checked checked;
	enum agent_stop stop;
	struct agent_usage usage;
	bool has_price;
	struct driver_call calls[AGENT_CALLS_MAX];
	size_t call_count;
	struct buf conversation;
	char *model; /* PROTOCOL/NAME */
	char message[sizeof(((struct err *)NULL)->text)];
	char remedy[sizeof(((struct err *)NULL)->remedy)];
};

/* ERR_INVALID for invalid options. */
int agent_read_settings(const reckon_agent_options *options, struct agent_settings *ret,
			struct err *err);

struct reckon_answer *answer_new(void);
void answer_usage(const struct agent_usage *usage, reckon_agent_usage *ret); /* all members except
									      * `size` */
