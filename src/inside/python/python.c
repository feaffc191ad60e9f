/*
 * python.c - the Python kernel: starts the interpreter, and resets it after a fork.
 *
 * Runs in:  reckon-zygote-python until it forks, then in a kernel; reckon-kernel-direct.
 * Reads:    the template's packages, which are trusted; nothing that user code created.
 * Never:    runs user code (serve.c does), reads configuration from the environment,
 *           or lets the distribution's own packages onto sys.path.
 */
#include "inside/python/python.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "inside/kernel.h"

#define FORK_ROUNDS 20
/* CPython's allocator: a pool of 16 KiB holds objects of one size, in steps of 16 bytes. */
#define POOL_BYTES 16384
#define POOL_STEP 16
#define POOL_SIZE_MAX 512
#define POOL_OBJECTS_MAX 200000

/* Turns the pending Python exception into *err. */
static int python_error(struct err *err, const char *what)
{
	PyObject *type, *value, *trace, *text = NULL;
	const char *utf8 = NULL;

	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (value != NULL)
		text = PyObject_Str(value);
	if (text != NULL)
		utf8 = PyUnicode_AsUTF8(text);
	(void)err_set(err, ERR_UNAVAILABLE, "%s: %s: %s", what,
		      type != NULL ? ((PyTypeObject *)type)->tp_name : "?",
		      utf8 != NULL ? utf8 : "no message");
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	return (int)err->code;
}

static int status_error(struct err *err, PyStatus status)
{
	return err_set(err, ERR_UNAVAILABLE, "Python does not start: %s",
		       status.err_msg != NULL ? status.err_msg : "no reason given");
}

/*
 * Makes the interpreter believe that it is TEMPLATE/bin/python3, so that the pyvenv.cfg next to it
 * selects only the template's packages. Without a template there is no site at all: Debian's would
 * add /usr/lib/python3/dist-packages, whose packages are built for another numpy.
 */
static int start_interpreter(const char *template_dir, struct err *err)
{
	char program[512] = RECKON_PYTHON_PROGRAM;
	PyPreConfig pre;
	PyConfig config;
	PyStatus status;

	if (template_dir != NULL && snprintf(program, sizeof(program), "%s/bin/python3",
					     template_dir) >= (int)sizeof(program))
		return err_set(err, ERR_INVALID, "template path is too long");
	if (PyImport_AppendInittab("_reckon_c", PyInit__reckon_c) < 0 ||
	    PySys_AddAuditHook(python_audit, NULL) < 0)
		return err_set(err, ERR_SYSTEM, "no memory for Python");
	PyPreConfig_InitIsolatedConfig(&pre);
	pre.utf8_mode = 1;
	status = Py_PreInitialize(&pre);
	if (PyStatus_Exception(status))
		return status_error(err, status);
	PyConfig_InitIsolatedConfig(&config);
	config.install_signal_handlers = 1;
	config.site_import = template_dir != NULL;
	config.write_bytecode = 0;
	status = PyConfig_SetBytesString(&config, &config.program_name, program);
	if (!PyStatus_Exception(status))
		status = PyConfig_SetBytesString(&config, &config.executable, program);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	return PyStatus_Exception(status) ? status_error(err, status) : 0;
}

static PyObject *new_module(const char *name, PyObject *builtins)
{
	PyObject *module = PyModule_New(name);
	PyObject *dict = module != NULL ? PyModule_GetDict(module) : NULL;

	if (dict == NULL || PyDict_SetItemString(dict, "__builtins__", builtins) < 0 ||
	    PyDict_SetItemString(PyImport_GetModuleDict(), name, module) < 0) {
		Py_XDECREF(module);
		return NULL;
	}
	return module;
}

static int load_module(PyObject *layer, const struct python_layer_file *file, PyObject *builtins)
{
	char name[64], shown[64];
	PyObject *module, *code, *done = NULL;

	(void)snprintf(name, sizeof(name), "_reckon.%s", file->name);
	(void)snprintf(shown, sizeof(shown), "<reckon>/%s.py", file->name);
	module = new_module(name, builtins);
	if (module == NULL)
		return -1;
	code = Py_CompileString(file->text, shown, Py_file_input);
	if (code != NULL && PyModule_AddStringConstant(module, "__package__", "_reckon") == 0)
		done = PyEval_EvalCode(code, PyModule_GetDict(module), PyModule_GetDict(module));
	Py_XDECREF(code);
	if (done == NULL || PyDict_SetItemString(layer, file->name, module) < 0) {
		Py_XDECREF(done);
		Py_DECREF(module);
		return -1;
	}
	Py_DECREF(done);
	Py_DECREF(module);
	return 0;
}

