/* execution.h - an execution that has ended; only for execute.c, execution.c and agent/agent.c. */
#pragma once

#include "base/buf.h"
#include "lib/record/record.h"
#include "lib/store/store.h"
#include "reckon.h"

struct reckon_execution {
	struct buf record; /* as JSON */
	struct record *source; /* from which that JSON was written */
	enum record_status status;
	reckon_cost cost;
	struct store_note *objects;
	size_t object_count;
};

/* The id of stored content that `text` leaves out; NULL: there are no more. */
const char *execution_handle(const reckon_execution *execution, size_t index);
