/*
 * post.c - sends input, a signal or the terminal's size to a program in a session.
 *
 * Runs in:  reckon-client, in any thread: each thread has its own client.
 * Reads:    nothing.
 * Never:    retries a request.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/process/process.h"

int remote_process_post(struct client *client, const char *path, const char *what,
			const struct buf *body, struct err *err)
{
	cleanup_buf struct buf nothing = BUF_INIT(16);
	char where[REMOTE_PROCESS_PATH_MAX + 16];

	(void)snprintf(where, sizeof(where), "%s/%s", path, what);
	if (body == NULL && buf_adds(&nothing, "{}", err) < 0)
		return (int)err->code;
	return client_call(client, "POST", where, body != NULL ? body : &nothing, NULL, err);
}
