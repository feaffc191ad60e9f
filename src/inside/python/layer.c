/*
 * layer.c - the modules of the Python layer, by name.
 *
 * Runs in:  the Python kernel, with the GIL.
 * Reads:    nothing.
 * Never:    loads a module: python.c does that earlier.
 */
#include "inside/python/python.h"

static PyObject *layer; /* dict: name of a layer module -> module */

PyObject *python_layer_new(void)
{
	layer = PyDict_New();
	return layer;
}

PyObject *python_layer_get(const char *module, const char *name)
{
	PyObject *found = PyDict_GetItemString(layer, module);
	PyObject *value =
		found != NULL ? PyDict_GetItemString(PyModule_GetDict(found), name) : NULL;

	if (value == NULL)
		PyErr_Format(PyExc_RuntimeError, "the kernel has no %s.%s", module, name);
	return value;
}
