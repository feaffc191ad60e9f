/*
 * create.c - reckon session create, show, restart, pause, resume, restore, rm.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line, replies of a daemon.
 * Never:    ends a session that was not named.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "cli/run/options.h"
#include "cli/storage/storage.h"
#include "codec/json_get.h"

/* ---- create ---- */

struct creation {
	struct remote remote;
	struct run run; /* template, language, limits and environment of the session */
	uint64_t idle_ms;
};

static int take_create(int id, const char *value, void *arg, struct err *err)
{
	struct creation *creation = arg;

	if (id == OPT_IDLE) {
		if (parse_duration(value, &creation->idle_ms, err) < 0)
			return err_wrap(err, "--idle");
		if (creation->idle_ms < 1000 || creation->idle_ms > 30ull * 86400 * 1000) {
			(void)err_set(err, ERR_INVALID, "--idle: %.60s is out of range", value);
			return err_remedy(err, "from 1s to 720h");
		}
		return 0;
	}
	if (id == OPT_OPERAND && creation->remote.name == NULL && strncmp(value, "se_", 3) == 0)
		return err_set(err, ERR_INVALID, "a name does not begin with se_: ids do");
	if (id == OPT_OPERAND && creation->remote.name == NULL && parse_session(value, err) < 0)
		return (int)err->code;
	if (remote_take(&creation->remote, id, value))
		return 0;
	return id == OPT_OPERAND ? remote_unexpected(value, err)
				 : run_options_take(id, value, &creation->run, err);
}

static int create(const struct opt_command *self, const struct creation *creation)
{
	const char *name = creation->remote.name;
	const struct remote_body body = {
		.name = name,
		.idle_ms = creation->idle_ms,
		.with_wall = true,
	};
	struct json_value *session;
	struct client *client;
	struct err err;
	int status = EXIT_CODE_OK;

	if (remote_open(&creation->remote, &client, &err) < 0)
		return cli_complain_of(self, &err);
	if (storage_begin(client, &creation->run, &body, &session, &err) < 0) {
		client_close(client);
		return cli_complain_of(self, &err);
	}
	if (creation->remote.json)
		status = remote_print_json(session);
	else
		(void)printf("%s\n", name != NULL ? name : json_get_str(session, "id"));
	json_read_free(session);
	client_close(client);
	return status;
}

int remote_session_create(const struct opt_command *self, int argc, char **argv)
{
	struct creation creation = { .idle_ms = 0 };
	int status;

	run_init(&creation.run);
	status = remote_parse(self, argc, argv, take_create, &creation);
	if (status < 0)
		status = create(self, &creation);
	run_done(&creation.run);
	return status;
}

/* ---- show ---- */

/* -1: the operand is a valid session name or id. Else the exit status. */
static int check_one(const struct opt_command *self, const struct remote *remote)
{
	struct err err;

	if (remote_need(self, remote->name, &err) == 0 && parse_session(remote->name, &err) == 0)
		return -1;
	(void)cli_complain_of(self, &err);
	return EXIT_CODE_USAGE;
}

static int take_one(const struct opt_command *self, int argc, char **argv, struct remote *remote)
{
	const int status = remote_parse(self, argc, argv, remote_take_all, remote);

	return status >= 0 ? status : check_one(self, remote);
}

static int add_time(struct buf *text, const char *name, double seconds, struct err *err)
{
	const char *unit = "s";

	if (seconds >= 7200) {
		seconds /= 3600;
		unit = "h";
	} else if (seconds >= 120) {
		seconds /= 60;
		unit = "min";
	}
	return buf_addf(text, err, "%-14s %.4g %s\n", name, seconds, unit);
}

static int show_lines(const struct json_value *session, struct buf *text, struct err *err)
{
	static const char *const keys[] = { "id",	 "name",     "status",	   "kernel",
					    "why",	 "template", "language",   "created_at",
					    "restored_at", "ended_at", "expires_at",
					    "paused_at" };
	const struct json_value *limits = json_read_member(session, "limits"), *value;
	const char *name;
	int64_t missing = 0;
	double idle = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *shown = strcmp(keys[i], "status") == 0 ? remote_session_status(session)
								   : json_get_str(session, keys[i]);

		if (shown[0] != '\0' && buf_addf(text, err, "%-14s %s\n", keys[i], shown) < 0)
			return (int)err->code;
	}
	if (json_read_int(json_read_member(json_read_member(session, "files_missing"), "count"),
			  &missing) &&
	    buf_addf(text, err, "%-14s %" PRId64 " (reckon session restore --intact gives them "
		     "up)\n", "files missing", missing) < 0)
		return (int)err->code;
	if (json_read_double(json_read_member(session, "idle_timeout_s"), &idle) &&
	    add_time(text, "idle timeout", idle, err) < 0)
		return (int)err->code;
	for (size_t i = 0; json_read_member_at(limits, i, &name, &value); i++) {
		char size[CLI_SIZE_TEXT];
		double number = 0;
		int64_t whole = 0;

		(void)json_read_double(value, &number);
		if (json_read_int(value, &whole) && strstr(name, "_bytes") != NULL)
			cli_format_binary((uint64_t)whole, size);
		else
			(void)snprintf(size, sizeof(size), "%g",
				       whole != 0 ? (double)whole : number);
		if (buf_addf(text, err, "%-14s %s\n", name, size) < 0)
			return (int)err->code;
	}
	return 0;
}

