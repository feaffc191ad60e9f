/*
 * snapshot.c - reckon snapshot: saved copies of a session's files.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line, answers of a daemon.
 * Never:    removes one of several that have the same name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/storage/storage.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define PAGE 500u
#define NONE "reckon: no snapshots (reckon snapshot create SESSION makes one)\n"

static int not_found(struct client *client, const char *name, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "there is no snapshot %.64s at %s", name,
		      client_name(client));
	return err_remedy(err, "reckon snapshot ls shows what there is");
}

static bool is_id(const char *name)
{
	return strncmp(name, "sn_", 3) == 0;
}

static int by_id(struct client *client, const char *id, struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (buf_adds(&path, "snapshots/", err) < 0 || client_path_add(&path, id, false, err) < 0)
		return (int)err->code;
	if (client_call(client, "GET", buf_text(&path), NULL, ret, err) == 0)
		return 0;
	return err->code == ERR_NOT_FOUND || client_last(client)->status == 400
		       ? not_found(client, id, err)
		       : (int)err->code;
}

/* *ret_more: an older snapshot has the same name. */
static int find(struct client *client, const char *name, struct json_value **ret, bool *ret_more,
		struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(4096), one = BUF_INIT(CLIENT_JSON_MAX);
	const struct json_value *rows;
	struct json_value *page;
	int code;

	*ret_more = false;
	if (is_id(name))
		return by_id(client, name, ret, err);
	if (buf_adds(&path, "snapshots?limit=2&name=", err) < 0 ||
	    client_path_add(&path, name, false, err) < 0)
		return (int)err->code;
	/* The daemon refuses a text that cannot be a name, so no snapshot has it. */
	if (client_call(client, "GET", buf_text(&path), NULL, &page, err) < 0)
		return client_last(client)->status == 400 ? not_found(client, name, err)
							  : (int)err->code;
	rows = json_read_member(page, "snapshots");
	*ret_more = json_read_count(rows) > 1;
	if (json_read_count(rows) == 0) {
		code = not_found(client, name, err);
	} else {
		code = json_read_dump(json_read_at(rows, 0), &one, err);
		if (code == 0)
			code = json_read_parse(buf_text(&one), one.len, CLIENT_JSON_MAX, ret, err);
	}
	json_read_free(page);
	return code;
}

int storage_snapshot(struct client *client, const char *name, struct json_value **ret,
		     struct err *err)
{
	bool more;

	return find(client, name, ret, &more, err);
}

/* ---- create ---- */

struct creation {
	struct remote remote; /* its operand is the session */
	const char *name;
};

static int take_create(int id, const char *value, void *arg, struct err *err)
{
	struct creation *creation = arg;

	if (id == 'n') {
		creation->name = value;
		if (value[0] == '\0')
			return err_set(err, ERR_INVALID, "--name: it is empty");
		/* Such a name would be taken for an id. */
		return is_id(value) ? err_set(err, ERR_INVALID,
					      "--name: it does not begin with sn_: ids do")
				    : 0;
	}
	if (id == OPT_OPERAND && parse_session(value, err) < 0)
		return (int)err->code;
	return remote_take(&creation->remote, id, value) ? 0 : remote_unexpected(value, err);
}

static int make(const struct creation *creation, struct client *client, struct json_value **ret,
		struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(4096);
	struct json_value *session;
	struct json_writer json;
	int code;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	if (creation->name != NULL)
		json_write_member_string(&json, "name", creation->name);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0 ||
	    remote_session(client, creation->remote.name, &session, err) < 0)
		return (int)err->code;
	code = remote_path(&path, session, "/snapshots", err);
	json_read_free(session);
	if (code == 0)
		code = client_call(client, "POST", buf_text(&path), &body, ret, err);
	return code < 0 && client_last(client)->status == 400
		       ? err_remedy(err, "--name is one line of 1 to 128 characters")
		       : code;
}

/*
 * Prints only the id to stdout, so that a script can use it; missing files are reported on stderr.
 */
static void say(const struct json_value *snapshot)
{
	const struct json_value *lacks = json_read_member(snapshot, "files_not_kept");
	int64_t count = 0;

	(void)json_read_int(json_read_member(lacks, "count"), &count);
	if (count > 0) {
		struct err notice = { 0 };

		(void)err_set(&notice, ERR_INVALID, "%" PRId64 " file%s not in it: %s", count,
			      count == 1 ? " is" : "s are", json_get_str(lacks, "why"));
		(void)cli_complain(&notice);
	}
	(void)printf("%s\n", json_get_str(snapshot, "id"));
}

