/*
 * link.h - the agent's end of wire/agent.h: everything it knows of the world but the model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/conversation/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/agent.h"

struct link {
	int sock;
	bool interrupted; /* since the last question came */
	uint64_t next_id; /* of an EXECUTE */
	struct kernel_head head; /* the frame that was received last */
	struct buf payload;
	struct kernel_item items[AGENT_FIELDS_MAX];
	size_t item_count;
};

void link_init(struct link *link, int sock);

/* The next frame into `link`: 1, 0 when our parent is gone, or an error. */
int link_receive(struct link *link, struct err *err);

/* A net_watch_fn: takes in what our parent sends while we talk to the model. */
bool link_watch(void *arg);

int link_ready(struct link *link, struct err *err);
/* A piece that is too long for one frame goes as several. */
int link_text(struct link *link, enum agent_type type, const char *text, size_t len,
	      struct err *err);
int link_notice(struct link *link, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As link_notice(), of an answer that was begun to be told and is asked for again. */
int link_discard(struct link *link, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int link_turn(struct link *link, const struct agent_usage *usage, struct err *err);

/* A piece of the code of the call of that index, while it is written. */
int link_code(struct link *link, size_t call, const char *text, size_t len, struct err *err);
/* A call of the application's tools. */
int link_call(struct link *link, const struct model_call *call, struct err *err);
/* The conversation as it is now. */
/* What stands in `sealed` of a conversation: its maker, and other members. */
int link_sealed(struct link *link, uint64_t maker, const char *members, size_t len,
		struct err *err);
int link_conversation(struct link *link, const struct buf *json, struct err *err);

/* Has a cell run and waits for its result, whose fields are in `link` afterwards. */
int link_execute(struct link *link, const char *code, size_t len, struct err *err);
/* The same of a command; `call`: JSON of what it belongs to. */
int link_command(struct link *link, const char *text, const struct agent_command *command,
		 const struct buf *call, struct err *err);
/* The same with a part of an output; `needle` "": all lines. */
int link_page(struct link *link, const char *handle, const struct agent_part *part,
	      const char *needle, struct err *err);

/* Whether the files are there; `names` are lines. The answer is in `link` afterwards. */
int link_look(struct link *link, const struct buf *names, struct err *err);

struct link_end {
	enum agent_stop stop;
	const struct agent_usage *usage;
	const struct buf *answer; /* or NULL */
	const struct err *why;	  /* or NULL */
	const struct agent_checked *checked; /* of the answer; or NULL */
};
int link_done(struct link *link, const struct link_end *end, struct err *err);
