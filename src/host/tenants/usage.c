/*
 * usage.c - usage of tenants, by day, from receipts; which tenant owns an artifact or output.
 *
 * Runs in:  reckond's loop.
 * Reads:    what libreckon measured from outside the box, never values from inside.
 * Never:    distinguishes an object of another tenant from one that does not exist.
 */
#include "host/tenants/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define DAY_SIZE 16
#define MIB (1024u * 1024u)

static void today(char ret[DAY_SIZE])
{
	char now[CLOCK_RFC3339_SIZE];

	clock_rfc3339_now(now);
	(void)snprintf(ret, DAY_SIZE, "%.10s", now);
}

static void add_up(struct front_usage *to, const struct front_usage *more)
{
	to->executions += more->executions;
	to->wall_ms += more->wall_ms;
	to->cpu_ms += more->cpu_ms;
	to->memory_mib_s += more->memory_mib_s;
	to->bytes_in += more->bytes_in;
	to->bytes_out += more->bytes_out;
	to->sessions += more->sessions;
	if (more->disk_bytes > to->disk_bytes)
		to->disk_bytes = more->disk_bytes;
}

void usage_add(struct host *host, struct tenant *tenant, const struct front_usage *usage)
{
	struct front_usage more = *usage;
	char day[DAY_SIZE];
	struct err err;

	more.disk_bytes = tenant->row.stored_bytes + tenant->workspaces + tenant->volume_bytes;
	add_up(&tenant->since_start, &more);
	today(day);
	if (db_usage_add(host->db, tenant->row.id, day, &more, &err) < 0)
		log_line(LOG_ERROR, "usage could not be kept", "tenant=%s why=\"%s\"",
			 tenant->row.id, err.text);
}

void session_measured(struct session *session, uint64_t memory, uint64_t workspace)
{
	struct tenant *tenant = session->tenant;

	tenant->memory_used += memory - session->measured.memory;
	session->host->admission.memory_used += memory - session->measured.memory;
	tenant->workspaces += workspace - session->measured.workspace;
	session->measured.memory = memory;
	session->measured.workspace = workspace;
}

void usage_unopened(struct host *host, struct tenant *tenant)
{
	/* The sums wrap around, in memory and in the table, so this subtracts one. */
	usage_add(host, tenant, &(struct front_usage){ .sessions = UINT64_MAX });
}

void usage_own(struct host *host, struct tenant *tenant, const char *id, uint64_t size)
{
	const char *digits = strchr(id, '_');
	struct err err;
	int added = digits != NULL ? db_object_add(host->db, tenant->row.id, digits + 1, size, &err)
				   : 0;

	if (added < 0)
		log_line(LOG_ERROR, "whose an object is could not be kept", "id=%s why=\"%s\"", id,
			 err.text);
	else if (added > 0)
		tenant->row.stored_bytes += size;
}

void usage_executed(struct host *host, const struct job *job)
{
	struct tenant *tenant = job->session->tenant;
	const reckon_cost *cost = &job->result.cost;
	const struct front_usage usage = {
		.executions = 1,
		.wall_ms = cost->wall_ns / 1000000u,
		.cpu_ms = cost->cpu_ns / 1000000u,
		.memory_mib_s = cost->memory_peak_bytes / MIB * (cost->wall_ns / 1000000u) / 1000u,
		.bytes_in = job->execution->code.len,
		.bytes_out = job->result.json_len,
	};

	for (size_t i = 0; i < job->result.object_count; i++)
		usage_own(host, tenant, job->result.objects[i].id, job->result.objects[i].size);
	quota_note_cpu(tenant, usage.cpu_ms);
	quota_note_execution(host, usage.wall_ms);
	session_measured(job->session, cost->memory_bytes, cost->disk_bytes);
	usage_add(host, tenant, &usage);
}

bool usage_owns(struct host *host, const struct tenant *tenant, const char *handle)
{
	const char *digits = strchr(handle, '_');

	return digits != NULL && db_object_has(host->db, tenant->row.id, digits + 1);
}

void usage_each(const struct host *host, usage_fn *fn, void *arg)
{
	for (const struct tenant *at = host->tenants.first; at != NULL; at = at->next) {
		const struct usage_view view = { .tenant = at->row.id,
						 .name = at->row.name,
						 .sessions = at->sessions,
						 .executions = at->executions,
						 .memory_limit_bytes = at->memory_limits,
						 .memory_used_bytes = at->memory_used,
						 .workspace_bytes = at->workspaces,
						 .stored_bytes = at->row.stored_bytes,
						 .since_start = at->since_start };

		if (!at->is_deleted)
			fn(&view, arg);
	}
}
