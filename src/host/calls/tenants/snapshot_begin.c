/*
 * snapshot_begin.c - starts a new session from a snapshot.
 *
 * Runs in:  reckond's loop.
 * Reads:    the rows of the snapshot, parameters of the request.
 * Never:    gives a session a weaker isolation than the snapshot's.
 *
 * The thread that opens the session restores the files as for a session without a box
 * (sessions/work.c). They are in the new session's manifest as soon as it has a row, so removing
 * the snapshot then has no effect on it.
 */
#include "host/calls/tenants/snapshot_begin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/tenants/quota.h"

void snapshot_begin_done(struct snapshot_begin *begin)
{
	reckon_workspace_free(begin->manifest);
	free(begin->env);
	db_snapshot_done(&begin->row);
}

static bool is_in(const struct api_list *env, const char *variable)
{
	const char *const *items = env->items;
	const size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < env->count; i++)
		if (strncmp(items[i], variable, len) == 0)
			return true;
	return false;
}

/* If both set a variable, the request's value is used. */
static bool take_env(struct host *host, const struct request *req, struct session_params *params,
		     struct snapshot_begin *begin)
{
	const struct buf *stored = &begin->row.env;
	const char *const *given = params->env.items;
	size_t most = params->env.count, count = 0;

	for (size_t at = 0; at < stored->len; at += strlen(stored->data + at) + 1)
		most++;
	begin->env = mem_new0(most + 1, sizeof(*begin->env));
	for (size_t at = 0; at < stored->len; at += strlen(stored->data + at) + 1)
		if (!is_in(&params->env, stored->data + at))
			begin->env[count++] = stored->data + at;
	for (size_t i = 0; i < params->env.count; i++)
		begin->env[count++] = given[i];
	params->env = (struct api_list){ begin->env, count };
	if (count <= FRONT_ENV_MAX)
		return true;
	front_fail(host, req->id, API_ERR_INVALID,
		   "with those of the snapshot there are more than 256 variables", "",
		   "set fewer", 0);
	return false;
}

static void take_limits(struct front_limits *params, const struct front_limits *stored)
{
#define TAKE(name) params->name = params->name != 0 ? params->name : stored->name
	TAKE(wall_ms);
	TAKE(cpu_ms);
	TAKE(memory_bytes);
	TAKE(disk_bytes);
	TAKE(inodes);
	TAKE(file_bytes);
	TAKE(output_bytes);
	TAKE(pids);
	TAKE(cpu_percent);
	TAKE(displays);
#undef TAKE
}

bool snapshot_begin_take(struct host *host, const struct request *req, const char *id,
			 struct session_params *params, struct snapshot_begin *ret)
{
	struct db_snapshot *row = &ret->row;
	char message[96];
	struct err err;
	int found;

	memset(ret, 0, sizeof(*ret));
	db_snapshot_init(row);
	if (id == NULL)
		return true;
	found = db_snapshot_find(host->db, req->tenant->row.id, id, row, &err);
	if (found == 0) {
		(void)snprintf(message, sizeof(message), "there is no snapshot %.31s", id);
		front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
			   "list them: GET /reckon/v1/snapshots", 0);
		return false;
	}
	if (found < 0 || db_snapshot_files(host->db, row->id, &ret->manifest, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return false;
	}
	if (params->template_name == NULL)
		params->template_name = row->template_name;
	if (params->language == NULL)
		params->language = row->language;
	params->policy |= row->policy;
	take_limits(&params->limits, &row->limits);
	return quota_disk(host, req, row->bytes) && take_env(host, req, params, ret);
}

void snapshot_begin_give(struct snapshot_begin *begin, struct session *session, struct job *job)
{
	struct db_persisted *persisted = &session->persisted;

	memcpy(session->given.snapshot, begin->row.id, sizeof(session->given.snapshot));
	job->box.manifest = TAKE_PTR(begin->manifest);
	persisted->unsaved_count = begin->row.unsaved_count;
	(void)snprintf(persisted->unsaved_why, sizeof(persisted->unsaved_why), "%s",
		       begin->row.unsaved_why);
}
