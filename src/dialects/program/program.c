/*
 * program.c - programs in their own session: the session and its files.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    files of hostile programs.
 * Never:    leaves a session behind: it ends with its request.
 */
#include "dialects/program/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define SHELL "bash"
#define IDLE_MS 60000u	    /* longer than any pause between calls, unless this process dies */
#define TURN_MS_MAX 600000u /* how long a request waits for capacity */
#define TURN_STEP_MS 250u
#define COPY_CHUNK 65536u

/* ---- its session ---------------------------------------------------------------------------- */

void program_done(struct program *program)
{
	if (program->frame != 0)
		upstream_cancel_now(program->request);
	program->frame = 0;
	call_done(&program->call);
}

/* Whether retrying helps: there will be capacity later. */
static bool has_to_wait(const struct api_failure *failure)
{
	switch (failure->error) {
	case API_ERR_BUSY:
	case API_ERR_QUOTA:
	case API_ERR_OVERLOADED:
	case API_ERR_UNAVAILABLE:
		return true;
	default:
		return false;
	}
}

int program_call_in_turn(struct program *program, enum api_id id, const void *in, void *out)
{
	struct request *request = program->request;
	uint64_t waited = 0;
	enum call_status status;

	while ((status = call_make(request, id, in, out, &program->call)) == CALL_FAILED &&
	       has_to_wait(program->call.failure) && waited < TURN_MS_MAX) {
		if (request_pause(request, TURN_STEP_MS) < 0)
			return -1;
		waited += TURN_STEP_MS;
	}
	if (status == CALL_FAILED)
		call_refuse(request, program->call.failure);
	return status == CALL_OK ? 0 : -1;
}

/* Cancel only the session when the client leaves. */
static void hold(const struct program *program)
{
	upstream_cancel_when_gone(program->request, 0);
	if (program->frame != 0)
		upstream_cancel_when_gone(program->request, program->frame);
}

int program_open(struct program *program, struct request *request,
		 const struct program_order *order)
{
	const struct api_limits limits = {
		.has_memory_bytes = order->memory_bytes != 0,
		.memory_bytes = order->memory_bytes,
		.has_output_bytes = order->output_bytes != 0,
		.output_bytes = order->output_bytes,
		.has_file_bytes = order->file_bytes != 0,
		.file_bytes = order->file_bytes,
		.has_processes = order->processes != 0,
		.processes = order->processes,
	};
	const struct api_session_create_in in = {
		.template = order->template,
		.language = order->language != NULL ? order->language : SHELL,
		.limits = &limits,
		.has_idle_timeout_ms = true,
		.idle_timeout_ms = IDLE_MS,
		.has_held = !order->stays,
		.held = !order->stays,
	};
	struct api_session session;

	program->request = request;
	program->output_max = order->output_bytes;
	request_end_at_eof(request);
	if (program_call_in_turn(program, API_SESSION_CREATE, &in, &session) < 0)
		return -1;
	if (!order->stays) {
		program->frame = program->call.frame;
		hold(program);
	}
	(void)snprintf(program->session, sizeof(program->session), "%s", session.id);
	request_note(request, NULL, program->session, NULL);
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int refuse_write(struct program *program)
{
	answer_refuse_simple(program->request, 507, "disk_full", "a file could not be written",
			     NULL);
	return -1;
}

/* The target is in memory, so this takes no time that a client could notice. */
static int copy(int from, uint64_t size, int to, struct err *err)
{
	char chunk[COPY_CHUNK];
	uint64_t at = 0;

	while (at < size) {
		const ssize_t n = pread(from, chunk, sizeof(chunk), (off_t)at);

		if (n <= 0)
			return n < 0 ? err_sys(err, "read a file") : 0;
		if (fd_write_full(to, chunk, (size_t)n, err) < 0)
			return (int)err->code;
		at += (uint64_t)n;
	}
	return 0;
}

/* Writes a file from memory, or from a descriptor. */
static int put(struct program *program, const char *path, const void *bytes, int from,
	       uint64_t size)
{
	struct request *request = program->request;
	struct api_upload upload;
	struct api_file_put written;
	cleanup_fd int fd = -1;
	struct err err;
	int code;

	if (call_or_refuse(request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = program->session,
						      .path = path,
						      .has_size = true,
						      .size = size },
			   &upload, &program->call) < 0)
		return -1;
	fd = TAKE_FD(program->call.reply.fd);
	if (fd < 0)
		return refuse_write(program);
	code = bytes != NULL ? fd_write_full(fd, bytes, (size_t)size, &err)
			     : copy(from, size, fd, &err);
	if (code < 0)
		return refuse_write(program);
	(void)close(TAKE_FD(fd));
	if (call_or_refuse(request, API_FILE_COMMIT,
			   &(struct api_file_commit_in){ .ticket = upload.ticket }, &written,
			   &program->call) < 0)
		return -1;
	(void)snprintf(program->artifact, sizeof(program->artifact), "%s",
		       written.artifact != NULL ? written.artifact : "");
	return 0;
}

/* Cancels the upload instead of committing it; then the session has to be held again. */
int program_take_body(struct program *program, uint64_t max, int *ret_fd)
{
	struct request *request = program->request;
	const struct http *http = request_head(request);
	struct api_upload upload;
	cleanup_fd int fd = -1;

	if (call_or_refuse(request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = program->session,
						      .path = ".reckon-body",
						      .has_size = !http->is_chunked,
						      .size = http->length },
			   &upload, &program->call) < 0)
		return -1;
	fd = TAKE_FD(program->call.reply.fd);
	if (fd < 0)
		return refuse_write(program);
	if (request_body_to(request, fd, upload.size_max < max ? upload.size_max : max) < 0)
		return -1;
	upstream_cancel_when_gone(request, 0);
	upstream_cancel_when_gone(request, upload.ticket);
	upstream_cancel_now(request);
	hold(program);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int program_put(struct program *program, const char *path, const void *bytes, size_t len)
{
	return put(program, path, bytes, -1, len);
}

int program_put_file(struct program *program, const char *path, int from, uint64_t size)
{
	return put(program, path, NULL, from, size);
}

/* Reads the whole file into `ret`. 0: it does not fit. */
static int read_all(int fd, uint64_t size, struct buf *ret)
{
	size_t have = 0;
	struct err err;
	char *space;

	if (size > ret->max - ret->len || buf_reserve(ret, (size_t)size, &space, &err) < 0)
		return 0;
	while (have < size) {
		const ssize_t n = pread(fd, space + have, (size_t)size - have, (off_t)have);

		if (n <= 0)
			break;
		have += (size_t)n;
	}
	ret->len += have;
	ret->data[ret->len] = '\0';
	return 1;
}

int program_get(struct program *program, const char *path, struct buf *ret)
{
	return program_fetch(program, API_FILE_GET,
			     &(struct api_file_get_in){ .session = program->session, .path = path },
			     ret);
}

int program_fetch(struct program *program, enum api_id id, const void *in, struct buf *ret)
{
	struct api_download download;
	const enum call_status status = call_make(program->request, id, in, &download,
						  &program->call);

	if (status != CALL_OK)
		return status == CALL_GONE ? -1 : 0;
	return program->call.reply.fd >= 0 ? read_all(program->call.reply.fd, download.size, ret)
					   : 0;
}
