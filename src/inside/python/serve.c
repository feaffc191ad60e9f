/*
 * serve.c - the packet loop of the Python kernel.
 *
 * Runs in:  the Python kernel, main thread; everything here ends with the session.
 * Reads:    packets of the host.
 * Never:    relies on the Python layer: an exception of it becomes an answer.
 *
 * While idle the kernel releases the GIL, so that threads of user code continue.
 */
#include "inside/python/python.h"
#include "inside/procview.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "inside/resume.h"

#define KEEP_PAYLOAD (1024u * 1024u)

static struct kernel_item items[KERNEL_FIELDS_MAX];
static int control = KERNEL_FD;

static void streams_to_null(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	for (int fd = 0; fd <= 2; fd++)
		if (fd != null)
			(void)dup2(null, fd);
	if (null > 2)
		(void)close(null);
}

static PyObject *text_of(const struct kernel_item *item)
{
	if (item == NULL)
		return PyUnicode_FromString("");
	return PyUnicode_DecodeUTF8(item->data, (Py_ssize_t)item->len, "replace");
}

static PyObject *call(const char *module, const char *name, PyObject *args)
{
	PyObject *function = args != NULL ? python_layer_get(module, name) : NULL;
	PyObject *result = function != NULL ? PyObject_CallObject(function, args) : NULL;

	Py_XDECREF(args);
	return result;
}

/* The layer itself was interrupted or failed: report that without it. */
static const char *answer_without_layer(void)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
	PyObject *type, *value, *trace;
	const char *name;
	struct err err;

	PyErr_Fetch(&type, &value, &trace);
	name = type != NULL && PyType_Check(type) ? ((PyTypeObject *)type)->tp_name : "SystemError";
	(void)kernel_pack(&payload, KERNEL_TAG_NAME, name, strlen(name), &err);
	(void)kernel_pack(&payload, KERNEL_TAG_VALUE, "", 0, &err);
	(void)kernel_pack(&payload, KERNEL_TAG_TRACEBACK, name, strlen(name), &err);
	for (int tries = 0; tries < 3 && python_io_send(KERNEL_ERROR, &payload) < 0; tries++)
		PyErr_Clear();
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	PyErr_Clear();
	return interrupted ? "interrupted" : "error";
}

static void send_done(const char *status)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	const struct buf *notes = python_io_notes();
	struct err err;

	(void)kernel_pack(&payload, KERNEL_TAG_STATUS, status, strlen(status), &err);
	if (notes->len > 0)
		(void)buf_add(&payload, notes->data, notes->len, &err);
	/* Sending flushes first; a signal handler of user code may interrupt that. */
	for (int tries = 0; tries < 3 && python_io_send(KERNEL_DONE, &payload) < 0; tries++)
		PyErr_Clear();
}

static PyObject *list_of(size_t count, enum kernel_tag tag)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list != NULL && i < count; i++) {
		PyObject *text;

		if (items[i].tag != (uint32_t)tag)
			continue;
		text = text_of(&items[i]);
		if (text == NULL || PyList_Append(list, text) < 0)
			PyErr_Clear();
		Py_XDECREF(text);
	}
	return list;
}

static void execute(const struct kernel_head *head, size_t count)
{
	const struct kernel_item *allowed = kernel_find(items, count, KERNEL_TAG_INPUT_ALLOWED);
	bool input = allowed != NULL && allowed->len == 1 && allowed->data[0] == '1';
	char status[16] = "error";
	PyObject *result;
	const char *answer;

	python_io_begin(head->id);
	python_interrupt_to_user();
	result = call("cell", "run",
		      Py_BuildValue("NNON", text_of(kernel_find(items, count, KERNEL_TAG_CODE)),
				    text_of(kernel_find(items, count, KERNEL_TAG_FILENAME)),
				    input ? Py_True : Py_False, list_of(count, KERNEL_TAG_ENV)));
	if (python_io_is_child()) /* user code forked, and the copy has reached the end of the
				   * cell */
		_exit(0);
	PyEval_SetTrace(NULL, NULL);
	PyEval_SetProfile(NULL, NULL);
	answer = result != NULL && PyUnicode_Check(result) ? PyUnicode_AsUTF8(result) : NULL;
	python_interrupt_to_kernel();
	if (answer == NULL && !PyErr_Occurred())
		PyErr_SetString(PyExc_SystemError, "no status");
	if (answer == NULL)
		answer = answer_without_layer();
	(void)snprintf(status, sizeof(status), "%s", answer);
	Py_XDECREF(result);
	send_done(status);
	python_io_end();
}

