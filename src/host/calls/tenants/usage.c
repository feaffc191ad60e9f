/*
 * usage.c - the call that reports usage of tenants by day.
 *
 * Runs in:  reckond's loop.
 * Reads:    the database.
 * Never:    shows a tenant the usage of another.
 */
#include <stdlib.h>
#include <string.h>

#include "api/arena.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/host.h"

/* The days of a report. */
struct report {
	struct arena arena;
	struct api_usage_day *items;
	size_t count, room;
};

static int add_day(const char *tenant, const char *day, const struct front_usage *used, void *arg,
		   struct err *err)
{
	struct report *report = arg;

	(void)err;
	if (report->count == report->room) {
		report->room = report->room * 2 + 64;
		report->items = mem_grow(report->items, report->room, sizeof(*report->items));
	}
	report->items[report->count++] = (struct api_usage_day){
		.tenant = arena_text(&report->arena, tenant, strlen(tenant)),
		.day = arena_text(&report->arena, day, strlen(day)),
		.sessions = used->sessions,
		.executions = used->executions,
		.wall_ms = used->wall_ms,
		.cpu_ms = used->cpu_ms,
		.memory_mib_s = used->memory_mib_s,
		.bytes_in = used->bytes_in,
		.bytes_out = used->bytes_out,
		.disk_bytes = used->disk_bytes,
	};
	return 0;
}

/* An admin key sees all tenants unless it names one; any other key sees its own. */
void handle_usage(struct host *host, const struct request *req, const struct api_usage_in *in)
{
	const bool sees_all = (req->key->row.scopes & FRONT_SCOPE_ADMIN) != 0 && in->tenant == NULL;
	const struct tenant *tenant = tenant_of_id(host, req, in->tenant);
	struct report report = { 0 };
	struct err err;

	if (tenant == NULL)
		return;
	if (db_usage_list(host->db, sees_all ? NULL : tenant->row.id,
			  in->from != NULL ? in->from : "0000-00-00",
			  in->to != NULL ? in->to : "9999-99-99", add_day, &report, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_usage(host, req->id,
			    &(struct api_usage){ .usage = { report.items, report.count } });
	free(report.items);
	arena_done(&report.arena);
}
