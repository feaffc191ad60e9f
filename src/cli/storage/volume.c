/*
 * volume.c - reckon volume: folders of a daemon that outlive sessions.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line, answers of a daemon.
 * Never:    removes a volume that was not named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/storage/storage.h"
#include "codec/json_write.h"

#define NONE "reckon: no volumes (reckon volume create NAME makes one)\n"

int storage_volume_path(struct buf *path, const char *name, const char *rest, struct err *err)
{
	buf_clear(path);
	if (buf_adds(path, "volumes/", err) < 0 || client_path_add(path, name, false, err) < 0)
		return (int)err->code;
	return buf_adds(path, rest, err);
}

int storage_volume(struct client *client, const char *name, struct json_value **ret,
		   struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (storage_volume_path(&path, name, "", err) < 0)
		return (int)err->code;
	if (client_call(client, "GET", buf_text(&path), NULL, ret, err) == 0)
		return 0;
	/* The daemon refuses a text that cannot be a name, so no volume has it. */
	if (err->code != ERR_NOT_FOUND && client_last(client)->status != 400)
		return (int)err->code;
	(void)err_set(err, ERR_NOT_FOUND, "there is no volume %.64s at %s", name,
		      client_name(client));
	return err_remedy(err, "reckon volume ls shows what there is, reckon volume create NAME "
			       "makes one");
}

/* ---- create, show ---- */

static int create(struct client *client, const char *name, struct json_value **ret,
		  struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(4096);
	struct json_writer json;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", name);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	if (client_call(client, "POST", "volumes", &body, ret, err) == 0)
		return 0;
	if (client_last(client)->status != 400)
		return (int)err->code;
	return err_remedy(err, "1 to 63 letters, digits, '_', '.' and '-'; the first a letter or a "
			       "digit");
}

int storage_volume_create(const struct opt_command *self, int argc, char **argv)
{
	struct remote remote = { 0 };
	struct json_value *volume = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, remote_take_all, &remote);

	if (status >= 0)
		return status;
	if (remote.name == NULL) {
		(void)err_set(&err, ERR_INVALID, "missing argument NAME");
		return cli_complain_of(self, &err);
	}
	if (remote_open(&remote, &client, &err) < 0 ||
	    create(client, remote.name, &volume, &err) < 0) {
		status = cli_complain_of(self, &err);
	} else if (remote.json) {
		status = remote_print_json(volume);
	} else {
		(void)printf("%s\n", remote.name);
		status = EXIT_CODE_OK;
	}
	json_read_free(volume);
	client_close(client);
	return status;
}

int storage_volume_show(const struct opt_command *self, int argc, char **argv)
{
	static const struct remote_column lines[] = {
		{ "id", "id", REMOTE_TEXT },
		{ "name", "name", REMOTE_TEXT },
		{ "created_at", "created_at", REMOTE_TEXT },
		{ "size", "bytes", REMOTE_SIZE },
		{ "limit", "limit_bytes", REMOTE_LIMIT },
		{ "entries", "entries", REMOTE_NUMBER },
		{ "sessions", "sessions", REMOTE_NUMBER },
	};
	struct remote remote = { .where = { .no_start = true } };
	struct json_value *volume = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, remote_take_all, &remote);

	if (status >= 0)
		return status;
	if (remote_need(self, remote.name, &err) < 0 || remote_open(&remote, &client, &err) < 0 ||
	    storage_volume(client, remote.name, &volume, &err) < 0)
		status = cli_complain_of(self, &err);
	else if (remote.json)
		status = remote_print_json(volume);
	else
		status = remote_print_lines(volume, lines, ARRAY_LEN(lines));
	json_read_free(volume);
	client_close(client);
	return status;
}

/* ---- ls ---- */

struct listing {
	struct remote remote;
	bool quiet;
};

static int take_ls(int id, const char *value, void *arg, struct err *err)
{
	struct listing *listing = arg;

	if (id == 'q') {
		listing->quiet = true;
		return 0;
	}
	if (id == OPT_OPERAND || !remote_take(&listing->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

static int show(const struct listing *listing, const struct json_value *rows)
{
	static const struct remote_column columns[] = {
		{ "NAME", "name", REMOTE_TEXT },       { "SIZE", "bytes", REMOTE_SIZE },
		{ "ENTRIES", "entries", REMOTE_NUMBER }, { "SESSIONS", "sessions", REMOTE_NUMBER },
		{ "AGE", "created_at", REMOTE_AGE },   { "ID", "id", REMOTE_TEXT },
	};

	if (listing->remote.json)
		return remote_print_json(rows);
	if (listing->quiet)
		return remote_print_words(rows, "name");
	if (json_read_count(rows) > 0)
		return remote_print_rows(rows, columns, ARRAY_LEN(columns));
	(void)fputs(NONE, stderr);
	return EXIT_CODE_OK;
}

int storage_volume_ls(const struct opt_command *self, int argc, char **argv)
{
	struct listing listing = { .remote = { .where = { .no_start = true } } };
	struct json_value *page = NULL;
	struct client *client = NULL;
	struct err err;
	int code, status = remote_parse(self, argc, argv, take_ls, &listing);

	if (status >= 0)
		return status;
	code = remote_open(&listing.remote, &client, &err);
	/* Listing must not start a private daemon. */
	if (code == ERR_NOT_FOUND) {
		(void)fputs(listing.remote.json ? "[]\n" : "", stdout);
		(void)fputs(listing.remote.json || listing.quiet ? "" : NONE, stderr);
		return EXIT_CODE_OK;
	}
	if (code < 0 || client_call(client, "GET", "volumes", NULL, &page, &err) < 0)
		status = cli_complain_of(self, &err);
	else
		status = show(&listing, json_read_member(page, "volumes"));
	json_read_free(page);
	client_close(client);
	return status;
}

/* ---- rm ---- */

static int rm_one(struct client *client, const char *name, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *volume;

	if (storage_volume(client, name, &volume, err) < 0)
		return (int)err->code;
	json_read_free(volume);
	if (storage_volume_path(&path, name, "", err) < 0 ||
	    client_call(client, "DELETE", buf_text(&path), NULL, NULL, err) < 0)
		return (int)err->code;
	return 0;
}

int storage_volume_rm(const struct opt_command *self, int argc, char **argv)
{
	return remote_remove(self, argc, argv, NULL, rm_one);
}