static void execute_packet(const struct kernel_head *head, size_t count, int *fds, size_t nfds)
{
	static const int places[] = { STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO };

	if (nfds != ARRAY_LEN(places))
		_exit(1); /* the host's fault; without streams no error can be reported */
	for (size_t i = 0; i < nfds; i++) {
		(void)dup2(fds[i], places[i]);
		if (fds[i] > 2)
			(void)close(fds[i]);
	}
	execute(head, count);
	streams_to_null();
}

static enum kernel_type reply_of(uint16_t request)
{
	switch (request) {
	case KERNEL_VARIABLES:
		return KERNEL_VARIABLES_REPLY;
	case KERNEL_COMPLETE:
		return KERNEL_COMPLETE_REPLY;
	case KERNEL_IS_COMPLETE:
		return KERNEL_IS_COMPLETE_REPLY;
	default:
		return KERNEL_INSPECT_REPLY;
	}
}

/* The layer sends the fields of a reply; an exception becomes a reply without fields. */
static void request(const struct kernel_head *head, size_t count)
{
	const struct kernel_item *code = kernel_find(items, count, KERNEL_TAG_CODE);
	uint64_t cursor = 0;
	const struct kernel_item *detail = kernel_find(items, count, KERNEL_TAG_DETAIL);
	const char *module = "variables", *function = "variables";
	PyObject *args, *done;

	(void)resume_number(kernel_find(items, count, KERNEL_TAG_CURSOR), &cursor);
	if (code != NULL && cursor > code->len)
		cursor = code->len;
	if (head->type == KERNEL_VARIABLES) {
		args = PyTuple_New(0);
	} else if (head->type == KERNEL_IS_COMPLETE) {
		module = "whole";
		function = "judge";
		args = Py_BuildValue("(y#)", code != NULL ? code->data : "",
				     code != NULL ? (Py_ssize_t)code->len : (Py_ssize_t)0);
	} else {
		const bool inspects = head->type == KERNEL_INSPECT;

		module = inspects ? "inspect" : "complete";
		function = inspects ? "inspect_" : "complete";
		args = Py_BuildValue(inspects ? "(y#KO)" : "(y#K)", code != NULL ? code->data : "",
				     code != NULL ? (Py_ssize_t)code->len : (Py_ssize_t)0,
				     (unsigned long long)cursor,
				     detail != NULL ? Py_True : Py_False);
	}
	python_io_ask(head->id);
	python_interrupt_to_user(); /* so that an interrupt can stop a hostile __repr__ */
	done = call(module, function, args);
	PyEval_SetTrace(NULL, NULL);
	python_interrupt_to_kernel();
	if (done == NULL) {
		cleanup_buf struct buf empty = BUF_INIT(KERNEL_INLINE_MAX);

		PyErr_Clear();
		(void)python_io_send(reply_of(head->type), &empty);
		PyErr_Clear();
	}
	Py_XDECREF(done);
	python_io_end();
}

static void configure(size_t count)
{
	const struct kernel_item *seed = kernel_find(items, count, KERNEL_TAG_SEED);
	const struct kernel_item *cwd = kernel_find(items, count, KERNEL_TAG_CWD);
	PyObject *done = call("fresh", "configure",
			      Py_BuildValue("NNN", list_of(count, KERNEL_TAG_ENV), text_of(seed),
					    text_of(cwd)));

	PyErr_Clear();
	Py_XDECREF(done);
}

/*
 * Handles the first packet of a branch. Resets the interpreter as after a fork: all other threads
 * are gone, and one of them may have held the GIL.
 */
