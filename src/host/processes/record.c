/*
 * record.c - encodes usage and changed files of a process as JSON, for its row.
 *
 * Runs in:  reckond's loop.
 * Reads:    measurements of the warden, and a scan of the workspace.
 * Never:    uses data from the process itself.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "codec/json_write.h"
#include "host/db/tables/files.h"
#include "host/host.h"
#include "host/processes/process.h"
#include "host/tenants/quota.h"
#include "host/tenants/usage.h"

#define LISTED_FILES 200u

static void artifact_of(const reckon_workspace_entry *entry, char *ret, size_t size)
{
	(void)snprintf(ret, size, "ar_%.32s", entry->content);
}

/* Writes a list of at most LISTED_FILES changed or removed entries. */
static void write_entries(struct json_writer *writer, const char *key,
			  const reckon_workspace *changes, bool are_gone, bool by_artifact)
{
	char artifact[40];
	size_t count = 0;

	json_write_key(writer, key);
	json_write_array_begin(writer);
	for (size_t i = 0; i < changes->count && count < LISTED_FILES; i++) {
		const reckon_workspace_entry *entry = &changes->entries[i];

		if ((entry->kind == RECKON_ENTRY_GONE) != are_gone)
			continue;
		count++;
		if (by_artifact && entry->kind == RECKON_ENTRY_FILE)
			artifact_of(entry, artifact, sizeof(artifact));
		json_write_string(writer, !by_artifact				 ? entry->path
					  : entry->kind == RECKON_ENTRY_FILE ? artifact
									     : NULL);
	}
	json_write_array_end(writer);
}

static bool is_too_much(const reckon_workspace *changes)
{
	size_t gone = 0;

	for (size_t i = 0; i < changes->count; i++)
		gone += changes->entries[i].kind == RECKON_ENTRY_GONE;
	return gone > LISTED_FILES || changes->count - gone > LISTED_FILES;
}

static void note_changes(struct process *process, const reckon_workspace *changes)
{
	struct json_writer writer;
	struct err err;

	if (changes == NULL || changes->is_whole || changes->count == 0)
		return;
	json_write_init(&writer, &process->row.files);
	json_write_object_begin(&writer);
	write_entries(&writer, "changed", changes, false, false);
	write_entries(&writer, "artifacts", changes, false, true);
	write_entries(&writer, "deleted", changes, true, false);
	json_write_member_bool(&writer, "truncated", is_too_much(changes));
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &err) < 0)
		buf_clear(&process->row.files);
}

/* Adds versions of the first changed files whose contents are in the store. */
static void note_versions(const struct process *process, const reckon_workspace *changes)
{
	struct session *session = process->session;
	struct file_work work = { 0 };
	struct err err;

	for (size_t i = 0; changes != NULL && !changes->is_whole && i < changes->count; i++) {
		const reckon_workspace_entry *entry = &changes->entries[i];
		reckon_file_info info = { .size = entry->size };

		if (entry->kind != RECKON_ENTRY_FILE || work.version_count == LISTED_FILES)
			continue;
		(void)snprintf(info.sha256, sizeof(info.sha256), "%s", entry->content);
		artifact_of(entry, info.artifact, sizeof(info.artifact));
		file_work_keep(&work, entry->path, "process", &info);
		usage_own(session->host, session->tenant, info.artifact, info.size);
	}
	if (db_version_add(session->host->db, session->row.id, work.versions, work.version_count,
			   &err) < 0)
		log_line(LOG_ERROR, "versions of files could not be noted",
			 "session=%s why=\"%s\"", session->row.id, err.text);
	file_work_done(&work);
}

void process_note_files(struct process *process, const reckon_workspace *changes)
{
	note_changes(process, changes);
	note_versions(process, changes);
}

static void write_limits(struct json_writer *writer, const struct process *process)
{
	json_write_key(writer, "limits");
	json_write_object_begin(writer);
	if (process->wall_ms != 0) {
		json_write_key(writer, "wall_s");
		json_write_seconds(writer, process->wall_ms * 1000000u);
	}
	if (process->cpu_ms != 0) {
		json_write_key(writer, "cpu_s");
		json_write_seconds(writer, process->cpu_ms * 1000000u);
	}
	json_write_object_end(writer);
}

void process_note_usage(struct process *process)
{
	const reckon_process_state *state = &process->result;
	const uint64_t cpu_ms = (state->cpu_user_ns + state->cpu_system_ns) / 1000000u;
	struct session *session = process->session;
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &process->row.usage);
	json_write_object_begin(&writer);
	json_write_key(&writer, "wall_s");
	json_write_seconds(&writer, state->wall_ns);
	json_write_key(&writer, "cpu_user_s");
	json_write_seconds(&writer, state->cpu_user_ns);
	json_write_key(&writer, "cpu_system_s");
	json_write_seconds(&writer, state->cpu_system_ns);
	json_write_member_uint(&writer, "memory_peak_bytes", state->memory_peak_bytes);
	json_write_member_uint(&writer, "processes_peak", state->processes_peak);
	json_write_member_uint(&writer, "read_bytes", state->read_bytes);
	json_write_member_uint(&writer, "written_bytes", state->written_bytes);
	write_limits(&writer, process);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &err) < 0)
		buf_clear(&process->row.usage);
	quota_note_cpu(session->tenant, cpu_ms);
	usage_add(session->host, session->tenant,
		  &(struct front_usage){ .wall_ms = state->wall_ns / 1000000u, .cpu_ms = cpu_ms });
}
