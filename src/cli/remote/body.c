/*
 * body.c - writes the JSON body that creates a session.
 *
 * Runs in:  reckon-client.
 * Reads:    struct run, which is already checked.
 * Never:    sends what the user did not set: the daemon has its own defaults.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "codec/json_write.h"

/* If a variable is set twice, the last one counts, as in a shell. */
static bool is_set_again(const struct run *run, size_t at, size_t name_len)
{
	for (size_t i = at + 1; i < run->env_count; i++)
		if (strncmp(run->env[i], run->env[at], name_len + 1) == 0)
			return true;
	return false;
}

static void write_env(struct json_writer *json, const struct run *run)
{
	json_write_key(json, "env");
	json_write_object_begin(json);
	for (size_t i = 0; i < run->env_count; i++) {
		const size_t len = strcspn(run->env[i], "=");

		if (is_set_again(run, i, len))
			continue;
		json_write_key_text(json, run->env[i], len);
		json_write_string(json, run->env[i] + len + 1);
	}
	json_write_object_end(json);
}

static void write_seconds(struct json_writer *json, const char *name, uint64_t ms)
{
	if (ms == 0)
		return;
	json_write_key(json, name);
	json_write_seconds(json, ms * 1000000u);
}

static void write_limits(struct json_writer *json, const reckon_limits *limits, bool with_wall)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "memory_bytes", limits->memory_bytes }, { "disk_bytes", limits->disk_bytes },
		{ "output_bytes", limits->output_bytes }, { "processes", limits->pids },
		{ "cpu_percent", limits->cpu_percent },
	};

	json_write_key(json, "limits");
	json_write_object_begin(json);
	write_seconds(json, "wall_s", with_wall ? limits->wall_ms : 0);
	write_seconds(json, "cpu_s", limits->cpu_ms);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value != 0)
			json_write_member_uint(json, numbers[i].name, numbers[i].value);
	json_write_object_end(json);
}

static void write_volumes(struct json_writer *json, const struct run *run)
{
	json_write_key(json, "volumes");
	json_write_array_begin(json);
	for (size_t i = 0; i < run->volume_count; i++) {
		const struct run_volume *volume = &run->volumes[i];

		json_write_object_begin(json);
		json_write_member_string(json, "volume", volume->name);
		if (volume->path != NULL)
			json_write_member_string(json, "path", volume->path);
		if (volume->read_only)
			json_write_member_bool(json, "read_only", true);
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

int remote_session_body(const struct run *run, const struct remote_body *body, struct buf *ret,
			struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (body->name != NULL)
		json_write_member_string(&json, "name", body->name);
	if (body->snapshot != NULL)
		json_write_member_string(&json, "snapshot", body->snapshot);
	if (run->template_name != NULL)
		json_write_member_string(&json, "template", run->template_name);
	if (run->language != NULL)
		json_write_member_string(&json, "language", run->language);
	if (run->env_count > 0)
		write_env(&json, run);
	if (run->volume_count > 0)
		write_volumes(&json, run);
	write_limits(&json, &run->limits, body->with_wall);
	write_seconds(&json, "idle_timeout_s", body->idle_ms);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
