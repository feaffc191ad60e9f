/*
 * status.c - names and explanations of an execution's status.
 *
 * Runs in:  libreckon.
 * Reads:    the receipt: the limits that applied.
 * Never:    decides the status.
 */
#include <inttypes.h>

#include "lib/record/state.h"

struct status_row {
	const char *name;
	int exit_code;
	const char *error_name; /* if nothing was raised */
};

static const struct status_row statuses[RECORD_STATUS_COUNT] = {
	[RECORD_OK] = { "ok", 0, "" },
	[RECORD_ERROR] = { "error", 1, "Error" },
	[RECORD_TIMEOUT] = { "timeout", 124, "Timeout" },
	[RECORD_INTERRUPTED] = { "interrupted", 1, "Interrupted" },
	[RECORD_OUT_OF_MEMORY] = { "out_of_memory", 137, "OutOfMemory" },
	[RECORD_OUTPUT_LIMIT] = { "output_limit", 1, "OutputLimit" },
	[RECORD_KILLED] = { "killed", 137, "Killed" },
	[RECORD_KERNEL_DIED] = { "kernel_died", 1, "KernelDied" },
	[RECORD_INFRA_ERROR] = { "infra_error", 125, "InfrastructureError" },
};

const char *record_status_name(enum record_status status)
{
	return statuses[status].name;
}

int record_status_exit_code(enum record_status status)
{
	return statuses[status].exit_code;
}

const char *record_status_error(enum record_status status)
{
	return statuses[status].error_name;
}

/* "the limit of 30 s": in the larger unit if that is exact. */
static void explain_limit(struct buf *ret, const char *what, uint64_t limit, uint64_t step,
			  const char *small, const char *large)
{
	struct err ignored; /* `ret` has room for a sentence */

	if (limit == 0)
		(void)buf_adds(ret, what, &ignored);
	else if (limit % step == 0)
		(void)buf_addf(ret, &ignored, "%s of %" PRIu64 " %s", what, limit / step, large);
	else
		(void)buf_addf(ret, &ignored, "%s of %" PRIu64 " %s", what, limit, small);
}

/* A size as users write it: 1 GiB, not 1024 MiB. */
static void explain_bytes(struct buf *ret, const char *what, uint64_t limit)
{
	if (limit % (1u << 30) == 0)
		explain_limit(ret, what, limit, 1u << 30, "bytes", "GiB");
	else
		explain_limit(ret, what, limit, 1u << 20, "bytes", "MiB");
}

void record_explain(const struct record *record, enum record_status status, struct buf *ret)
{
	const struct record_receipt *receipt = &record->receipt;
	struct err ignored; /* `ret` has room for a sentence */

	switch (status) {
	case RECORD_OK:
		break;
	case RECORD_ERROR:
		(void)buf_adds(ret, "the code failed", &ignored);
		break;
	case RECORD_TIMEOUT:
		explain_limit(ret, "stopped by the time limit", receipt->limit_wall_ms, 1000, "ms",
			      "s");
		break;
	case RECORD_INTERRUPTED:
		(void)buf_adds(ret, "the execution was interrupted", &ignored);
		break;
	case RECORD_OUT_OF_MEMORY:
		explain_bytes(ret, "ended by the memory limit", receipt->limit_memory_bytes);
		break;
	case RECORD_OUTPUT_LIMIT:
		explain_bytes(ret, "stopped by the output limit", receipt->limit_output_bytes);
		break;
	case RECORD_KILLED:
		(void)buf_adds(ret, "the kernel was killed; its variables are gone", &ignored);
		break;
	case RECORD_KERNEL_DIED:
		(void)buf_adds(ret, "the kernel ended by itself; its variables are gone", &ignored);
		break;
	case RECORD_INFRA_ERROR:
		(void)buf_adds(ret, "Reckon could not run the code; the code is not to blame",
			       &ignored);
		break;
	}
}
