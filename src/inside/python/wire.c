/*
 * wire.c - the module _reckon_c, which gives the Python layer access to streams and packets.
 *
 * Runs in:  the Python kernel.
 * Reads:    arguments that user code may have prepared.
 * Never:    holds state of its own.
 */
#include "inside/python/python.h"
#include "inside/procview.h"

#include <string.h>

#include "base/cleanup.h"

static bool stream_from(int number, enum python_stream *ret)
{
	if (number != 1 && number != 2) {
		PyErr_SetString(PyExc_ValueError, "a stream is 1 or 2");
		return false;
	}
	*ret = number == 1 ? PYTHON_STDOUT : PYTHON_STDERR;
	return true;
}

static PyObject *wire_write(PyObject *self, PyObject *args)
{
	enum python_stream stream;
	PyObject *text, *bytes;
	const char *utf8;
	Py_ssize_t len;
	int number, code;

	(void)self;
	if (!PyArg_ParseTuple(args, "iU", &number, &text) || !stream_from(number, &stream))
		return NULL;
	if (PyUnicode_IS_COMPACT_ASCII(text)) {
		utf8 = PyUnicode_AsUTF8AndSize(text, &len);
		code = utf8 != NULL ? python_io_write(stream, utf8, (size_t)len) : -1;
	} else {
		/* Not PyUnicode_AsUTF8AndSize: it would store the bytes in the string object. */
		bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
		if (bytes == NULL)
			return NULL;
		code = python_io_write(stream, PyBytes_AS_STRING(bytes),
				       (size_t)PyBytes_GET_SIZE(bytes));
		Py_DECREF(bytes);
	}
	return code < 0 ? NULL : PyLong_FromSsize_t(PyUnicode_GET_LENGTH(text));
}

static PyObject *wire_write_bytes(PyObject *self, PyObject *args)
{
	enum python_stream stream;
	Py_buffer bytes;
	Py_ssize_t len;
	int number, code;

	(void)self;
	if (!PyArg_ParseTuple(args, "iy*", &number, &bytes))
		return NULL;
	len = bytes.len;
	code = stream_from(number, &stream) ? python_io_write(stream, bytes.buf, (size_t)len) : -1;
	PyBuffer_Release(&bytes);
	return code < 0 ? NULL : PyLong_FromSsize_t(len);
}

static PyObject *wire_flush(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (python_io_flush() < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *wire_settle(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (python_io_settle() < 0)
		return NULL;
	Py_RETURN_NONE;
}

static int pack_data(struct buf *payload, unsigned tag, PyObject *data)
{
	struct err err = { 0 };
	PyObject *bytes;
	int code;

	if (PyUnicode_Check(data))
		bytes = PyUnicode_AsEncodedString(data, "utf-8", "backslashreplace");
	else
		bytes = PyBytes_FromObject(data);
	if (bytes == NULL)
		return -1;
	code = kernel_pack(payload, (enum kernel_tag)tag, PyBytes_AS_STRING(bytes),
			   (size_t)PyBytes_GET_SIZE(bytes), &err);
	Py_DECREF(bytes);
	if (code < 0)
		PyErr_Format(PyExc_ValueError, "too large for a packet: %s", err.text);
	return code < 0 ? -1 : 0;
}

/* send(type, [(tag, str or bytes), ...]) */
static PyObject *wire_send(PyObject *self, PyObject *args)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	PyObject *fields;
	int type;

	(void)self;
	if (!PyArg_ParseTuple(args, "iO!", &type, &PyList_Type, &fields))
		return NULL;
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fields); i++) {
		PyObject *data;
		unsigned tag;

		if (!PyArg_ParseTuple(PyList_GET_ITEM(fields, i), "IO", &tag, &data) ||
		    pack_data(&payload, tag, data) < 0)
			return NULL;
	}
	if (python_io_send((enum kernel_type)type, &payload) < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* receive_input() -> str, or None at end of input; call it after sending INPUT_REQUEST */
static PyObject *wire_receive_input(PyObject *self, PyObject *unused)
{
	cleanup_buf struct buf text = BUF_INIT(KERNEL_PAYLOAD_MAX);
	int code;

	(void)self;
	(void)unused;
	if (!python_io_is_executing())
		Py_RETURN_NONE;
	code = python_io_receive_input(&text);
	if (code < 0)
		return NULL;
	if (code == 0)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(buf_text(&text), (Py_ssize_t)text.len, "replace");
}

static PyObject *wire_note(PyObject *self, PyObject *args)
{
	const char *text;
	Py_ssize_t len;

	(void)self;
	if (!PyArg_ParseTuple(args, "s#", &text, &len))
		return NULL;
	python_io_note(text, (size_t)len);
	Py_RETURN_NONE;
}

static PyObject *wire_name(PyObject *self, PyObject *args)
{
	const char *name;
	Py_ssize_t len;
	int is_gone;

	(void)self;
	if (!PyArg_ParseTuple(args, "s#p", &name, &len, &is_gone))
		return NULL;
	python_io_name(is_gone != 0 ? KERNEL_TAG_VAR_GONE : KERNEL_TAG_VAR_NAME, name, (size_t)len);
	Py_RETURN_NONE;
}

static PyObject *wire_is_executing(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(python_io_is_executing());
}

static PyObject *wire_interrupt_taken(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	python_interrupt_taken();
	Py_RETURN_NONE;
}

static PyObject *wire_owned(PyObject *self, PyObject *callable)
{
	(void)self;
	return python_io_owned(callable);
}

/*
 * differing(names, known) -> the keys of `known` that have another value in `names`, or none. A
 * loop in Python would change the reference counts of some 160 values, and in a new session that
 * copies the page of nearly each.
 */
static PyObject *wire_differing(PyObject *self, PyObject *args)
{
	PyObject *names, *known, *key, *value, *found = PyList_New(0);
	Py_ssize_t at = 0;

	(void)self;
	if (found == NULL ||
	    !PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &names, &PyDict_Type, &known)) {
		Py_XDECREF(found);
		return NULL;
	}
	while (PyDict_Next(known, &at, &key, &value)) {
		if (PyDict_GetItemWithError(names, key) == value)
			continue;
		if (PyErr_Occurred() || PyList_Append(found, key) < 0) {
			Py_DECREF(found);
			return NULL;
		}
	}
	return found;
}

