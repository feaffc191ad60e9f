/*
 * python.h - the interfaces between the parts of the Python kernel.
 *
 *   python.c     starts the interpreter, preloads modules, resets a fresh fork
 *   serve.c      the packet loop; one execution; requests; the start of a branch
 *   io.c         streams and packets; in C, so that user code cannot break them
 *   interrupt.c  SIGINT: interrupts only the running cell
 *   chance.c     reseeds numpy's global generator in a fork
 *   wire.c       the module _reckon_c, which the Python layer uses to call io.c
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

/* io.c. All of these need the GIL; -1 means that a Python exception is set. */
int python_io_start(int sock);
void python_io_begin(uint64_t id); /* an execution starts: packets may be sent */
void python_io_ask(uint64_t id);   /* a request starts: exactly one reply may be sent */
void python_io_end(void);	   /* the kernel is idle again: nothing may be sent */
int python_io_write(enum python_stream stream, const char *text, size_t len);
int python_io_flush(void);
int python_io_settle(void); /* flushes and sends SYNC: call before a child process may write */
int python_io_send(enum kernel_type type, const struct buf *payload);
/* Waits for INPUT_REPLY: 1 with `ret_text`, 0 at end of input, -1 with an exception. */
int python_io_receive_input(struct buf *ret_text);
/* Adds a NOTE to the next DONE; silently dropped above a limit. */
void python_io_note(const char *text, size_t len);
/* Adds the name of a new or deleted variable to the next DONE, with the same limit. */
void python_io_name(enum kernel_tag tag, const char *name, size_t len);
const struct buf *python_io_notes(void); /* packed fields, cleared by python_io_end() */
/* Wraps the callable so that its thread belongs to the execution that starts it; a new
 * reference. */
PyObject *python_io_owned(PyObject *callable);
bool python_io_is_executing(void);
bool python_io_is_child(void); /* in a process that user code forked */
void python_io_resumed(void);  /* in a branch: no other thread exists, its locks are free */

/* interrupt.c. Call all of these in the main thread, with the GIL. */
void python_interrupt_start(int sock);
void python_interrupt_to_kernel(void); /* no cell runs: ignore interrupts, or remember an early
				        * one */
void python_interrupt_to_user(void);   /* a cell runs: interrupts go to it */
void python_interrupt_taken(void);     /* user code has set its own handler */
/* Python's handler of the signal that stands for a third interrupt. */
PyObject *python_interrupt_hard(PyObject *self, PyObject *args);
/* alarm(seconds): a hard interrupt after this time, repeated; alarm(0) stops them. */
PyObject *python_interrupt_alarm(PyObject *self, PyObject *seconds);
/* sys.unraisablehook: Python drops an exception that a __del__ or a callback raises. */
PyObject *python_interrupt_unraisable(PyObject *self, PyObject *unraisable);

/* chance.c */
PyObject *python_chance_at(PyObject *self, PyObject *address);
bool python_chance_anew(void); /* false: numpy must reseed itself */

/* wire.c */
PyMODINIT_FUNC PyInit__reckon_c(void);
int python_audit(const char *event, PyObject *args, void *data);

/* layer.c: a new, empty dict of the Python layer's modules; borrowed. */
PyObject *python_layer_new(void);
/* Returns an attribute of a module; borrowed, NULL with an exception. */
PyObject *python_layer_get(const char *module, const char *name);

/* serve.c */
int python_serve(int sock);