int storage_snapshot_create(const struct opt_command *self, int argc, char **argv)
{
	struct creation creation = { .remote = { .where = { .no_start = true } } };
	struct json_value *snapshot = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, take_create, &creation);

	if (status >= 0)
		return status;
	if (creation.remote.name == NULL) {
		(void)err_set(&err, ERR_INVALID, "missing argument SESSION");
		(void)err_remedy(&err, "reckon session ls shows what there is");
		return cli_complain_of(self, &err);
	}
	if (remote_open(&creation.remote, &client, &err) < 0 ||
	    make(&creation, client, &snapshot, &err) < 0) {
		status = cli_complain_of(self, &err);
	} else if (creation.remote.json) {
		status = remote_print_json(snapshot);
	} else {
		say(snapshot);
		status = EXIT_CODE_OK;
	}
	json_read_free(snapshot);
	client_close(client);
	return status;
}

/* ---- show ---- */

int storage_snapshot_show(const struct opt_command *self, int argc, char **argv)
{
	static const struct remote_column lines[] = {
		{ "id", "id", REMOTE_TEXT },
		{ "name", "name", REMOTE_TEXT },
		{ "session", "session", REMOTE_TEXT },
		{ "created_at", "created_at", REMOTE_TEXT },
		{ "template", "template", REMOTE_TEXT },
		{ "language", "language", REMOTE_TEXT },
		{ "files", "files", REMOTE_NUMBER },
		{ "size", "bytes", REMOTE_SIZE },
	};
	struct remote remote = { .where = { .no_start = true } };
	struct json_value *snapshot = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, remote_take_all, &remote);

	if (status >= 0)
		return status;
	if (remote_need(self, remote.name, &err) < 0 || remote_open(&remote, &client, &err) < 0 ||
	    storage_snapshot(client, remote.name, &snapshot, &err) < 0)
		status = cli_complain_of(self, &err);
	else if (remote.json)
		status = remote_print_json(snapshot);
	else
		status = remote_print_lines(snapshot, lines, ARRAY_LEN(lines));
	json_read_free(snapshot);
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
	if (id == 's' && parse_session(value, err) < 0)
		return err_wrap(err, "--session");
	if (id == OPT_OPERAND || !remote_take(&listing->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

/* A tenant has at most 100 snapshots, so one page is enough. */
static int fetch(const struct listing *listing, struct client *client, struct json_value **ret,
		 struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *session = NULL;
	int code = buf_addf(&path, err, "snapshots?limit=%u", PAGE);

	if (code == 0 && listing->remote.session != NULL)
		code = remote_session_any(client, listing->remote.session, &session, err);
	if (code == 0 && session != NULL)
		code = buf_addf(&path, err, "&session=%s", json_get_str(session, "id"));
	json_read_free(session);
	return code < 0 ? code : client_call(client, "GET", buf_text(&path), NULL, ret, err);
}

static int show(const struct listing *listing, const struct json_value *rows)
{
	static const struct remote_column columns[] = {
		{ "NAME", "name", REMOTE_TEXT },    { "FILES", "files", REMOTE_NUMBER },
		{ "SIZE", "bytes", REMOTE_SIZE },   { "RUNTIME", "template", REMOTE_TEXT },
		{ "AGE", "created_at", REMOTE_AGE }, { "ID", "id", REMOTE_TEXT },
		{ "SESSION", "session", REMOTE_TEXT },
	};

	if (listing->remote.json)
		return remote_print_json(rows);
	if (listing->quiet)
		return remote_print_words(rows, "id");
	if (json_read_count(rows) > 0)
		return remote_print_rows(rows, columns, ARRAY_LEN(columns));
	(void)fputs(NONE, stderr);
	return EXIT_CODE_OK;
}

int storage_snapshot_ls(const struct opt_command *self, int argc, char **argv)
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
	if (code == ERR_NOT_FOUND && listing.remote.session == NULL) {
		(void)fputs(listing.remote.json ? "[]\n" : "", stdout);
		(void)fputs(listing.remote.json || listing.quiet ? "" : NONE, stderr);
		return EXIT_CODE_OK;
	}
	if (code < 0 || fetch(&listing, client, &page, &err) < 0)
		status = cli_complain_of(self, &err);
	else
		status = show(&listing, json_read_member(page, "snapshots"));
	json_read_free(page);
	client_close(client);
	return status;
}

/* ---- rm ---- */

static int rm_one(struct client *client, const char *name, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *snapshot;
	bool more;
	int code;

	if (find(client, name, &snapshot, &more, err) < 0)
		return (int)err->code;
	if (more) {
		code = err_set(err, ERR_INVALID, "several snapshots are named %.64s", name);
		(void)err_remedy(err, "name one by its id: reckon snapshot ls");
	} else {
		code = buf_addf(&path, err, "snapshots/%s", json_get_str(snapshot, "id"));
	}
	json_read_free(snapshot);
	return code < 0 ? code
			: client_call(client, "DELETE", buf_text(&path), NULL, NULL, err);
}

int storage_snapshot_rm(const struct opt_command *self, int argc, char **argv)
{
	return remote_remove(self, argc, argv, NULL, rm_one);
}
