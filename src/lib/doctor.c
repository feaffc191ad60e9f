/*
 * doctor.c - reports this host's isolation as JSON.
 *
 * Runs in:  libreckon.
 * Reads:    the warden's answer to PROBE, the template directory.
 * Never:    judges: the warden chooses the words.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "lib/api.h"
#include "lib/engine.h"

#define DOCTOR_MAX (256u * 1024u)
#define PROBE_TIMEOUT_MS 30000

/* Names come from fixed arrays that may lack a terminator. */
static void member_fixed(struct json_writer *json, const char *key, const char *text, size_t size)
{
	json_write_member_text(json, key, text, strnlen(text, size));
}

/* Isolation that only some sessions ask for, or that improves a host; all others every host
 * needs. */
static bool is_optional(const char *name, size_t size)
{
	static const char *const names[] = { "twins", "cpu groups", "core scheduling",
					     "speculation control" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(name, names[i], size) == 0)
			return true;
	return false;
}

static void write_walls(struct json_writer *json, const struct warden_walls *walls)
{
	json_write_key(json, "walls");
	json_write_array_begin(json);
	for (uint32_t i = 0; i < walls->count && i < WARDEN_WALLS_MAX; i++) {
		const struct warden_wall *wall = &walls->wall[i];

		json_write_object_begin(json);
		member_fixed(json, "name", wall->name, sizeof(wall->name));
		member_fixed(json, "state", wall->state, sizeof(wall->state));
		member_fixed(json, "detail", wall->detail, sizeof(wall->detail));
		member_fixed(json, "remedy", wall->remedy, sizeof(wall->remedy));
		json_write_member_bool(json, "optional",
				       is_optional(wall->name, sizeof(wall->name)));
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void write_templates(struct json_writer *json, const char *template_dir)
{
	struct dirent **names = NULL;
	const int count = scandir(template_dir, &names, not_hidden, alphasort);

	json_write_key(json, "templates");
	json_write_array_begin(json);
	for (int i = 0; i < count; i++) {
		char path[4096];

		if (snprintf(path, sizeof(path), "%s/%s/template.ini", template_dir,
			     names[i]->d_name) < (int)sizeof(path) &&
		    access(path, R_OK) == 0)
			json_write_string(json, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	json_write_array_end(json);
}

static int write_doctor(const struct reckon_engine *engine, const struct warden_walls *walls,
			struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "schema", "reckon.doctor/1");
	json_write_member_string(&json, "version", RECKON_VERSION);
	json_write_member_bool(&json, "rootless", walls->rootless != 0);
	json_write_member_string(&json, "state_dir", engine->state_dir);
	json_write_member_string(&json, "template_dir", engine->template_dir);
	write_templates(&json, engine->template_dir);
	write_walls(&json, walls);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int doctor(struct reckon_engine *engine, char **ret_json, struct err *err)
{
	struct warden_request request = { .type = WARDEN_PROBE };
	cleanup_buf struct buf json = BUF_INIT(DOCTOR_MAX);
	struct client_call call;
	struct client *client;

	if (engine_check_idle(engine, err) < 0 || engine_client(engine, &client, err) < 0 ||
	    client_ask(client, &request, NULL, 0, &call, PROBE_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	client_forget(client, &call);
	if (write_doctor(engine, &call.reply.walls, &json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(json.data);
	return 0;
}

int reckon_engine_doctor(reckon_engine *engine, char **ret_json, reckon_error *err)
{
	struct err inner;

	if (doctor(engine, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
