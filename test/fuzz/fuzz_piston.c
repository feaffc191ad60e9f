/*
 * fuzz_piston.c - bodies of /execute, ranges of versions, the runtimes that a box printed.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/piston/piston.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_value *body = NULL;
	struct piston_job job;
	char why[192], *text = malloc(size + 1);
	struct err err;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (json_read_parse(text, size, 1 << 20, &body, &err) == 0 &&
	    piston_job_read(body, &job, why, sizeof(why)) &&
	    (job.language == NULL || job.wanted == NULL || job.run_ms == 0))
		abort();
	json_read_free(body);
	(void)piston_version_fits(text, "3.11.2");
	(void)piston_version_fits("^3.1", text);
	(void)piston_version_of(text, "python");
	free(text);
	return 0;
}
