/*
 * io.c - moves input and output of processes between their descriptors and their event buffers.
 *
 * Runs in:  reckond's loop.
 * Reads:    bytes of hostile programs, which it encodes in base64 without interpreting them.
 * Never:    waits for a program, or reads faster than pace.c allows.
 */
#include "host/processes/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/fronts/reply.h"
#include "host/host.h"

#define CHUNK_BYTES 32768u
#define EVENT_BYTES_MAX (CHUNK_BYTES / 3 * 4 + 128)
#define DRAIN_NS (300ull * 1000000u) /* wait for silent holders of an ended process's output */

uint64_t process_age_ns(const struct process *process)
{
	return clock_mono_ns() - process->started_ns;
}

/* ---- output --------------------------------------------------------------------------------- */

static void push(struct process *process, const char *name, const char *bytes, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_BYTES_MAX);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &json);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "event", "stream");
	json_write_member_string(&writer, "name", name);
	json_write_key(&writer, "data");
	json_write_base64(&writer, bytes, len);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &err) < 0)
		return;
	process->row.last_event++;
	if (event_buffer_push(process->follow.events, "stream", buf_text(&json), json.len))
		process_publish(process);
}

static void look_for_end(struct process *process)
{
	if (process->io.is_over && process->io.out == NULL && process->io.err == NULL &&
	    process->phase == PROCESS_RUNNING)
		process_over(process);
}

static void close_output(struct process *process, struct loop_io **io)
{
	loop_io_free(*io);
	*io = NULL;
	look_for_end(process);
}

static void read_output(struct process *process, struct loop_io **io, int which, const char *name)
{
	struct host *host = process->session->host;
	char bytes[CHUNK_BYTES];
	ssize_t len;

	process_enter_window(host, process);
	len = read(reckon_process_fd(process->handle, which), bytes, sizeof(bytes));
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		close_output(process, io);
		return;
	}
	/* Output of others after the end is read and dropped, so that they do not block. */
	if (process->phase == PROCESS_RUNNING)
		push(process, name, bytes, (size_t)len);
	process_note_read(process, (size_t)len);
}

static void on_out(unsigned ready, void *arg)
{
	struct process *process = arg;

	(void)ready;
	read_output(process, &process->io.out, RECKON_PROCESS_STDOUT,
		    (process->row.flags & PROCESS_PTY) != 0 ? "pty" : "stdout");
}

static void on_err(unsigned ready, void *arg)
{
	struct process *process = arg;

	(void)ready;
	read_output(process, &process->io.err, RECKON_PROCESS_STDERR, "stderr");
}

static void on_end(unsigned ready, void *arg)
{
	struct process *process = arg;

	(void)ready;
	loop_io_free(process->io.end);
	process->io.end = NULL;
	process->io.is_over = true;
	process->io.over_ns = clock_mono_ns();
	look_for_end(process);
}

void process_io_tick(struct process *process)
{
	process_unhold(process);
	if (process->io.is_over && process->phase == PROCESS_RUNNING && !process->io.is_held &&
	    !process->io.is_paused && clock_mono_ns() - process->io.over_ns >= DRAIN_NS)
		process_over(process);
}

/* ---- input ---------------------------------------------------------------------------------- */

static void add_input(struct process *process, size_t bytes)
{
	process->io.input_bytes += bytes;
	process->session->tenant->input_bytes += bytes;
}

static void take_input(struct process *process, size_t bytes)
{
	process->io.input_bytes -= bytes;
	process->session->tenant->input_bytes -= bytes;
}

static void drop_first(struct process *process)
{
	struct process_input *input = process->io.input;

	process->io.input = input->next;
	if (process->io.input == NULL)
		process->io.input_last = NULL;
	take_input(process, input->len - input->at);
	process->io.input_count--;
	free(input);
}

