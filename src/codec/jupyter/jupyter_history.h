/* jupyter_history.h - the code executed in a kernel, for replies to history_request. No side
 * effects. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

struct jupyter_history {
	struct jupyter_entry *entries;
	size_t count, space, bytes;
	size_t bytes_max; /* of all stored code */
};

void jupyter_history_add(struct jupyter_history *history, uint64_t line, const char *code,
			 size_t len);
/* Writes the member "history" of the reply to a request with this content. */
void jupyter_history_write(struct json_writer *json, const struct jupyter_history *history,
			   const struct json_value *content);
void jupyter_history_done(struct jupyter_history *history);
