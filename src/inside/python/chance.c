/*
 * chance.c - reseeds numpy's global generator in each fork of a zygote.
 *
 * Runs in:  reckon-zygote-python; and a new kernel, before it runs user code.
 * Reads:    the system's random bytes.
 * Never:    writes to memory that has not been recognised as a Mersenne Twister's.
 *
 * numpy.random.seed() runs code of numpy that nothing else runs, which copies some 75 pages in each
 * fork. The generator's state is a position and 624 words, which may have any values. The Python
 * layer finds and checks its address in the zygote (fresh.py).
 */
#include "inside/python/python.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define WORDS 624

/* The same layout as in numpy's _mt19937.pyx and mt19937.h. */
struct twister {
	uint32_t key[WORDS];
	int position;
};

static struct twister *global;

PyObject *python_chance_at(PyObject *self, PyObject *address)
{
	(void)self;
	global = PyLong_AsVoidPtr(address);
	if (global == NULL && PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

bool python_chance_anew(void)
{
	uint32_t fresh[WORDS];
	size_t got = 0;

	if (global == NULL)
		return false;
	while (got < sizeof(fresh)) {
		const ssize_t n = getrandom((char *)fresh + got, sizeof(fresh) - got, 0);

		if (n < 0 && errno != EINTR)
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	memcpy(global->key, fresh, sizeof(fresh));
	global->position = WORDS; /* all words are used: the next number generates 624 new ones */
	return true;
}
