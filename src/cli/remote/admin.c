/*
 * admin.c - reckon key, tenant and usage.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    prints them to a terminal unescaped, or a key except when it is created.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define QUOTAS_MAX 32
#define SCOPES_MAX 8
#define PAGE 500u

struct admin {
	struct remote remote;
	const char *tenant, *expires, *overlap, *new_name, *state, *from, *to;
	const char *quotas[QUOTAS_MAX], *scopes[SCOPES_MAX];
	size_t quota_count, scope_count;
	bool csv, mcp_approve;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct admin *admin = arg;
	const struct {
		int id;
		const char **to;
	} texts[] = {
		{ 't', &admin->tenant },   { 'e', &admin->expires }, { 'o', &admin->overlap },
		{ 'n', &admin->new_name }, { 'x', &admin->state },   { 'f', &admin->from },
		{ 'u', &admin->to },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].id == id) {
			*texts[i].to = value;
			return 0;
		}
	if (id == 'c' || id == 'A') {
		*(id == 'c' ? &admin->csv : &admin->mcp_approve) = true;
		return 0;
	}
	if (id == 'q' && admin->quota_count < QUOTAS_MAX) {
		admin->quotas[admin->quota_count++] = value;
		return 0;
	}
	if (id == 'S' && admin->scope_count < SCOPES_MAX) {
		admin->scopes[admin->scope_count++] = value;
		return 0;
	}
	return remote_take(&admin->remote, id, value) ? 0 : remote_unexpected(value, err);
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* "90", "15m", "12h", "90d": writes seconds. */
static int put_time(struct json_writer *json, const char *key, const char *text, struct err *err)
{
	static const struct {
		const char *unit;
		uint64_t seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	const size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits > 0 && digits < 10 && i < ARRAY_LEN(units); i++)
		if (strcmp(text + digits, units[i].unit) == 0) {
			json_write_member_uint(json, key,
					       strtoull(text, NULL, 10) * units[i].seconds);
			return 0;
		}
	(void)err_set(err, ERR_INVALID, "invalid time '%.60s'", text);
	return err_remedy(err, "as 3600, 15m, 12h or 90d");
}

/* NAME=VALUE with a number, or NAME= for null. The daemon checks the names. */
static int put_quota(struct json_writer *json, const char *text, struct err *err)
{
	const char *equals = strchr(text, '='), *value = equals != NULL ? equals + 1 : "";
	const size_t len = strlen(value), whole = strspn(value, "0123456789");
	const size_t part = value[whole] == '.' ? 1 + strspn(value + whole + 1, "0123456789") : 0;

	if (equals == NULL || equals == text || whole + part != len || whole > 15 || part == 1 ||
	    (len > 0 && whole == 0) || (whole > 1 && value[0] == '0')) {
		(void)err_set(err, ERR_INVALID, "invalid quota '%.60s'", text);
		return err_remedy(err, "NAME=NUMBER, or NAME= to take it away");
	}
	json_write_key_text(json, text, (size_t)(equals - text));
	if (len > 0)
		json_write_raw(json, value, len);
	else
		json_write_null(json);
	return 0;
}

static int put_quotas(struct json_writer *json, const struct admin *admin, struct err *err)
{
	if (admin->quota_count == 0)
		return 0;
	json_write_key(json, "quotas");
	json_write_object_begin(json);
	for (size_t i = 0; i < admin->quota_count; i++)
		if (put_quota(json, admin->quotas[i], err) < 0)
			return (int)err->code;
	json_write_object_end(json);
	return 0;
}