static void close_input(struct process *process)
{
	loop_io_free(process->io.in);
	process->io.in = NULL;
	process->io.is_input_closed = true;
	reckon_process_close_input(process->handle);
}

void process_fail_input(struct process *process, enum api_error error, const char *why)
{
	struct host *host = process->session->host;

	while (process->io.input != NULL) {
		front_fail(host, process->io.input->request, error, why, "", "", 0);
		drop_first(process);
	}
}

/* Negative: nobody can read it any more; 0: a part is not written yet; 1: all is written. */
static int write_first(struct process *process)
{
	struct process_input *input = process->io.input;
	const int fd = reckon_process_fd(process->handle, RECKON_PROCESS_STDIN);

	while (input->at < input->len) {
		const ssize_t len = write(fd, input->bytes + input->at, input->len - input->at);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? 0 : -1;
		input->at += (size_t)len;
		take_input(process, (size_t)len);
	}
	return 1;
}

static void flush(struct process *process)
{
	struct host *host = process->session->host;
	int written = 1;

	while (process->io.input != NULL && (written = write_first(process)) > 0) {
		const struct process_input *input = process->io.input;

		reply_process_stdin(host, input->request,
				    &(struct api_process_stdin_out){ .written = input->len });
		if (input->closes)
			close_input(process);
		drop_first(process);
		if (process->io.in == NULL)
			break;
	}
	if (written < 0)
		close_input(process);
	if (process->io.in == NULL)
		process_fail_input(process, API_ERR_PROCESS_ENDED,
				   "the process reads no more of its standard input");
	else
		loop_io_want(process->io.in, process->io.input != NULL ? LOOP_WRITE : 0);
}

static void on_in(unsigned ready, void *arg)
{
	(void)ready;
	flush(arg);
}

void process_write(struct process *process, struct process_input *input)
{
	input->next = NULL;
	if (process->io.input_last != NULL)
		process->io.input_last->next = input;
	else
		process->io.input = input;
	process->io.input_last = input;
	add_input(process, input->len - input->at);
	process->io.input_count++;
	if (process->io.input == input)
		flush(process);
}

/* Drops the input of a request. If a part of it was written already, the rest is not. */
void process_drop_input(struct process *process, uint64_t request)
{
	struct process_input *last = NULL;

	for (struct process_input **at = &process->io.input; *at != NULL;) {
		struct process_input *input = *at;

		if (input->request != request) {
			last = input;
			at = &input->next;
			continue;
		}
		*at = input->next;
		take_input(process, input->len - input->at);
		process->io.input_count--;
		free(input);
	}
	process->io.input_last = last;
}

/* ---- events of the loop --------------------------------------------------------------------- */

static int watch(struct process *process, int which, loop_io_fn *fn, struct loop_io **ret,
		 struct err *err)
{
	const int fd = reckon_process_fd(process->handle, which);

	return fd < 0 ? 0 : loop_io_new(process->session->host->loop, fd, fn, process, ret, err);
}

int process_watch(struct process *process, struct err *err)
{
	const bool has_pty = (process->row.flags & PROCESS_PTY) != 0;

	if (watch(process, RECKON_PROCESS_STDOUT, on_out, &process->io.out, err) < 0 ||
	    (!has_pty &&
	     watch(process, RECKON_PROCESS_STDERR, on_err, &process->io.err, err) < 0) ||
	    watch(process, RECKON_PROCESS_STDIN, on_in, &process->io.in, err) < 0 ||
	    watch(process, RECKON_PROCESS_END, on_end, &process->io.end, err) < 0) {
		process_unwatch(process);
		return (int)err->code;
	}
	process_want_output(process);
	loop_io_want(process->io.end, LOOP_READ);
	return 0;
}

void process_unwatch(struct process *process)
{
	struct loop_io **const all[] = { &process->io.out, &process->io.err, &process->io.in,
					 &process->io.end };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		loop_io_free(*all[i]);
		*all[i] = NULL;
	}
}
