/*
 * interrupt.c - SIGINT in the Python kernel: stops the cell, keeps the variables.
 *
 * Runs in:  the Python kernel; handlers interrupt the main thread anywhere.
 * Reads:    nothing.
 * Never:    lets a late interrupt stop the next cell.
 *
 *   idle       our handler; remembered only for an EXECUTE that already waits in the socket
 *   running    our handler, which counts and calls the handler of user code:
 *              first, second   what user code has set up, by default KeyboardInterrupt
 *              third           a hard interrupt: KeyboardInterrupt at every line until the stack of
 *                              the cell is unwound, so that neither "except KeyboardInterrupt:
 *                              pass" in a loop nor a handler that does nothing continues the cell
 *
 * The host sends a SIGINT each half second (lib/execution/stop.c). It ends the kernel if that has
 * no effect: in C code that does not check signals, or if SIGINT is blocked.
 */
#include "inside/python/python.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define HARD_AT 3
#define HARD_SIGNAL SIGRTMAX /* used by a C handler, or our timer, to reach a Python handler */
#define ALARM_AGAIN_NS 100000000

static struct sigaction user_action; /* the action that user code has set */
static volatile sig_atomic_t early;
static volatile sig_atomic_t seen; /* in this cell */
static bool is_running;
static int control = -1;

static void on_idle(int sig)
{
	struct pollfd wait = { .fd = control, .events = POLLIN };
	int saved_errno = errno;

	(void)sig;
	if (poll(&wait, 1, 0) > 0)
		early = 1;
	errno = saved_errno;
}

static void on_running(int sig, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	if (seen < HARD_AT)
		seen++;
	/* The default action would end the session, which user code that sets it does not
	 * intend. */
	if (!python_io_is_child() && (seen >= HARD_AT || user_action.sa_handler == SIG_DFL))
		PyErr_SetInterruptEx(HARD_SIGNAL);
	else if ((user_action.sa_flags & SA_SIGINFO) != 0)
		user_action.sa_sigaction(sig, info, context);
	else if (user_action.sa_handler == SIG_DFL)
		_exit(128 + sig);
	else if (user_action.sa_handler != SIG_IGN)
		user_action.sa_handler(sig);
	errno = saved_errno;
}

/* Without SA_RESTART: a waiting system call must return so that Python checks signals. */
static void take(void)
{
	struct sigaction running = { .sa_sigaction = on_running, .sa_flags = SA_SIGINFO };
	struct sigaction old;

	if (sigaction(SIGINT, &running, &old) == 0 && old.sa_sigaction != on_running)
		user_action = old;
}

void python_interrupt_taken(void)
{
	/* A child of user code has the action that it set: a pool's workers ignore interrupts. */
	if (is_running && !python_io_is_child())
		take();
}

void python_interrupt_to_kernel(void)
{
	struct sigaction idle = { .sa_handler = on_idle, .sa_flags = SA_RESTART };

	take(); /* also remembers an action that C code of the cell has set */
	is_running = false;
	(void)sigaction(SIGINT, &idle, NULL);
	/* A signal that arrived while results were rendered has had its effect or is too late. */
	while (PyErr_CheckSignals() < 0)
		PyErr_Clear();
}

void python_interrupt_to_user(void)
{
	seen = 0;
	is_running = true;
	(void)sigaction(SIGINT, &user_action, NULL);
	take();
	if (early)
		(void)raise(SIGINT);
	early = 0;
}

/* Whether the frame is the kernel's own, below the cell: the unwinding stops there. */
static bool is_below_cell(PyFrameObject *frame)
{
	PyCodeObject *code = PyFrame_GetCode(frame);
	const char *file = PyUnicode_AsUTF8(code->co_filename);
	bool below = file == NULL ||
		     (python_io_is_executing() ? strcmp(file, "<reckon>/cell.py") == 0 ||
							 strcmp(file, "<reckon>/safe.py") == 0
					       : strncmp(file, "<reckon>/", 9) == 0);

	PyErr_Clear();
	Py_DECREF(code);
	return below;
}

static int trace_out(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)unused;
	(void)arg;
	if (what != PyTrace_LINE && what != PyTrace_CALL)
		return 0;
	if (is_below_cell(frame)) {
		PyEval_SetTrace(NULL, NULL);
		return 0;
	}
	PyErr_SetNone(PyExc_KeyboardInterrupt);
	return -1;
}

PyObject *python_interrupt_hard(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	if (!is_running)
		Py_RETURN_NONE;
	PyEval_SetTrace(trace_out, NULL);
	PyErr_SetNone(PyExc_KeyboardInterrupt);
	return NULL;
}

/* fork() does not copy a process's timers: make a new one in a copy. */
static int set_timer(const struct itimerspec *when)
{
	static timer_t timer;
	static bool has_timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = HARD_SIGNAL };

	if (has_timer && timer_settime(timer, 0, when, NULL) == 0)
		return 0;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return -1;
	has_timer = true;
	return timer_settime(timer, 0, when, NULL);
}

PyObject *python_interrupt_alarm(PyObject *self, PyObject *seconds)
{
	const double wanted = PyFloat_AsDouble(seconds);
	struct itimerspec when = { .it_interval = { 0 } };

	(void)self;
	if (wanted == -1.0 && PyErr_Occurred())
		return NULL;
	when.it_value.tv_sec = (time_t)wanted;
	when.it_value.tv_nsec = (long)((wanted - (double)when.it_value.tv_sec) * 1e9);
	if (wanted > 0)
		when.it_interval.tv_nsec = ALARM_AGAIN_NS;
	if (set_timer(&when) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	if (wanted <= 0) { /* drop an interrupt that came too late: there is nothing to stop */
		if (PyErr_CheckSignals() < 0)
			PyErr_Clear();
		PyEval_SetTrace(NULL, NULL);
	}
	Py_RETURN_NONE;
}

void python_interrupt_start(int sock)
{
	control = sock;
	(void)sigaction(SIGINT, NULL, &user_action);
}

PyObject *python_interrupt_unraisable(PyObject *self, PyObject *unraisable)
{
	PyObject *type = PyObject_GetAttrString(unraisable, "exc_type");
	PyObject *hook, *done;
	bool interrupted = type == PyExc_KeyboardInterrupt;

	(void)self;
	PyErr_Clear();
	Py_XDECREF(type);
	if (interrupted && is_running && seen > 0 && !python_io_is_child()) {
		/* Python ignores exceptions here: raise it again at the program's next line. */
		PyErr_SetInterruptEx(SIGINT);
		Py_RETURN_NONE;
	}
	hook = PySys_GetObject("__unraisablehook__");
	done = hook != NULL ? PyObject_CallOneArg(hook, unraisable) : NULL;
	if (done == NULL && !PyErr_Occurred())
		Py_RETURN_NONE;
	return done;
}
