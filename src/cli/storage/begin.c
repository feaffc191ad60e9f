/*
 * begin.c - creates a session with volumes and a snapshot.
 *
 * Runs in:  reckon-client.
 * Reads:    struct run, which is already checked; answers of a daemon.
 * Never:    creates a session if a volume or snapshot is missing.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/run.h"
#include "cli/storage/storage.h"
#include "codec/json_get.h"

/* Looks for missing volumes before it creates the session, so that the error names the option. */
static int check_volumes(struct client *client, const struct run *run, struct err *err)
{
	for (size_t i = 0; i < run->volume_count; i++) {
		struct json_value *volume;

		if (storage_volume(client, run->volumes[i].name, &volume, err) < 0)
			return err_wrap(err, "--volume");
		json_read_free(volume);
	}
	return 0;
}

int storage_begin(struct client *client, const struct run *run, const struct remote_body *body,
		  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(1024 * 1024);
	struct json_value *snapshot = NULL;
	struct remote_body whole = *body;
	int code = check_volumes(client, run, err);

	if (code == 0 && run->snapshot != NULL) {
		code = storage_snapshot(client, run->snapshot, &snapshot, err);
		if (code < 0)
			(void)err_wrap(err, "--snapshot");
		else
			whole.snapshot = json_get_str(snapshot, "id");
	}
	if (code == 0)
		code = remote_session_body(run, &whole, &text, err);
	if (code == 0)
		code = client_call(client, "POST", "sessions", &text, ret, err);
	json_read_free(snapshot);
	return code;
}

static bool is_mounted(const struct json_value *mounted, const struct run_volume *wanted)
{
	bool read_only = false;
	const char *name = json_get_str(mounted, "name");

	(void)json_read_bool(json_read_member(mounted, "read_only"), &read_only);
	if (read_only != wanted->read_only || (strcmp(wanted->name, name) != 0 &&
					       strcmp(wanted->name, json_get_str(mounted, "id")) != 0))
		return false;
	if (wanted->path != NULL)
		return strcmp(wanted->path, json_get_str(mounted, "path")) == 0;
	return strncmp(json_get_str(mounted, "path"), "/mnt/", 5) == 0 &&
	       strcmp(json_get_str(mounted, "path") + 5, name) == 0;
}

bool storage_has_volumes(const struct json_value *session, const struct run *run)
{
	const struct json_value *volumes = json_read_member(session, "volumes");

	for (size_t i = 0; i < run->volume_count; i++) {
		bool found = false;

		for (size_t j = 0; !found && j < json_read_count(volumes); j++)
			found = is_mounted(json_read_at(volumes, j), &run->volumes[i]);
		if (!found)
			return false;
	}
	return true;
}
