/*
 * io.c - streams and packets of the Python kernel.
 *
 * Runs in:  the Python kernel, in any of its threads.
 * Reads:    SYNC_ACK and INPUT_REPLY packets of the host.
 * Never:    depends on a Python object that user code can replace.
 *
 * Printed text goes to the pipes at descriptors 1 and 2, everything else into packets. The host
 * sees the order between them only through SYNC (see wire/kernel.h), so one lock covers both pipes
 * and the socket, and `last` remembers which of the three was written to last. To notice output of
 * subprocesses, it asks a pipe how many bytes wait in it.
 *
 * A thread that an earlier cell started must not write into the current one's output: its text is
 * counted, and the next DONE carries the beginning of it as a note.
 */
#include "inside/python/python.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define STREAM_BUFFER 8192
#define SYNC_MAX 10000 /* per execution: limits switches between streams */
#define NOTES_MAX (64u * 1024u)
#define NAME_MAX_BYTES 200u
#define STRAY_MAX 4096

enum { LAST_NOTHING = -1, LAST_PACKET = PYTHON_STREAM_COUNT_ };

static struct {
	int sock;
	uint64_t id;
	bool executing;
	bool closing;		 /* DONE is about to be sent: from now on only the main thread
				  * prints */
	bool asking;
	bool child;		 /* this process was forked by user code */
	int last;		 /* stream, LAST_PACKET or LAST_NOTHING */
	bool unsynced;		 /* something was written since the last SYNC */
	unsigned syncs;
	uint64_t newest_thread;	 /* thread states up to this one are older than the cell */
	uint64_t main_thread;
	PyThread_type_lock lock; /* pipes, socket and the buffers below */
	unsigned long owner;
	unsigned depth;
	struct {
		size_t len;
		size_t begun_at;   /* from here on the text comes from one thread … */
		uint64_t begun_by; /* … this one */
		char bytes[STREAM_BUFFER];
	} out[PYTHON_STREAM_COUNT_];
	struct buf notes;
	size_t stray_total;
	size_t stray_len;
	char stray[STRAY_MAX];
} io = { .sock = -1, .last = LAST_NOTHING, .notes = { .max = NOTES_MAX } };

static PyObject *current_execution; /* ContextVar: follows asyncio.to_thread and friends */

static void in_forked_child(void)
{
	io.child = true;
	(void)close(io.sock);
	/* A thread that does not exist here may hold the old lock. */
	io.lock = PyThread_allocate_lock();
	io.depth = 0;
	io.owner = 0;
}