/*
 * The layer's modules use a copy of builtins: user code may replace print, len or open in the real
 * one without breaking the kernel.
 */
static int load_layer(struct err *err)
{
	PyObject *builtins = PyDict_Copy(PyEval_GetBuiltins());
	PyObject *package = builtins != NULL ? new_module("_reckon", builtins) : NULL;
	PyObject *path = PyList_New(0);
	PyObject *layer = python_layer_new();
	int code = -1;

	if (package != NULL && layer != NULL && path != NULL &&
	    PyModule_AddObjectRef(package, "__path__", path) == 0)
		code = 0;
	for (const struct python_layer_file *file = python_layer_files;
	     code == 0 && file->name != NULL; file++) {
		code = load_module(layer, file, builtins);
		if (code < 0)
			code = python_error(err, file->name);
	}
	Py_XDECREF(path);
	Py_XDECREF(package);
	Py_XDECREF(builtins);
	if (code < 0 && !PyErr_Occurred())
		return code;
	return code < 0 ? python_error(err, "the kernel's Python layer") : 0;
}

/* Finds the name of a second thread of this process; false if there is none. */
static bool find_second_thread(char *ret_name, size_t size)
{
	cleanup_dir DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300];
	bool found = false;

	while (tasks != NULL && !found && (entry = readdir(tasks)) != NULL) {
		cleanup_file FILE *comm = NULL;

		if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == (long)getpid())
			continue;
		found = true;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		comm = fopen(path, "re");
		if (comm == NULL || fgets(ret_name, (int)size, comm) == NULL)
			(void)snprintf(ret_name, size, "?");
		ret_name[strcspn(ret_name, "\n")] = '\0';
	}
	return found;
}

static int preload(const char *name, struct err *err)
{
	char thread[64];
	PyObject *module = PyImport_ImportModule(name);

	if (module == NULL)
		return python_error(err, name);
	Py_DECREF(module);
	if (!find_second_thread(thread, sizeof(thread)))
		return 0;
	(void)err_set(err, ERR_INVALID, "module %s started thread '%s'", name, thread);
	return err_remedy(err, "import it in cells instead, or set OPENBLAS_NUM_THREADS=1 (and the "
				"like) in the template: a process with threads cannot be forked");
}

static int call_layer(const char *module, const char *name, struct err *err)
{
	PyObject *function = python_layer_get(module, name);
	PyObject *done = function != NULL ? PyObject_CallNoArgs(function) : NULL;

	if (done == NULL)
		return python_error(err, name);
	Py_DECREF(done);
	return 0;
}

/*
 * Warming up leaves free slots for small objects scattered over the pages of thousands of dead
 * objects. A fork that fills these slots copies a page for nearly each. So fill them here for good:
 * later allocations of a fork then lie side by side in new pages. A run of adjacent objects shows
 * that a pool is new.
 */
static void fill_pools(void)
{
	for (size_t size = POOL_STEP; size <= POOL_SIZE_MAX; size += POOL_STEP) {
		const size_t whole = (POOL_BYTES - 64) / size - 2; /* without the pool's head, and
								    * one */
		const char *last = NULL;
		size_t run = 0;

		for (size_t i = 0; run < whole && i < POOL_OBJECTS_MAX; i++) {
			const char *at = PyObject_Malloc(size);

			if (at == NULL)
				return;
			run = last != NULL && at == last + size ? run + 1 : 0;
			last = at;
		}
	}
}

static int warm(const struct kernel_warmth *how, struct err *err)
{
	char thread[64];

	if (start_interpreter(how->template_dir, err) < 0 || load_layer(err) < 0)
		return (int)err->code;
	for (const char *const *name = how->modules; name != NULL && *name != NULL; name++)
		if (preload(*name, err) < 0)
			return (int)err->code;
	if (call_layer("fresh", "first_use", err) < 0)
		return (int)err->code;
	if (find_second_thread(thread, sizeof(thread)))
		return err_set(err, ERR_INVALID, "the first use of a module started thread '%s'",
			       thread);
	/* Repeat until the interpreter has specialised the code that every fork runs first, like
	 * fresh.py. */
	for (int i = 0; i < FORK_ROUNDS; i++) {
		PyOS_BeforeFork();
		PyOS_AfterFork_Child();
	}
	fill_pools();
	PyOS_BeforeFork();
	return 0;
}

static void after_fork(void)
{
	struct err err;

	PyOS_AfterFork_Child();
	(void)call_layer("fresh", python_chance_anew() ? "reseed_rest" : "reseed", &err);
}

const struct kernel_ops python_ops = {
	.language = "python",
	.warm = warm,
	.after_fork = after_fork,
	.serve = python_serve,
	.rehearsal = "_ = 1\nprint(_)\n_",
	.first_cell = "_ = 1",
};
