/* jupyter_history.h - what was executed in a kernel, as a history_request asks for it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

struct jupyter_history {
	struct jupyter_entry *entries;
	size_t count, space, bytes;
	size_t bytes_max; /* of all code that is kept */
};

void jupyter_history_add(struct jupyter_history *history, uint64_t line, const char *code,
			 size_t len);
/* The member "history" of a reply to a request with this content. */
void jupyter_history_write(struct json_writer *json, const struct jupyter_history *history,
			   const struct json_value *content);
void jupyter_history_done(struct jupyter_history *history);
