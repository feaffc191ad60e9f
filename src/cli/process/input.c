/*
 * input.c - copies our standard input to a program in a session.
 *
 * Runs in:  reckon-client, in a thread with its own client: a program that does not read its input
 *           blocks only this thread.
 * Reads:    standard input.
 * Never:    sends a part before the previous one was accepted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/process/process.h"
#include "codec/json_write.h"

#define PART_BYTES (256u * 1024u)
#define END_OF_FILE "\004" /* Ctrl-D, which a terminal turns into the end of input */

struct input {
	struct client_options where;
	char path[REMOTE_PROCESS_PATH_MAX];
	bool has_terminal;
};

static int send_part(struct client *client, const struct input *input, const char *bytes,
		     size_t len, bool closes)
{
	cleanup_buf struct buf body = BUF_INIT((size_t)PART_BYTES * 2);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &body);
	json_write_object_begin(&writer);
	json_write_key(&writer, "data");
	json_write_base64(&writer, bytes, len);
	if (closes)
		json_write_member_bool(&writer, "close", true);
	json_write_object_end(&writer);
	return json_write_finish(&writer, &err) < 0
		       ? (int)err.code
		       : remote_process_post(client, input->path, "stdin", &body, &err);
}

static void pass_on(struct client *client, const struct input *input)
{
	cleanup_free char *bytes = mem_new0(PART_BYTES, 1);
	ssize_t len;

	for (;;) {
		len = read(STDIN_FILENO, bytes, PART_BYTES);
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			break;
		if (send_part(client, input, bytes, (size_t)len, false) < 0)
			return;
	}
	if (input->has_terminal)
		(void)send_part(client, input, END_OF_FILE, 1, false);
	else
		(void)send_part(client, input, "", 0, true);
}

static void *work(void *arg)
{
	struct input *input = arg;
	struct client *client;
	struct err err;

	if (client_open(&input->where, &client, &err) == 0) {
		pass_on(client, input);
		client_close(client);
	}
	free(input);
	return NULL;
}

int remote_process_input_begin(const struct remote_process *process, struct err *err)
{
	struct input *input = mem_new0(1, sizeof(*input));
	pthread_t thread;
	sigset_t all, before;
	int code;

	input->where = process->remote->where;
	input->where.no_start = true;
	input->has_terminal = process->has_terminal;
	(void)snprintf(input->path, sizeof(input->path), "%s", process->path);
	/* Only the main thread handles signals. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&thread, NULL, work, input);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code != 0) {
		free(input);
		errno = code;
		return err_sys(err, "start a thread");
	}
	(void)pthread_detach(thread);
	return 0;
}
