/*
 * drain.c - reckon drain, reckon undrain: make a daemon refuse or accept new sessions.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    ends a session: existing sessions end as usual.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/remote/remote.h"

#define POLL_NS 500000000l

struct drain {
	struct remote remote;
	bool wait;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct drain *drain = arg;

	if (id == 'w') {
		drain->wait = true;
		return 0;
	}
	if (id == OPT_OPERAND || !remote_take(&drain->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

static int ask(struct client *client, const char *method, struct json_value **ret,
	       int64_t *ret_sessions, struct err *err)
{
	if (client_call(client, method, "drain", NULL, ret, err) < 0)
		return (int)err->code;
	*ret_sessions = 0;
	if (!json_read_int(json_read_member(*ret, "sessions"), ret_sessions)) {
		json_read_free(*ret);
		return err_set(err, ERR_PROTOCOL, "an answer without the number of sessions");
	}
	return 0;
}

static int run(const struct opt_command *self, int argc, char **argv, const char *method)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct drain drain = { .wait = false };
	struct json_value *answer = NULL;
	struct client *client = NULL;
	int64_t sessions;
	struct err err;
	int status = remote_parse(self, argc, argv, take, &drain);

	if (status >= 0)
		return status;
	if (remote_open(&drain.remote, &client, &err) < 0)
		return cli_complain_of(self, &err);
	status = ask(client, method, &answer, &sessions, &err);
	while (status == 0 && drain.wait && sessions > 0) {
		json_read_free(answer);
		answer = NULL;
		(void)nanosleep(&pause, NULL);
		status = ask(client, method, &answer, &sessions, &err);
	}
	if (status < 0)
		status = cli_complain_of(self, &err);
	else if (drain.remote.json)
		status = remote_print_json(answer);
	else
		(void)printf("reckon: %s: %" PRId64 " session%s%s\n",
			     method[0] == 'P' ? "draining" : "accepting new sessions", sessions,
			     sessions == 1 ? "" : "s", method[0] == 'P' ? " left" : "");
	json_read_free(answer);
	client_close(client);
	return status;
}

int remote_drain(const struct opt_command *self, int argc, char **argv)
{
	return run(self, argc, argv, "POST");
}

int remote_undrain(const struct opt_command *self, int argc, char **argv)
{
	return run(self, argc, argv, "DELETE");
}
