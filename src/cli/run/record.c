/*
 * record.c - prints the record of a cell in the chosen mode.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    records; their text comes from the box.
 * Never:    adds text of Reckon to stdout, which has the code's output or lines of JSON.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/run/run.h"

void run_output_record(struct run_output *output, const char *json, size_t len)
{
	const struct run *run = output->run;
	struct json_value *record = NULL;
	struct err err;

	if (run->mode == RUN_MODE_JSON)
		run_output_raw_line(output, json, len);
	if (run->mode != RUN_MODE_TEXT && output->out_dir < 0 && !run->receipt)
		return;
	if (json_read_parse(json, len, RUN_JSON_MAX, &record, &err) < 0) {
		err_wrap(&err, "cell %zu: record", output->cell);
		(void)cli_complain(&err);
		output->status = EXIT_CODE_RECKON;
		return;
	}
	if (run->mode == RUN_MODE_TEXT) {
		run_output_settle(output);
		/* After a write error nobody reads a report. */
		if (output->status == 0)
			run_report_status(output, record);
	}
	run_save_all(output, record);
	if (run->receipt)
		run_report_receipt(output, record);
	json_read_free(record);
}
