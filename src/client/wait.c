/*
 * wait.c - waits before a request is repeated, as the server requested.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    Retry-After; the caller's wake descriptor.
 * Never:    waits longer in total than the caller allowed.
 */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "client/inner.h"

/* Returns 1 after the whole pause; negative if on_wake ended it. */
static int pause_for(const struct transfer *transfer, unsigned seconds, struct err *err)
{
	const uint64_t end = clock_mono_ns() + seconds * 1000000000ull;
	uint64_t now;

	while ((now = clock_mono_ns()) < end) {
		struct pollfd wait = { .fd = transfer->wake_fd, .events = POLLIN };
		const int n = poll(&wait, transfer->wake_fd >= 0 && transfer->on_wake != NULL,
				   (int)((end - now + 999999) / 1000000));

		if (n < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (n > 0 && transfer->on_wake("", transfer->on_wake_arg, err) < 0)
			return (int)err->code;
	}
	return 1;
}

bool wait_for_turn(const struct transfer *transfer, int code, int *ret_code, struct err *err)
{
	struct client *client = transfer->client;
	const struct client_answer *answer = &transfer->answer;

	*ret_code = code;
	if (code >= 0 || transfer->has_failed || (answer->status != 429 && answer->status != 503) ||
	    answer->retry_s == 0 || answer->retry_s > client->wait_left_s)
		return false;
	client->wait_left_s -= answer->retry_s;
	if (client->on_wait != NULL)
		client->on_wait(answer->retry_s, err->text, client->on_wait_arg);
	code = pause_for(transfer, answer->retry_s, err);
	if (code < 0)
		*ret_code = code;
	else
		err_clear(err);
	return code > 0;
}
