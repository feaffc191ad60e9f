/*
 * output.c - reckon output and reckon artifact with --url: reads from a daemon's store.
 *
 * Runs in:  reckon-client.
 * Reads:    stored bytes that a box produced.
 * Never:    checks or escapes them: cmd_output.c does that for local and remote bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/remote/remote.h"

static int get(const char *command, const char *id, uint64_t offset, uint64_t length, int fd,
	       void *arg)
{
	const struct output_where *where = arg;
	const struct remote remote = { .where = { .url = where->url, .key = where->key } };
	const struct opt_command self = { .name = command };
	cleanup_buf struct buf path = BUF_INIT(4096);
	struct client *client = NULL;
	struct err err;
	int status = EXIT_CODE_OK;

	if (buf_adds(&path, strcmp(command, "artifact") == 0 ? "artifacts/" : "outputs/", &err) <
		    0 ||
	    client_path_add(&path, id, false, &err) < 0 ||
	    buf_addf(&path, &err, "?offset=%" PRIu64 "&length=%" PRIu64, offset, length) < 0 ||
	    remote_open(&remote, &client, &err) < 0 ||
	    client_download(client, buf_text(&path), fd, NULL, &err) < 0)
		status = cli_complain_of(&self, &err);
	client_close(client);
	return status;
}

int remote_output(const struct opt_command *self, int argc, char **argv)
{
	struct output_where where = { .get = get, .arg = &where };

	return output_run(self, argc, argv, &where);
}
