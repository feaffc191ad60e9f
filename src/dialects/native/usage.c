/*
 * usage.c - usage of tenants as CSV (RFC 4180).
 *
 * Runs in:  reckon-front-native.
 * Reads:    numbers of reckond.
 * Never:    quotes a field: ids and days contain no character that needs it.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "dialects/native/native.h"

#define CSV_MAX ((size_t)64 * 1024 * 1024)

static int write_csv(const struct api_list *days, struct buf *ret, struct err *err)
{
	const struct api_usage_day *day = days->items;

	if (buf_adds(ret, "tenant,day,sessions,executions,wall_s,cpu_s,memory_mib_s,bytes_in,"
			  "bytes_out,disk_bytes\r\n", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < days->count; i++, day++)
		if (buf_addf(ret, err,
			     "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ".%03u,%" PRIu64
			     ".%03u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n",
			     day->tenant, day->day, day->sessions, day->executions,
			     day->wall_ms / 1000, (unsigned)(day->wall_ms % 1000),
			     day->cpu_ms / 1000, (unsigned)(day->cpu_ms % 1000),
			     day->memory_mib_s, day->bytes_in, day->bytes_out,
			     day->disk_bytes) < 0)
			return (int)err->code;
	return 0;
}

void native_usage_csv(struct request *request, const struct api_usage *usage)
{
	cleanup_buf struct buf text = BUF_INIT(CSV_MAX);
	struct err err;

	if (write_csv(&usage->usage, &text, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, "text/csv; charset=utf-8", &text,
			    "Content-Disposition: attachment; filename=\"usage.csv\"\r\n");
}
