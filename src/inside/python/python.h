/*
 * python.h - the parts of the Python kernel, among themselves.
 *
 *   python.c     starts the interpreter, preloads modules, resets a fresh fork
 *   serve.c      the packet loop; one execution; requests; a branch's first breath
 *   io.c         streams and packets: what user code must not be able to break, so it is C
 *   interrupt.c  SIGINT: to the cell that runs, and to no other
 *   chance.c     numpy's global generator, in a fresh fork
 *   wire.c       the module _reckon_c, through which the Python layer reaches io.c
 *   ../py/       the Python layer: semantics of a cell, results, errors
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/kernel.h"

/* The Python layer, generated from py/ at build time; ends with a NULL name. */
struct python_layer_file {
	const char *name; /* "cell" */
	const char *text; /* NUL-terminated */
};
extern const struct python_layer_file python_layer_files[];

enum python_stream { PYTHON_STDOUT, PYTHON_STDERR, PYTHON_STREAM_COUNT_ };

/* io.c. All of these want the GIL; -1 means that a Python exception is set. */
int python_io_start(int sock);
void python_io_begin(uint64_t id); /* an execution starts: packets may be sent */
void python_io_ask(uint64_t id);   /* a request starts: exactly one reply may be sent */
void python_io_end(void);	   /* back to idle: nothing may be sent */
int python_io_write(enum python_stream stream, const char *text, size_t len);
int python_io_flush(void);
int python_io_settle(void); /* flush and SYNC: before a child process may write */
int python_io_send(enum kernel_type type, const struct buf *payload);
/* Waits for INPUT_REPLY: 1 with `ret_text`, 0 at end of input, -1 with an exception. */
int python_io_receive_input(struct buf *ret_text);
/* Adds a NOTE for the next DONE; bounded, silently dropped beyond that. */
void python_io_note(const char *text, size_t len);
/* The same for the name of a variable that is new, or gone. */
void python_io_name(enum kernel_tag tag, const char *name, size_t len);
const struct buf *python_io_notes(void); /* packed fields, cleared by python_io_end() */
/* The callable as one of a thread that belongs to the execution which starts it; a new reference. */
PyObject *python_io_owned(PyObject *callable);
bool python_io_is_executing(void);
bool python_io_is_child(void); /* in a process that user code forked */
void python_io_resumed(void);  /* in a branch: no other thread lives, its locks are free */

/* interrupt.c; all of these in the main thread, with the GIL. */
void python_interrupt_start(int sock);
void python_interrupt_to_kernel(void); /* no cell runs: an interrupt is too late, or early */
void python_interrupt_to_user(void);   /* a cell runs: it is the cell's */
void python_interrupt_taken(void);     /* user code has set a handler of its own */
/* Python's handler of the signal that a third interrupt is turned into. */
PyObject *python_interrupt_hard(PyObject *self, PyObject *args);
/* alarm(seconds): a hard interrupt then, and again; alarm(0): no more of them. */
PyObject *python_interrupt_alarm(PyObject *self, PyObject *seconds);
/* sys.unraisablehook: Python drops an exception that is raised in a __del__ or a callback. */
PyObject *python_interrupt_unraisable(PyObject *self, PyObject *unraisable);

/* chance.c */
PyObject *python_chance_at(PyObject *self, PyObject *address);
bool python_chance_anew(void); /* false: numpy has to do it */

/* wire.c */
PyMODINIT_FUNC PyInit__reckon_c(void);
int python_audit(const char *event, PyObject *args, void *data);

/* layer.c: the modules of the Python layer, none yet; borrowed. */
PyObject *python_layer_new(void);
/* An attribute of one; borrowed, NULL with an exception. */
PyObject *python_layer_get(const char *module, const char *name);

/* serve.c */
int python_serve(int sock);