static PyMethodDef wire_methods[] = {
	{ "write", wire_write, METH_VARARGS, "write(stream, text): print text" },
	{ "write_bytes", wire_write_bytes, METH_VARARGS, "write_bytes(stream, bytes)" },
	{ "flush", wire_flush, METH_NOARGS, "flush(): hand all text to the pipes" },
	{ "settle", wire_settle, METH_NOARGS, "settle(): flush, and wait until it was read" },
	{ "send", wire_send, METH_VARARGS, "send(type, [(tag, data), ...])" },
	{ "receive_input", wire_receive_input, METH_NOARGS, "receive_input() -> str or None" },
	{ "note", wire_note, METH_VARARGS, "note('code: message')" },
	{ "name", wire_name, METH_VARARGS, "name(name, is_gone): of a variable, for DONE" },
	{ "is_executing", wire_is_executing, METH_NOARGS, "is_executing() -> bool" },
	{ "chance_at", python_chance_at, METH_O,
	  "chance_at(address): of numpy's global generator" },
	{ "differing", wire_differing, METH_VARARGS, "differing(names, known) -> keys" },
	{ "owned", wire_owned, METH_O, "owned(callable): for a thread of this execution" },
	{ "interrupt_taken", wire_interrupt_taken, METH_NOARGS, "a handler of SIGINT was set" },
	{ "interrupt_hard", python_interrupt_hard, METH_VARARGS, "a third interrupt" },
	{ "alarm", python_interrupt_alarm, METH_O, "alarm(seconds): a hard interrupt then" },
	{ "unraisablehook", python_interrupt_unraisable, METH_O, "unraisablehook(unraisable, /)" },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef wire_module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_reckon_c",
	.m_doc = "Streams and packets of the kernel.",
	.m_size = -1,
	.m_methods = wire_methods,
};

PyMODINIT_FUNC PyInit__reckon_c(void)
{
	return PyModule_Create(&wire_module);
}

static void before_open(PyObject *args)
{
	PyObject *path = PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0
				 ? PyTuple_GET_ITEM(args, 0)
				 : NULL;

	if (path != NULL && PyUnicode_Check(path) && PyUnicode_IS_COMPACT_ASCII(path))
		procview_before_open((const char *)PyUnicode_1BYTE_DATA(path));
	else if (path != NULL && PyBytes_Check(path))
		procview_before_open(PyBytes_AS_STRING(path));
}

/*
 * Printed text must be in the pipes before a child process can print as well, and before a fork
 * copies our buffers. The numbers in /proc must be those of now before this process or a program
 * that it starts reads them.
 */
int python_audit(const char *event, PyObject *args, void *data)
{
	static const char *const starts[] = { "subprocess.Popen", "os.system", "os.fork",
					      "os.forkpty",	  "os.exec",   "os.posix_spawn",
					      "os.spawn" };

	(void)data;
	if (event[0] != 's' && event[0] != 'o')
		return 0;
	if (strcmp(event, "open") == 0) {
		before_open(args);
		return 0;
	}
	if (event[0] == 'o' && event[1] != 's')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (strcmp(event, starts[i]) == 0) {
			procview_refresh();
			return python_io_is_executing() ? python_io_settle() : 0;
		}
	return 0;
}