static void put_scopes(struct json_writer *json, const struct admin *admin)
{
	static const char *const standard[] = { "sessions", "execute", "files", "read" };

	json_write_key(json, "scopes");
	json_write_array_begin(json);
	for (size_t i = 0; i < admin->scope_count; i++)
		json_write_string(json, admin->scopes[i]);
	for (size_t i = 0; admin->scope_count == 0 && i < ARRAY_LEN(standard); i++)
		json_write_string(json, standard[i]);
	json_write_array_end(json);
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The id of the tenant with this name; an id is returned unchanged. */
int remote_tenant_id(struct client *client, const char *name, struct buf *ret, struct err *err)
{
	struct json_value *page;
	const struct json_value *tenants;

	if (strncmp(name, "te_", 3) == 0)
		return buf_adds(ret, name, err);
	if (client_call(client, "GET", "tenants?limit=500", NULL, &page, err) < 0)
		return (int)err->code;
	tenants = json_read_member(page, "tenants");
	for (size_t i = 0; i < json_read_count(tenants); i++)
		if (strcmp(json_get_str(json_read_at(tenants, i), "name"), name) == 0) {
			const int code =
				buf_adds(ret, json_get_str(json_read_at(tenants, i), "id"), err);

			json_read_free(page);
			return code;
		}
	json_read_free(page);
	(void)err_set(err, ERR_NOT_FOUND, "there is no tenant %.60s", name);
	return err_remedy(err, "see reckon tenant ls");
}

static int need_name(const struct admin *admin, const char *what, struct err *err)
{
	if (admin->remote.name != NULL)
		return 0;
	(void)err_set(err, ERR_INVALID, "%s is missing", what);
	return (int)err->code;
}

/* ---- showing -------------------------------------------------------------------------------- */

/* Prints only the key to stdout, so that a script can store it; its description goes to stderr. */
static int show_key(const struct admin *admin, const struct json_value *key)
{
	if (admin->remote.json)
		return remote_print_json(key);
	(void)fprintf(stderr, "reckon: %s, shown this once%s%s\n", json_get_str(key, "id"),
		      json_get_str(key, "expires_at")[0] != '\0' ? "; it expires " : "",
		      json_get_str(key, "expires_at"));
	(void)printf("%s\n", json_get_str(key, "key"));
	return EXIT_CODE_OK;
}

/* ---- one request each ----------------------------------------------------------------------- */

typedef int ask_fn(const struct admin *admin, struct client *client, struct json_value **ret,
		   struct err *err);

/* Connects and sends the request. *ret_status is -1 if there is an answer to print. */
static struct json_value *ask(const struct opt_command *self, int argc, char **argv,
			      struct admin *admin, ask_fn *fn, int *ret_status)
{
	struct json_value *answer = NULL;
	struct client *client;
	struct err err;
	int code;

	*ret_status = remote_parse(self, argc, argv, take, admin);
	if (*ret_status >= 0)
		return NULL;
	code = remote_open(&admin->remote, &client, &err);
	if (code == 0) {
		code = fn(admin, client, &answer, &err);
		client_close(client);
	}
	if (code < 0)
		*ret_status = cli_complain_of(self, &err);
	return code < 0 ? NULL : answer;
}

static int ask_key_create(const struct admin *admin, struct client *client,
			  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(65536), id = BUF_INIT(256);
	struct json_writer json;

	if (admin->tenant != NULL && remote_tenant_id(client, admin->tenant, &id, err) < 0)
		return (int)err->code;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	if (admin->remote.name != NULL)
		json_write_member_string(&json, "name", admin->remote.name);
	if (admin->tenant != NULL)
		json_write_member_string(&json, "tenant", buf_text(&id));
	put_scopes(&json, admin);
	if (admin->mcp_approve)
		json_write_member_bool(&json, "mcp_approve", true);
	if (admin->expires != NULL && put_time(&json, "expires_s", admin->expires, err) < 0)
		return (int)err->code;
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	return client_call(client, "POST", "keys", &body, ret, err);
}

static int ask_key_rotate(const struct admin *admin, struct client *client,
			  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(4096), path = BUF_INIT(1024);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	if (admin->overlap != NULL && put_time(&json, "overlap_s", admin->overlap, err) < 0)
		return (int)err->code;
	json_write_object_end(&json);
	if (need_name(admin, "KEY", err) < 0 || json_write_finish(&json, err) < 0 ||
	    buf_adds(&path, "keys/", err) < 0 ||
	    client_path_add(&path, admin->remote.name, false, err) < 0 ||
	    buf_adds(&path, "/rotate", err) < 0)
		return (int)err->code;
	return client_call(client, "POST", buf_text(&path), &body, ret, err);
}

static int ask_key_rm(const struct admin *admin, struct client *client, struct json_value **ret,
		      struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (need_name(admin, "KEY", err) < 0 || buf_adds(&path, "keys/", err) < 0 ||
	    client_path_add(&path, admin->remote.name, false, err) < 0)
		return (int)err->code;
	return client_call(client, "DELETE", buf_text(&path), NULL, ret, err);
}

static int ask_key_ls(const struct admin *admin, struct client *client, struct json_value **ret,
		      struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (buf_addf(&path, err, "keys?limit=%u%s", PAGE,
		     admin->tenant != NULL ? "&tenant=" : "") < 0 ||
	    (admin->tenant != NULL && remote_tenant_id(client, admin->tenant, &path, err) < 0))
		return (int)err->code;
	return client_call(client, "GET", buf_text(&path), NULL, ret, err);
}

/* "tenants/ID" for the operand. */
static int tenant_path(const struct admin *admin, struct client *client, struct buf *path,
		       struct err *err)
{
	cleanup_buf struct buf id = BUF_INIT(256);

	if (need_name(admin, "TENANT", err) < 0 ||
	    remote_tenant_id(client, admin->remote.name, &id, err) < 0 ||
	    buf_adds(path, "tenants/", err) < 0)
		return (int)err->code;
	return client_path_add(path, buf_text(&id), false, err);
}

static int tenant_body(const struct admin *admin, const char *name, struct buf *ret,
		       struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (name != NULL)
		json_write_member_string(&json, "name", name);
	if (admin->state != NULL)
		json_write_member_string(&json, "state", admin->state);
	if (put_quotas(&json, admin, err) < 0)
		return (int)err->code;
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int ask_tenant_create(const struct admin *admin, struct client *client,
			     struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(65536);

	if (need_name(admin, "NAME", err) < 0 ||
	    tenant_body(admin, admin->remote.name, &body, err) < 0)
		return (int)err->code;
	return client_call(client, "POST", "tenants", &body, ret, err);
}

static int ask_tenant_set(const struct admin *admin, struct client *client,
			  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(65536), path = BUF_INIT(1024);

	if (tenant_body(admin, admin->new_name, &body, err) < 0 ||
	    tenant_path(admin, client, &path, err) < 0)
		return (int)err->code;
	return client_call(client, "PATCH", buf_text(&path), &body, ret, err);
}

static int ask_tenant_show(const struct admin *admin, struct client *client,
			   struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (tenant_path(admin, client, &path, err) < 0)
		return (int)err->code;
	return client_call(client, "GET", buf_text(&path), NULL, ret, err);
}

static int ask_tenant_rm(const struct admin *admin, struct client *client,
			 struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (tenant_path(admin, client, &path, err) < 0)
		return (int)err->code;
	return client_call(client, "DELETE", buf_text(&path), NULL, ret, err);
}

static int ask_tenant_ls(const struct admin *admin, struct client *client,
			 struct json_value **ret, struct err *err)
{
	(void)admin;
	return client_call(client, "GET", "tenants?limit=500", NULL, ret, err);
}

static int usage_path(const struct admin *admin, struct client *client, struct buf *path,
		      struct err *err)
{
	cleanup_buf struct buf id = BUF_INIT(256);
	const struct {
		const char *name, *value;
	} parts[] = {
		{ "tenant", admin->tenant != NULL ? buf_text(&id) : NULL },
		{ "from", admin->from },
		{ "to", admin->to },
		{ "format", admin->csv ? "csv" : NULL },
	};
	const char *between = "?";

	if (buf_adds(path, "usage", err) < 0 ||
	    (admin->tenant != NULL && remote_tenant_id(client, admin->tenant, &id, err) < 0))
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *value = i == 0 && admin->tenant != NULL ? buf_text(&id)
								    : parts[i].value;

		if (value == NULL)
			continue;
		if (buf_addf(path, err, "%s%s=", between, parts[i].name) < 0 ||
		    client_path_add(path, value, false, err) < 0)
			return (int)err->code;
		between = "&";
	}
	return 0;
}

static int ask_usage(const struct admin *admin, struct client *client, struct json_value **ret,
		     struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (usage_path(admin, client, &path, err) < 0)
		return (int)err->code;
	if (!admin->csv)
		return client_call(client, "GET", buf_text(&path), NULL, ret, err);
	return client_download(client, buf_text(&path), STDOUT_FILENO, NULL, err);
}

/* ---- the commands --------------------------------------------------------------------------- */

int remote_key_create(const struct opt_command *self, int argc, char **argv)
{
	struct admin admin = { 0 };
	const bool rotates = strcmp(self->name, "key rotate") == 0;
	int status;
	struct json_value *key = ask(self, argc, argv, &admin,
				     rotates ? ask_key_rotate : ask_key_create, &status);

	if (key != NULL)
		status = show_key(&admin, key);
	json_read_free(key);
	return status;
}

/* For requests whose answer is not printed. */
int remote_admin_rm(const struct opt_command *self, int argc, char **argv)
{
	struct admin admin = { 0 };
	int status;
	struct json_value *done = ask(self, argc, argv, &admin,
				      strcmp(self->name, "key rm") == 0 ? ask_key_rm
									: ask_tenant_rm,
				      &status);

	if (done != NULL)
		status = EXIT_CODE_OK;
	json_read_free(done);
	return status;
}

static int show_tenant(const struct admin *admin, const struct json_value *tenant)
{
	static const char *const parts[] = { "quotas", "now" };
	const struct json_value *value;
	const char *key;

	if (admin->remote.json)
		return remote_print_json(tenant);
	(void)printf("%s  %s  %s\n", json_get_str(tenant, "id"), json_get_str(tenant, "name"),
		     json_get_str(tenant, "state"));
	for (size_t part = 0; part < ARRAY_LEN(parts); part++) {
		const struct json_value *object = json_read_member(tenant, parts[part]);

		for (size_t i = 0; json_read_member_at(object, i, &key, &value); i++) {
			cleanup_buf struct buf text = BUF_INIT(4096);
			struct err err;

			if (json_read_dump(value, &text, &err) == 0)
				(void)printf("  %s %s %s\n", part == 0 ? "quota" : "now  ", key,
					     buf_text(&text));
		}
	}
	return EXIT_CODE_OK;
}

int remote_tenant_one(const struct opt_command *self, int argc, char **argv)
{
	struct admin admin = { 0 };
	ask_fn *fn = ask_tenant_show;
	struct json_value *tenant;
	int status;

	if (strcmp(self->name, "tenant create") == 0)
		fn = ask_tenant_create;
	else if (strcmp(self->name, "tenant set") == 0)
		fn = ask_tenant_set;
	tenant = ask(self, argc, argv, &admin, fn, &status);
	if (tenant != NULL)
		status = show_tenant(&admin, tenant);
	json_read_free(tenant);
	return status;
}

int remote_admin_ls(const struct opt_command *self, int argc, char **argv)
{
	static const struct remote_column key_columns[] = {
		{ "ID", "id", REMOTE_TEXT },	       { "NAME", "name", REMOTE_TEXT },
		{ "TENANT", "tenant", REMOTE_TEXT },   { "STATE", "state", REMOTE_TEXT },
		{ "SCOPES", "scopes", REMOTE_TEXT },   { "EXPIRES", "expires_at", REMOTE_TEXT },
		{ "LAST USED", "used_at", REMOTE_TEXT },
	};
	static const struct remote_column tenant_columns[] = {
		{ "NAME", "name", REMOTE_TEXT },
		{ "STATE", "state", REMOTE_TEXT },
		{ "ID", "id", REMOTE_TEXT },
		{ "CREATED", "created_at", REMOTE_TEXT },
	};
	const bool of_keys = strcmp(self->name, "key ls") == 0;
	struct admin admin = { 0 };
	int status;
	struct json_value *page = ask(self, argc, argv, &admin,
				      of_keys ? ask_key_ls : ask_tenant_ls, &status);
	const struct json_value *rows = json_read_member(page, of_keys ? "keys" : "tenants");

	if (page != NULL && admin.remote.json)
		status = remote_print_json(rows);
	else if (page != NULL && of_keys)
		status = remote_print_rows(rows, key_columns, ARRAY_LEN(key_columns));
	else if (page != NULL)
		status = remote_print_rows(rows, tenant_columns, ARRAY_LEN(tenant_columns));
	json_read_free(page);
	return status;
}

int remote_usage(const struct opt_command *self, int argc, char **argv)
{
	static const struct remote_column columns[] = {
		{ "TENANT", "tenant", REMOTE_TEXT },
		{ "DAY", "day", REMOTE_TEXT },
		{ "SESSIONS", "sessions", REMOTE_NUMBER },
		{ "EXECUTIONS", "executions", REMOTE_NUMBER },
		{ "WALL S", "wall_s", REMOTE_NUMBER },
		{ "CPU S", "cpu_s", REMOTE_NUMBER },
		{ "MEM MIB*S", "memory_mib_s", REMOTE_NUMBER },
		{ "IN", "bytes_in", REMOTE_NUMBER },
		{ "OUT", "bytes_out", REMOTE_NUMBER },
		{ "DISK", "disk_bytes", REMOTE_NUMBER },
	};
	struct admin admin = { 0 };
	int status;
	struct json_value *page = ask(self, argc, argv, &admin, ask_usage, &status);
	const struct json_value *rows = json_read_member(page, "usage");

	if (page != NULL && admin.remote.json)
		status = remote_print_json(rows);
	else if (page != NULL)
		status = remote_print_rows(rows, columns, ARRAY_LEN(columns));
	else if (status < 0)
		status = EXIT_CODE_OK; /* the table was printed as it arrived */
	json_read_free(page);
	return status;
}