int python_io_start(int sock)
{
	io.sock = sock;
	io.main_thread = PyThreadState_GetID(PyThreadState_Get());
	/* Line-buffer the text of C code, as Python does, so that it keeps its place. */
	(void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (io.lock == NULL)
		io.lock = PyThread_allocate_lock();
	if (io.lock == NULL)
		return -1;
	if (current_execution == NULL)
		current_execution = PyContextVar_New("reckon_execution", NULL);
	if (current_execution == NULL)
		return -1;
	/* A fork of user code must neither send packets nor keep the session's socket open. */
	return pthread_atfork(NULL, NULL, in_forked_child) == 0 ? 0 : -1;
}

static void enter(void)
{
	unsigned long me = PyThread_get_thread_ident();

	if (io.depth > 0 && io.owner == me) { /* a signal handler prints while we write */
		io.depth++;
		return;
	}
	Py_BEGIN_ALLOW_THREADS
	PyThread_acquire_lock(io.lock, WAIT_LOCK);
	Py_END_ALLOW_THREADS
	io.owner = me;
	io.depth = 1;
}

static void leave(void)
{
	if (--io.depth > 0)
		return;
	io.owner = 0;
	PyThread_release_lock(io.lock);
}

void python_io_resumed(void)
{
	/* A thread that held the lock does not exist in the branch: make a new lock. */
	if (io.depth > 0)
		io.lock = PyThread_allocate_lock();
	io.depth = 0;
	io.owner = 0;
	io.out[PYTHON_STDOUT].len = 0;
	io.out[PYTHON_STDERR].len = 0;
}

bool python_io_is_executing(void)
{
	return io.executing && !io.child;
}

bool python_io_is_child(void)
{
	return io.child;
}

/* Whether the calling thread belongs to an earlier execution (or to none). */
static bool is_stray(void)
{
	PyThreadState *me = PyThreadState_Get();
	uint64_t thread = PyThreadState_GetID(me);
	PyObject *value = NULL;
	bool stray;

	if (io.child || thread == io.main_thread)
		return false;
	if (!io.executing || io.closing)
		return true;
	if (PyContextVar_Get(current_execution, NULL, &value) < 0)
		PyErr_Clear();
	if (value == NULL)
		return thread <= io.newest_thread;
	stray = PyLong_AsUnsignedLongLong(value) != io.id;
	PyErr_Clear();
	Py_DECREF(value);
	return stray;
}

/* The execution to which new threads and tasks of the calling thread belong; 0: an earlier one. */
static uint64_t owner_id(void)
{
	return is_stray() ? 0 : io.id;
}

static PyObject *run_owned(PyObject *self, PyObject *args, PyObject *options)
{
	PyObject *token = PyContextVar_Set(current_execution, PyTuple_GET_ITEM(self, 0));

	if (token == NULL)
		return NULL;
	Py_DECREF(token);
	return PyObject_Call(PyTuple_GET_ITEM(self, 1), args, options);
}

/* A thread that a stray thread starts during a later execution is stray as well. */
PyObject *python_io_owned(PyObject *callable)
{
	static PyMethodDef method = { "run", (PyCFunction)(void (*)(void))run_owned,
				      METH_VARARGS | METH_KEYWORDS, NULL };
	PyObject *self, *owned;

	if (current_execution == NULL) /* in a zygote, during the import of a module */
		return Py_NewRef(callable);
	self = Py_BuildValue("KO", (unsigned long long)owner_id(), callable);
	owned = self != NULL ? PyCFunction_New(&method, self) : NULL;
	Py_XDECREF(self);
	return owned;
}

static void keep_stray(const char *text, size_t len)
{
	size_t room = sizeof(io.stray) - io.stray_len;

	io.stray_total += len;
	if (len < room)
		room = len;
	memcpy(io.stray + io.stray_len, text, room);
	io.stray_len += room;
}

static bool has_unread(int fd)
{
	int waiting = 0;

	return ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

/* Call without the GIL. False if the host has closed the connection; this process then ends. */
static void sync_without_gil(void)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	struct kernel_head head;
	struct err err;
	int fds[3];
	size_t nfds;

	if (kernel_send(io.sock, KERNEL_SYNC, io.id, NULL, NULL, 0, &err) < 0)
		_exit(1);
	for (;;) {
		if (kernel_recv(io.sock, &head, &payload, fds, ARRAY_LEN(fds), &nfds, &err) <= 0)
			_exit(1);
		fd_close_all(fds, nfds);
		if (head.type == KERNEL_SHUTDOWN)
			_exit(0);
		if (head.type == KERNEL_SYNC_ACK)
			return;
	}
}

static void synchronise(void)
{
	Py_BEGIN_ALLOW_THREADS
	sync_without_gil();
	Py_END_ALLOW_THREADS
	io.unsynced = false;
	io.last = LAST_NOTHING;
	io.syncs++;
}

static int write_failed(void)
{
	/* The host closed the pipe (output limit): no error for the program. */
	if (errno == EPIPE)
		return 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

static int write_pipe(enum python_stream stream, const char *text, size_t len)
{
	const int fd = stream == PYTHON_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
	const int other = stream == PYTHON_STDOUT ? STDERR_FILENO : STDOUT_FILENO;

	if (python_io_is_executing() && io.syncs < SYNC_MAX &&
	    ((io.last != LAST_NOTHING && io.last != (int)stream) || has_unread(other)))
		synchronise();
	io.last = (int)stream;
	io.unsynced = true;
	while (len > 0) {
		ssize_t n;
		int failure;

		Py_BEGIN_ALLOW_THREADS
		n = write(fd, text, len);
		failure = errno;
		if (n < 0 && failure == EAGAIN) { /* user code made the pipe non-blocking */
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			(void)poll(&wait, 1, 200);
		}
		Py_END_ALLOW_THREADS
		errno = failure;
		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			if (PyErr_CheckSignals() < 0)
				return -1;
			continue;
		}
		if (n < 0)
			return write_failed();
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int drain(enum python_stream stream)
{
	char bytes[STREAM_BUFFER];
	size_t len = io.out[stream].len;

	if (len == 0)
		return 0;
	/* Copy the text first: a signal handler may print while write_pipe() waits. */
	memcpy(bytes, io.out[stream].bytes, len);
	io.out[stream].len = 0;
	return write_pipe(stream, bytes, len);
}

static int write_locked(enum python_stream stream, const char *text, size_t len)
{
	const enum python_stream other = stream == PYTHON_STDOUT ? PYTHON_STDERR : PYTHON_STDOUT;
	const uint64_t me = PyThreadState_GetID(PyThreadState_Get());

	if (drain(other) < 0)
		return -1;
	if (len > STREAM_BUFFER - io.out[stream].len)
		return drain(stream) < 0 ? -1 : write_pipe(stream, text, len);
	if (io.out[stream].len == 0 || io.out[stream].begun_by != me) {
		io.out[stream].begun_at = io.out[stream].len;
		io.out[stream].begun_by = me;
	}
	memcpy(io.out[stream].bytes + io.out[stream].len, text, len);
	io.out[stream].len += len;
	return memchr(text, '\n', len) != NULL ? drain(stream) : 0;
}

int python_io_write(enum python_stream stream, const char *text, size_t len)
{
	int code;

	if (len == 0)
		return 0;
	if (is_stray()) {
		keep_stray(text, len);
		return 0;
	}
	enter();
	if (is_stray()) { /* the execution ended while this thread waited */
		keep_stray(text, len);
		code = 0;
	} else {
		code = write_locked(stream, text, len);
	}
	leave();
	return code;
}

/*
 * At the end of an execution: stores the line that another thread has begun and not ended. It stays
 * together with the rest of that line, which is stray, and does not mix with a later cell.
 */
static void keep_begun_lines(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();

	for (int i = 0; i < PYTHON_STREAM_COUNT_; i++) {
		PyThreadState *thread = PyInterpreterState_ThreadHead(interp);
		const size_t start = io.out[i].begun_at;

		while (thread != NULL && PyThreadState_GetID(thread) != io.out[i].begun_by)
			thread = PyThreadState_Next(thread);
		if (thread != NULL && io.out[i].begun_by != io.main_thread &&
		    start < io.out[i].len) {
			keep_stray(io.out[i].bytes + start, io.out[i].len - start);
			io.out[i].len = start;
		}
	}
}

static int flush_locked(void)
{
	int code = drain(PYTHON_STDOUT);

	return drain(PYTHON_STDERR) < 0 ? -1 : code;
}

int python_io_flush(void)
{
	int code;

	if (is_stray())
		return 0;
	enter();
	code = flush_locked();
	leave();
	return code;
}

static int settle_locked(void)
{
	if (flush_locked() < 0)
		return -1;
	(void)fflush(stdout); /* for C code that printed through stdio */
	(void)fflush(stderr);
	if (python_io_is_executing() &&
	    (io.unsynced || has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)))
		synchronise();
	return 0;
}

int python_io_settle(void)
{
	int code;

	if (is_stray())
		return 0;
	enter();
	code = settle_locked();
	leave();
	return code;
}

static int send_locked(enum kernel_type type, const struct buf *payload)
{
	struct err err = { 0 };
	int code;

	if (io.executing && settle_locked() < 0)
		return -1;
	Py_BEGIN_ALLOW_THREADS
	code = kernel_send(io.sock, type, io.id, payload, NULL, 0, &err);
	Py_END_ALLOW_THREADS
	if (code < 0 && err.errnum == EPIPE)
		_exit(1);
	if (code < 0) {
		PyErr_Format(PyExc_RuntimeError, "%s", err.text);
		return -1;
	}
	io.last = LAST_PACKET;
	return 0;
}

int python_io_send(enum kernel_type type, const struct buf *payload)
{
	int code;

	if (io.child || !(io.executing || io.asking) || is_stray())
		return 0;
	if (kernel_count_fields(payload) > KERNEL_FIELDS_MAX) {
		PyErr_SetString(PyExc_ValueError, "too many fields for a packet");
		return -1;
	}
	enter();
	if (type == KERNEL_DONE && !io.closing) {
		io.closing = true;
		keep_begun_lines();
	}
	code = send_locked(type, payload);
	leave();
	return code;
}

static int receive_reply(struct buf *payload, struct kernel_head *ret_head)
{
	struct err err;
	int fds[3], got;
	size_t nfds;

	for (;;) {
		struct pollfd wait = { .fd = io.sock, .events = POLLIN };
		int ready;

		/* The time limit covers a signal that arrives between the check and the wait. */
		Py_BEGIN_ALLOW_THREADS
		ready = poll(&wait, 1, 200);
		Py_END_ALLOW_THREADS
		if (PyErr_CheckSignals() < 0)
			return -1;
		if (ready > 0)
			break;
	}
	got = kernel_recv(io.sock, ret_head, payload, fds, ARRAY_LEN(fds), &nfds, &err);
	if (got <= 0 || ret_head->type == KERNEL_SHUTDOWN)
		_exit(got > 0 ? 0 : 1);
	fd_close_all(fds, nfds);
	return 0;
}

int python_io_receive_input(struct buf *ret_text)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head = { 0 };
	struct kernel_item items[8];
	const struct kernel_item *text;
	struct err err;
	int code, count;

	enter();
	do
		code = receive_reply(&payload, &head);
	while (code == 0 && head.type != KERNEL_INPUT_REPLY);
	leave();
	if (code < 0)
		return -1;
	count = kernel_unpack(buf_text(&payload), payload.len, head.field_count, items,
			      ARRAY_LEN(items), &err);
	text = count > 0 ? kernel_find(items, (size_t)count, KERNEL_TAG_TEXT) : NULL;
	if (text == NULL)
		return 0;
	if (buf_add(ret_text, text->data, text->len, &err) < 0) {
		PyErr_SetString(PyExc_MemoryError, "input is too long");
		return -1;
	}
	return 1;
}

void python_io_note(const char *text, size_t len)
{
	struct err err;

	if (len <= 4096 + 512)
		(void)kernel_pack(&io.notes, KERNEL_TAG_NOTE, text, len, &err);
}

void python_io_name(enum kernel_tag tag, const char *name, size_t len)
{
	struct err err;

	if (len > 0 && len <= NAME_MAX_BYTES)
		(void)kernel_pack(&io.notes, tag, name, len, &err);
}

const struct buf *python_io_notes(void)
{
	if (io.stray_total > 0) {
		char head[160], note[STRAY_MAX + sizeof(head)];
		int n = snprintf(
			head, sizeof(head),
			"background_output: %zu bytes printed by threads of earlier cells: ",
			io.stray_total);

		memcpy(note, head, (size_t)n);
		memcpy(note + n, io.stray, io.stray_len);
		python_io_note(note, (size_t)n + io.stray_len);
		io.stray_total = 0;
		io.stray_len = 0;
	}
	return &io.notes;
}

void python_io_begin(uint64_t id)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	PyObject *value = PyLong_FromUnsignedLongLong(id);
	PyObject *token = value != NULL ? PyContextVar_Set(current_execution, value) : NULL;

	Py_XDECREF(token);
	Py_XDECREF(value);
	PyErr_Clear();
	io.newest_thread = 0;
	for (PyThreadState *thread = PyInterpreterState_ThreadHead(interp); thread != NULL;
	     thread = PyThreadState_Next(thread))
		if (PyThreadState_GetID(thread) > io.newest_thread)
			io.newest_thread = PyThreadState_GetID(thread);
	io.id = id;
	io.syncs = 0;
	io.unsynced = false;
	io.last = LAST_NOTHING;
	io.executing = true;
}

void python_io_ask(uint64_t id)
{
	io.id = id;
	io.asking = true;
}

void python_io_end(void)
{
	if (io.executing)
		buf_clear(&io.notes);
	io.executing = false;
	io.closing = false;
	io.asking = false;
	io.id = 0;
}