int remote_session_show(const struct opt_command *self, int argc, char **argv)
{
	cleanup_buf struct buf text = BUF_INIT(1024 * 1024);
	struct remote remote = { .where = { .no_start = true } };
	struct json_value *session = NULL;
	struct client *client = NULL;
	struct err err;
	int status = take_one(self, argc, argv, &remote);

	if (status >= 0)
		return status;
	if (remote_open(&remote, &client, &err) < 0 ||
	    remote_session_any(client, remote.name, &session, &err) < 0 ||
	    (!remote.json && show_lines(session, &text, &err) < 0))
		status = cli_complain_of(self, &err);
	else if (remote.json)
		status = remote_print_json(session);
	else
		status = cli_print_text(buf_text(&text), text.len);
	json_read_free(session);
	client_close(client);
	return status;
}

/* ---- restart, pause, resume, restore, rm ---- */

/* The second word of the command's name is the last part of the request's path. */
int remote_session_tell(const struct opt_command *self, int argc, char **argv)
{
	cleanup_buf struct buf path = BUF_INIT(1024), empty = BUF_INIT(16);
	struct remote remote = { .where = { .no_start = true } };
	struct json_value *session = NULL;
	struct client *client = NULL;
	struct err err;
	int status = take_one(self, argc, argv, &remote);
	char verb[32];

	if (status >= 0)
		return status;
	status = EXIT_CODE_OK;
	(void)snprintf(verb, sizeof(verb), "/%s", strchr(self->name, ' ') + 1);
	if (buf_adds(&empty, "{}", &err) < 0 || remote_open(&remote, &client, &err) < 0 ||
	    remote_session(client, remote.name, &session, &err) < 0 ||
	    remote_path(&path, session, verb, &err) < 0 ||
	    client_call(client, "POST", buf_text(&path), &empty, NULL, &err) < 0)
		status = cli_complain_of(self, &err);
	json_read_free(session);
	client_close(client);
	return status;
}

struct restoring {
	struct remote remote;
	bool intact;
};

static int take_restore(int id, const char *value, void *arg, struct err *err)
{
	struct restoring *restoring = arg;

	if (id != REMOTE_OPT_INTACT)
		return remote_take_all(id, value, &restoring->remote, err);
	restoring->intact = true;
	return 0;
}

static bool lacks_files(struct client *client, const struct json_value *session)
{
	struct json_value *now = NULL;
	struct err ignored;
	const bool lacks = remote_session(client, json_get_str(session, "id"), &now, &ignored) == 0 &&
			   json_read_member(now, "files_missing") != NULL;

	json_read_free(now);
	return lacks;
}

static int restore(const struct restoring *restoring, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(64);
	struct json_value *session = NULL;
	struct client *client = NULL;
	int code;

	if (buf_adds(&body, restoring->intact ? "{\"intact\":true}" : "{}", err) < 0 ||
	    remote_open(&restoring->remote, &client, err) < 0)
		return (int)err->code;
	code = remote_session(client, restoring->remote.name, &session, err);
	if (code == 0)
		code = remote_path(&path, session, "/restore", err);
	if (code == 0)
		code = client_call(client, "POST", buf_text(&path), &body, NULL, err);
	if (code == ERR_UNAVAILABLE && session != NULL && lacks_files(client, session))
		(void)err_remedy(err, "--intact gives up what is missing, and keeps the rest");
	json_read_free(session);
	client_close(client);
	return code;
}

int remote_session_restore(const struct opt_command *self, int argc, char **argv)
{
	struct restoring restoring = {
		.remote = { .where = { .no_start = true }, .no_wait = true },
	};
	struct err err;
	int status = remote_parse(self, argc, argv, take_restore, &restoring);

	if (status < 0)
		status = check_one(self, &restoring.remote);
	if (status >= 0)
		return status;
	return restore(&restoring, &err) < 0 ? cli_complain_of(self, &err) : EXIT_CODE_OK;
}

static int rm_one(struct client *client, const char *name, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *session;
	int code;

	if (remote_session(client, name, &session, err) < 0)
		return (int)err->code;
	code = remote_path(&path, session, "", err);
	if (code == 0)
		code = client_call(client, "DELETE", buf_text(&path), NULL, NULL, err);
	json_read_free(session);
	return code;
}

int remote_session_rm(const struct opt_command *self, int argc, char **argv)
{
	return remote_remove(self, argc, argv, parse_session, rm_one);
}
