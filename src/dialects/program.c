/*
 * program.c - programs in a session of their own: opened, filled, run, read, ended.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    records, whose streams a hostile program wrote; its files.
 * Never:    leaves a session behind: it is held by the request.
 *
 * A command runs in a shell of its own, below the session's, so that the message with which a shell
 * tells of a signal is not in the program's stderr. Its input is a file that has no name any more.
 */
#include "dialects/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/json_read.h"

#define SHELL "bash"
#define INPUT_NAME ".reckon-input"
#define COMMAND_MAX (64u * 1024u)
#define IDLE_MS 60000u	    /* nothing takes longer between two calls, but a lost process */
#define TURN_MS_MAX 600000u /* so long a request waits for room */
#define TURN_STEP_MS 250u
#define RECORD_MAX (256u * 1024u * 1024u)
#define SIGNALS 64
#define COPY_CHUNK 65536u

/* ---- its session ---------------------------------------------------------------------------- */

void program_done(struct program *program)
{
	if (program->frame != 0)
		upstream_cancel_now(program->request);
	program->frame = 0;
	call_done(&program->call);
}

/* Whether it is worth to ask again: there will be room. */
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

/* What is cancelled when the client goes away: the session is. */
static void hold(const struct program *program)
{
	upstream_cancel_when_gone(program->request, 0);
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
		.has_held = true,
		.held = true,
	};
	struct api_session session;
	uint64_t waited = 0;
	enum call_status status;

	program->request = request;
	request_end_at_eof(request);
	while ((status = call_make(request, API_SESSION_CREATE, &in, &session, &program->call)) ==
		       CALL_FAILED &&
	       has_to_wait(program->call.failure) && waited < TURN_MS_MAX) {
		if (request_pause(request, TURN_STEP_MS) < 0)
			return -1;
		waited += TURN_STEP_MS;
	}
	if (status == CALL_FAILED)
		call_refuse(request, program->call.failure);
	if (status != CALL_OK)
		return -1;
	program->frame = program->call.frame;
	hold(program);
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

/* What is written is in memory: it takes no time that a client could see. */
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

/* From memory, or from a descriptor. */
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

/* It is cancelled and not committed; that the session is held is said again. */
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

/* All of it, into `ret`. 0: it does not fit. */
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

static int fetch(struct program *program, enum api_id id, const void *in, struct buf *ret)
{
	struct api_download download;
	const enum call_status status = call_make(program->request, id, in, &download,
						  &program->call);

	if (status != CALL_OK)
		return status == CALL_GONE ? -1 : 0;
	return program->call.reply.fd >= 0 ? read_all(program->call.reply.fd, download.size, ret)
					   : 0;
}

int program_get(struct program *program, const char *path, struct buf *ret)
{
	return fetch(program, API_FILE_GET,
		     &(struct api_file_get_in){ .session = program->session, .path = path }, ret);
}

/* ---- a command ------------------------------------------------------------------------------ */

int program_quote(const char *text, struct buf *ret, struct err *err)
{
	if (buf_addc(ret, '\'', err) < 0)
		return (int)err->code;
	for (; *text != '\0'; text++)
		if ((*text == '\'' ? buf_adds(ret, "'\\''", err) : buf_addc(ret, *text, err)) < 0)
			return (int)err->code;
	return buf_addc(ret, '\'', err);
}

static int add_command(const struct program_stage *stage, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf inner = BUF_INIT(COMMAND_MAX);

	if (buf_adds(&inner, stage->input != NULL
				     ? "exec <" INPUT_NAME "; rm -f " INPUT_NAME "; "
				     : "exec </dev/null; ", err) < 0 ||
	    buf_addf(&inner, err, "{ ( %s\n) 2>&4 4>&-; s=$?; } 4>&2 2>/dev/null; exit $s",
		     stage->command) < 0 ||
	    buf_adds(ret, "sh -c ", err) < 0)
		return (int)err->code;
	return program_quote(buf_text(&inner), ret, err);
}

void program_end_done(struct program_end *end)
{
	buf_done(&end->out);
	buf_done(&end->err);
	json_read_free(TAKE_PTR(end->record));
}

static const char *text_of(const struct json_value *value, const char *key)
{
	const char *text = json_read_text(json_read_member(value, key), NULL);

	return text != NULL ? text : "";
}

