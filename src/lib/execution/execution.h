/* execution.h - an execution that has ended; for execute.c, execution.c and agent/agent.c alone. */
#pragma once

#include "base/buf.h"
#include "lib/record/record.h"
#include "lib/store/store.h"
#include "reckon.h"

struct reckon_execution {
	struct buf record; /* as JSON */
	struct record *kept; /* what that was made from */
	enum record_status status;
	reckon_cost cost;
	struct store_note *objects;
	size_t object_count;
};

/* Where something is kept that `text` leaves out; NULL: there is no further one. */
const char *execution_handle(const reckon_execution *execution, size_t index);
