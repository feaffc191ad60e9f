/*
 * remote_daemon.c - reckon daemon: shows and stops the user's private daemon.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of the private daemon.
 * Never:    starts a daemon, or stops any other daemon.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

struct daemon {
	struct remote remote;
	bool force;
	struct client *client;
	struct client_private found;
	char version[32];
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct daemon *daemon = arg;

	if (id == 'f')
		daemon->force = true;
	else if (id == OPT_OPERAND || !remote_take(&daemon->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

/* Finds the private daemon. -1: it runs; else the exit status, which is `stopped` if none runs. */
static int find(struct daemon *daemon, const struct opt_command *self, int argc, char **argv,
		int stopped)
{
	struct json_value *health = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, take, daemon);

	if (status >= 0)
		return status;
	daemon->remote.where.only_running = true;
	if (remote_open(&daemon->remote, &daemon->client, &err) < 0) {
		if (err.code != ERR_NOT_FOUND)
			return cli_complain_of(self, &err);
		if (daemon->remote.json)
			(void)puts("{\"running\":false}");
		else
			(void)printf("%s\n", err.text);
		return stopped;
	}
	if (client_private(daemon->client, &daemon->found, &err) < 0 ||
	    client_call(daemon->client, "GET", "health", NULL, &health, &err) < 0)
		return cli_complain_of(self, &err);
	(void)snprintf(daemon->version, sizeof(daemon->version), "%s",
		       json_get_str(health, "version"));
	json_read_free(health);
	return -1;
}

static int print_json(const struct daemon *daemon)
{
	cleanup_buf struct buf text = BUF_INIT(8192);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_member_bool(&json, "running", true);
	json_write_member_uint(&json, "pid", (uint64_t)daemon->found.pid);
	json_write_member_string(&json, "version", daemon->version);
	json_write_member_string(&json, "socket", daemon->found.socket);
	json_write_member_uint(&json, "sessions_with_variables", daemon->found.kernels);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0 || buf_addc(&text, '\n', &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}

int remote_daemon_status(const struct opt_command *self, int argc, char **argv)
{
	struct daemon daemon = { .force = false };
	const int status = find(&daemon, self, argc, argv, EXIT_CODE_FAILED);
	const int stem = (int)strlen(daemon.found.socket) - (int)strlen(".sock");

	if (status >= 0) {
		client_close(daemon.client);
		return status;
	}
	client_close(daemon.client);
	if (daemon.remote.json)
		return print_json(&daemon);
	(void)printf("your private daemon runs\n"
		     "pid        %d\n"
		     "version    %s\n"
		     "sessions   %zu with variables (reckon session ls)\n"
		     "socket     %s\n"
		     "log        %.*s.log\n",
		     (int)daemon.found.pid, daemon.version, daemon.found.kernels,
		     daemon.found.socket, stem > 0 ? stem : 0, daemon.found.socket);
	return EXIT_CODE_OK;
}

/* Files and history survive, but variables are lost, so -f is required if there are any. */
int remote_daemon_stop(const struct opt_command *self, int argc, char **argv)
{
	struct daemon daemon = { .force = false };
	struct err err;
	int status = find(&daemon, self, argc, argv, EXIT_CODE_OK);

	if (status >= 0) {
		client_close(daemon.client);
		return status;
	}
	status = EXIT_CODE_OK;
	if (daemon.found.kernels > 0 && !daemon.force) {
		(void)err_set(&err, ERR_INVALID, "%zu session%s would lose variables",
			      daemon.found.kernels, daemon.found.kernels == 1 ? "" : "s");
		(void)err_remedy(&err, "-f stops it all the same; files and history stay");
		status = cli_complain_of(self, &err);
	} else if (client_private_end(daemon.client, &err) < 0) {
		status = cli_complain_of(self, &err);
	} else {
		(void)printf("your private daemon has ended (pid %d)\n", (int)daemon.found.pid);
	}
	client_close(daemon.client);
	return status;
}