static void read_how(const struct json_value *record, struct program_end *ret)
{
	static const struct {
		const char *status;
		enum program_how how;
	} known[] = {
		{ "ok", PROGRAM_EXITED },
		{ "timeout", PROGRAM_TIMEOUT },
		{ "out_of_memory", PROGRAM_OUT_OF_MEMORY },
		{ "output_limit", PROGRAM_OUTPUT_LIMIT },
	};
	const struct json_value *error = json_read_member(record, "error");
	const char *status = text_of(record, "status");
	struct err ignored;

	ret->how = PROGRAM_FAILED;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].status, status) == 0)
			ret->how = known[i].how;
	if (strcmp(status, "error") == 0 && strcmp(text_of(error, "name"), "ExitStatus") == 0) {
		ret->code = (int)strtol(text_of(error, "value"), NULL, 10);
		ret->how = PROGRAM_EXITED;
		/* As shells say it. Whoever exits so by itself cannot be told apart. */
		if (ret->code > 128 && ret->code <= 128 + SIGNALS) {
			ret->how = PROGRAM_SIGNALLED;
			ret->code -= 128;
		}
	} else if (ret->how == PROGRAM_FAILED) {
		(void)buf_addf(&ret->err, &ignored, "%.4000s", text_of(error, "value"));
	}
}

static void read_receipt(const struct json_value *record, struct program_end *ret)
{
	const struct json_value *receipt = json_read_member(record, "receipt");
	double user = 0, system = 0;
	int64_t memory = 0;

	(void)json_read_double(json_read_member(receipt, "wall_s"), &ret->wall_s);
	(void)json_read_double(json_read_member(receipt, "cpu_user_s"), &user);
	(void)json_read_double(json_read_member(receipt, "cpu_system_s"), &system);
	(void)json_read_int(json_read_member(receipt, "memory_peak_bytes"), &memory);
	ret->cpu_s = user + system;
	ret->memory_bytes = memory > 0 ? (uint64_t)memory : 0;
}

/* The whole of a stream that the record has in part, as far as it was kept. */
static int read_stream(struct program *program, const struct json_value *record, const char *name,
		       const char *handle, struct buf *ret)
{
	size_t len = 0;
	const char *text;
	struct err err;
	int found = 0;

	if (handle[0] != '\0')
		found = fetch(program, API_OUTPUT_GET, &(struct api_output_get_in){ .handle = handle },
			      ret);
	if (found != 0)
		return found;
	text = json_read_text(json_read_member(record, name), &len);
	if (text != NULL && buf_add(ret, text, len, &err) < 0)
		return 0;
	return 1;
}

static int read_streams(struct program *program, const struct json_value *record,
			struct program_end *ret)
{
	const struct json_value *cut = json_read_member(record, "truncated");
	char handles[2][64];

	/* The calls below end the record's file, not what was parsed of it. */
	(void)snprintf(handles[0], sizeof(handles[0]), "%s",
		       text_of(json_read_member(cut, "stdout"), "handle"));
	(void)snprintf(handles[1], sizeof(handles[1]), "%s",
		       text_of(json_read_member(cut, "stderr"), "handle"));
	if (read_stream(program, record, "stdout", handles[0], &ret->out) < 0 ||
	    read_stream(program, record, "stderr", handles[1], &ret->err) < 0)
		return -1;
	return 0;
}

static int read_record(struct program *program, const struct api_bytes *bytes,
		       struct program_end *ret)
{
	struct json_value *record = NULL;
	struct err err;
	int code;

	if (json_read_parse(bytes->data, bytes->len, RECORD_MAX, &record, &err) < 0) {
		answer_refuse_simple(program->request, 500, "internal", err.text, NULL);
		return -1;
	}
	read_receipt(record, ret);
	code = read_streams(program, record, ret);
	if (code == 0)
		read_how(record, ret);
	json_read_free(ret->record);
	ret->record = record;
	return code;
}

int program_run(struct program *program, const struct program_stage *stage,
		struct program_end *ret)
{
	cleanup_buf struct buf code = BUF_INIT(4 * COMMAND_MAX);
	struct api_execute_out out;
	struct err err;

	if (add_command(stage, &code, &err) < 0) {
		answer_refuse_simple(program->request, 400, "invalid", err.text, NULL);
		return -1;
	}
	if (stage->input != NULL &&
	    program_put(program, INPUT_NAME, stage->input, stage->input_len) < 0)
		return -1;
	if (call_or_refuse(program->request, API_EXECUTE,
			   &(struct api_execute_in){
				   .session = program->session,
				   .code = { buf_text(&code), code.len },
				   .language = SHELL,
				   .has_timeout_ms = stage->timeout_ms != 0,
				   .timeout_ms = stage->timeout_ms,
				   .on_disconnect = API_EXECUTE_IN_ON_DISCONNECT_CANCEL },
			   &out, &program->call) < 0)
		return -1;
	buf_clear(&ret->out);
	buf_clear(&ret->err);
	ret->code = 0;
	return read_record(program, &out.record, ret);
}