static void resume(PyThreadState *thread, size_t count)
{
	PyObject *done;
	unsigned lost = 0, failed;

	for (PyThreadState *other = PyInterpreterState_ThreadHead(thread->interp); other != NULL;
	     other = PyThreadState_Next(other))
		lost += other != thread;
	resume_apply(control);
	streams_to_null();
	python_io_resumed();
	(void)PyThreadState_Swap(thread);
	PyOS_AfterFork_Child();
	/* Before files are reopened: an object that is released now may still close their
	 * numbers. */
	done = call("fresh", "forget_lost", PyTuple_New(0));
	PyErr_Clear();
	Py_XDECREF(done);
	failed = resume_reopen(items, count);
	done = call("fresh", "resume",
		    Py_BuildValue("NII", text_of(kernel_find(items, count, KERNEL_TAG_SEED)), lost,
				  failed));
	PyErr_Clear();
	Py_XDECREF(done);
}

/* The socket is a copy that the layer owns; a layer that cannot take it has no tools. */
static void tools_packet(size_t count, int fd)
{
	const struct kernel_item *data = kernel_find(items, count, KERNEL_TAG_DATA);
	PyObject *done = call("tools", "begin",
			      Py_BuildValue("(y#i)", data != NULL ? data->data : "[]",
					    data != NULL ? (Py_ssize_t)data->len : (Py_ssize_t)2,
					    fd));

	PyErr_Clear();
	Py_XDECREF(done);
}

/* There is no way to report an error here. */
static void send_pong(uint64_t id)
{
	struct err ignored;

	(void)kernel_send(control, KERNEL_PONG, id, NULL, NULL, 0, &ignored);
}

static void handle(const struct kernel_head *head, size_t count, int *fds, size_t nfds)
{
	const uint64_t begun_ns = clock_mono_ns();

	switch (head->type) {
	case KERNEL_EXECUTE:
		execute_packet(head, count, fds, nfds);
		procview_after_cell(begun_ns);
		return;
	case KERNEL_VARIABLES:
	case KERNEL_COMPLETE:
	case KERNEL_INSPECT:
	case KERNEL_IS_COMPLETE:
		request(head, count);
		break;
	case KERNEL_CONFIGURE:
		configure(count);
		break;
	case KERNEL_TOOLS:
		if (nfds == 1)
			tools_packet(count, fds[0]);
		break;
	case KERNEL_CGROUP_JOIN:
		resume_join_cgroups(fds, nfds);
		break;
	case KERNEL_PARK:
		resume_park();
		break;
	case KERNEL_PING:
		send_pong(head->id);
		break;
	case KERNEL_SHUTDOWN:
		_exit(0);
	default: /* an answer that nobody waits for any longer */
		break;
	}
	fd_close_all(fds, nfds);
}

static int send_ready(struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	const char *version = Py_GetVersion();

	if (kernel_pack(&payload, KERNEL_TAG_LANGUAGE, "python", 6, err) < 0 ||
	    kernel_pack(&payload, KERNEL_TAG_VERSION, version, strcspn(version, " "), err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_READY, 0, &payload, NULL, 0, err);
}

/* Waits for one packet. Returns the number of fields in `items`, or -1: the session has ended. */
static int next_packet(struct buf *payload, struct kernel_head *ret_head, int *fds,
		       size_t *ret_nfds)
{
	PyThreadState *thread;
	struct err err;
	int got, count;

	if (payload->cap > KEEP_PAYLOAD)
		buf_done(payload);
	resume_save();
	thread = PyEval_SaveThread();
	got = kernel_recv(control, ret_head, payload, fds, 3, ret_nfds, &err);
	count = got > 0 ? kernel_unpack(buf_text(payload), payload->len, ret_head->field_count,
					items, ARRAY_LEN(items), &err)
			: -1;
	if (count >= 0 && ret_head->type == KERNEL_RESUME)
		resume(thread, (size_t)count);
	else
		PyEval_RestoreThread(thread);
	return count;
}

int python_serve(int sock)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	struct err err;
	size_t nfds;
	int fds[3], count;

	control = sock;
	(void)fcntl(sock, F_SETFD, FD_CLOEXEC); /* programs that cells start must not inherit it */
	if (python_io_start(sock) < 0)
		return 1;
	python_interrupt_start(sock);
	python_interrupt_to_kernel();
	if (send_ready(&err) < 0)
		return 1;
	while ((count = next_packet(&payload, &head, fds, &nfds)) >= 0)
		handle(&head, (size_t)count, fds, nfds);
	/* Not Py_Finalize(): atexit handlers of user code could keep an ended session alive. */
	return 0;
}
