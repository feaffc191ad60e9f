/*
 * link.h - the agent's end of wire/agent.h: its only connection besides the model's server.
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
	bool interrupted; /* since the last question */
	uint64_t next_id; /* of the next request to the parent */
	struct kernel_head head; /* the last received frame */
	struct buf payload;
	struct kernel_item items[AGENT_FIELDS_MAX];
	size_t item_count;
};

void link_init(struct link *link, int sock);

/* Receives the next frame into `link`. 1: received; 0: the parent is gone; or an error. */
int link_receive(struct link *link, struct err *err);

/* A net_watch_fn: handles the parent's frames while a request to the model runs. */
bool link_watch(void *arg);

int link_ready(struct link *link, struct err *err);
/* Text that is too long for one frame is sent in several. */
int link_text(struct link *link, enum agent_type type, const char *text, size_t len,
	      struct err *err);
int link_notice(struct link *link, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Like link_notice(), for an answer that was partly sent and is requested again. */
int link_discard(struct link *link, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int link_turn(struct link *link, const struct agent_usage *usage, struct err *err);

/* Sends a piece of the code of the call with that index, while the model writes it. */
int link_code(struct link *link, size_t call, const char *text, size_t len, struct err *err);
/* Sends a call of an application's tool. */
int link_call(struct link *link, const struct model_call *call, struct err *err);
/* Sends an entry for `sealed` of a conversation: its maker, and other members. */
int link_sealed(struct link *link, uint64_t maker, const char *members, size_t len,
		struct err *err);
int link_conversation(struct link *link, const struct buf *json, struct err *err);

/* Has a cell run and waits for its result, whose fields are then in `link`. */
int link_execute(struct link *link, const char *code, size_t len, struct err *err);
/* The same for a shell command; `call` is the JSON of its shell call. */
int link_command(struct link *link, const char *text, const struct agent_command *command,
		 const struct buf *call, struct err *err);
/* The same for a part of an output; `needle` "": all lines. */
int link_page(struct link *link, const char *handle, const struct agent_part *part,
	      const char *needle, struct err *err);

/* Asks whether the files exist; `names` has one on each line. The reply is then in `link`. */
int link_look(struct link *link, const struct buf *names, struct err *err);

struct link_end {
	enum agent_stop stop;
	const struct agent_usage *usage;
	const struct buf *answer; /* or NULL */
	const struct err *why;	  /* or NULL */
	const struct agent_checked *checked; /* of the answer; or NULL */
};
int link_done(struct link *link, const struct link_end *end, struct err *err);
