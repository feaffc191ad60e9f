/*
 * fuzz_agent_claims.c - claims stay within the answer, whatever answer and output contain.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: an answer, and after the first NUL the output of the run.
 * Never:    executes anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claims/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_within(const struct agent_claim *claim, size_t len)
{
	if (claim->offset > len || claim->len > len - claim->offset || claim->len == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *nul = size > 0 ? memchr(text, '\0', size) : NULL;
	const size_t len = nul != NULL ? (size_t)(nul - text) : size;
	cleanup_buf struct buf name = BUF_INIT(4096);
	struct agent_checked checked = { 0 };
	struct evidence evidence = { 0 };
	struct agent_claim claim;
	size_t at = 0;

	if (nul != NULL)
		evidence_add(&evidence, nul + 1, size - len - 1);
	claims_check_numbers(text, len, &evidence, &checked);
	for (size_t i = 0; i < checked.listed; i++)
		expect_within(&checked.claims[i], len);
	while (claims_next_link(text, len, &at, &name, &claim))
		expect_within(&claim, len);
	evidence_done(&evidence);
	return 0;
}
