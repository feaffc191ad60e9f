/*
 * test_box_request.c - the launch request that a warden receives from its first client.
 *
 * Runs in:  the unit suite.
 * Reads:    messages of its own.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "box/request.h"

struct pair {
	struct warden *warden;
	int client, server;
};

static int setup(void **state)
{
	struct pair *pair = test_malloc(sizeof(*pair));
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*pair = (struct pair){ mem_new0(1, sizeof(*pair->warden)), ends[0], ends[1] };
	pair->warden->listen_fd = -1;
	*state = pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	(void)close(pair->client);
	if (pair->server >= 0)
		(void)close(pair->server);
	free(pair->warden);
	test_free(pair);
	return 0;
}

static struct launch_request good(void)
{
	struct launch_request request = { .version = LAUNCH_VERSION, .idle_seconds = 900 };

	(void)strcpy(request.template_dir, "/t");
	(void)strcpy(request.log, "debug");
	return request;
}

static int take(struct pair *pair, const void *bytes, size_t len, size_t nfds, struct err *err)
{
	const int fds[2] = { pair->client, pair->client };
	/* A request empties the environment, from which cmocka reads the form of its report. */
	static const char report[] = "CMOCKA_MESSAGE_OUTPUT";
	const char *form = getenv(report);
	cleanup_free char *copy = form != NULL ? mem_strdup(form) : NULL;
	int code;

	assert_ok(err, fd_send_msg(pair->client, bytes, len, fds, nfds, err));
	code = request_take(pair->warden, pair->server, err);
	if (copy != NULL)
		assert_int_equal(setenv(report, copy, 1), 0);
	return code;
}

UNIT_TEST_WITH(test_a_request_is_accepted, setup, teardown)
{
	struct pair *pair = *state;
	struct launch_request request = good();
	struct err err, answer;
	size_t nfds;

	assert_int_equal(setenv("SECRET_TOKEN", "hunter2", 1), 0);
	assert_int_equal(setenv("RECKON_ROTATE", "3", 1), 0);
	/* The longest texts that are allowed. */
	memset(request.template_dir + 1, 't', sizeof(request.template_dir) - 2);
	memset(request.log, 'd', LAUNCH_WORD_SIZE - 1);
	assert_ok(&err, take(pair, &request, sizeof(request), 1, &err));
	assert_string_equal(pair->warden->template_dir, request.template_dir);
	assert_true(pair->warden->listen_fd > 2);
	assert_true(pair->warden->idle_ns == 900ull * 1000000000u);
	(void)close(pair->warden->listen_fd);
	assert_string_equal(getenv("RECKON_LOG"), request.log);
	assert_string_equal(getenv("LANG"), "C.UTF-8");
	assert_null(getenv("SECRET_TOKEN"));
	assert_null(getenv("RECKON_ROTATE"));
	(void)err_set(&err, ERR_UNAVAILABLE, "no room");
	request_answer(pair->server, &err);
	pair->server = -1;
	assert_int_equal(fd_recv_msg(pair->client, &answer, sizeof(answer), NULL, 0, &nfds, &err),
			 sizeof(answer));
	assert_int_equal(answer.code, ERR_UNAVAILABLE);
	assert_string_equal(answer.text, "no room");
	request_answer(-1, &err);
}

UNIT_TEST_WITH(test_an_invalid_request_is_refused, setup, teardown)
{
	struct pair *pair = *state;
	struct launch_request request = good();
	struct err err;

	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 0, &err));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 2, &err));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request) - 1, 1, &err));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, 1, 1, &err));
	request.version++;
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 1, &err));
	request = good();
	request.template_dir[0] = 't';
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 1, &err));
	request = good();
	memset(request.template_dir, '/', sizeof(request.template_dir));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 1, &err));
	request = good();
	memset(request.log, 'x', sizeof(request.log));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 1, &err));
	request = good();
	memset(request.rotate, '1', sizeof(request.rotate));
	assert_err(&err, ERR_PROTOCOL, take(pair, &request, sizeof(request), 1, &err));
	assert_int_equal(pair->warden->listen_fd, -1);
	assert_string_equal(pair->warden->template_dir, "");
}

UNIT_TEST_WITH(test_a_client_that_disconnects_is_an_error, setup, teardown)
{
	struct pair *pair = *state;
	struct err err;

	(void)shutdown(pair->client, SHUT_RDWR);
	assert_err(&err, ERR_PROTOCOL, request_take(pair->warden, pair->server, &err));
}

/* Another user must not choose the template that runs with the privileges of the warden. */
UNIT_TEST_WITH(test_another_user_is_refused, setup, teardown)
{
	struct pair *pair = *state;
	struct launch_request request = good();
	struct err err;

	if (geteuid() != 0)
		return;
	assert_int_equal(seteuid(65533), 0);
	assert_err(&err, ERR_DENIED, take(pair, &request, sizeof(request), 1, &err));
	assert_int_equal(seteuid(0), 0);
}
