/*
 * forget.c - reckon tenant forget: deletes a tenant's agent runs and the executions and sessions
 * that belong to them.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    reports success before everything is deleted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"

struct forget {
	struct remote remote;
	const char *key;
	bool keeps_sessions;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct forget *forget = arg;

	if (id == 'b') {
		forget->key = value;
		return 0;
	}
	if (id == 'l') {
		forget->keeps_sessions = true;
		return 0;
	}
	return remote_take(&forget->remote, id, value) ? 0 : remote_unexpected(value, err);
}

static int make_path(const struct forget *forget, struct client *client, struct buf *path,
		     struct err *err)
{
	if (buf_addf(path, err, "agent?sessions=%d", forget->keeps_sessions ? 0 : 1) < 0)
		return (int)err->code;
	if (forget->remote.name != NULL &&
	    (buf_adds(path, "&tenant=", err) < 0 ||
	     remote_tenant_id(client, forget->remote.name, path, err) < 0))
		return (int)err->code;
	if (forget->key != NULL && (buf_adds(path, "&key=", err) < 0 ||
				    client_path_add(path, forget->key, false, err) < 0))
		return (int)err->code;
	return 0;
}

/* Repeats the request until nothing is left. */
static int forget_all(const struct forget *forget, struct client *client, int64_t sums[4],
		      struct err *err)
{
	static const char *const names[] = { "runs", "executions", "sessions", "documents" };
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	cleanup_buf struct buf path = BUF_INIT(2048);
	bool more = true;

	if (make_path(forget, client, &path, err) < 0)
		return (int)err->code;
	while (more) {
		struct json_value *answer = NULL;

		if (client_call(client, "DELETE", buf_text(&path), NULL, &answer, err) < 0)
			return (int)err->code;
		more = false;
		(void)json_read_bool(json_read_member(answer, "more"), &more);
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			int64_t count = 0;

			(void)json_read_int(json_read_member(answer, names[i]), &count);
			sums[i] += count;
		}
		json_read_free(answer);
		if (more)
			(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int remote_tenant_forget(const struct opt_command *self, int argc, char **argv)
{
	struct forget forget = { 0 };
	struct client *client = NULL;
	int64_t sums[4] = { 0 };
	struct err err;
	int status = remote_parse(self, argc, argv, take, &forget);

	if (status >= 0)
		return status;
	if (remote_open(&forget.remote, &client, &err) < 0)
		return cli_complain_of(self, &err);
	status = forget_all(&forget, client, sums, &err);
	if (status < 0)
		status = cli_complain_of(self, &err);
	else if (forget.remote.json)
		(void)printf("{\"runs\": %" PRId64 ", \"executions\": %" PRId64
			     ", \"sessions\": %" PRId64 ", \"documents\": %" PRId64 "}\n",
			     sums[0], sums[1], sums[2], sums[3]);
	else
		(void)printf("removed: %" PRId64 " runs, %" PRId64 " executions, %" PRId64
			     " sessions, %" PRId64 " documents\n",
			     sums[0], sums[1], sums[2], sums[3]);
	client_close(client);
	return status;
}
