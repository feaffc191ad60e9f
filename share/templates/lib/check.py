"""check.py [-v] MODULE… - import in order; refuse the module that leaves a second thread.

Runs in: the template's Python, with its environment. Reads: /proc/self. Never: writes.

A zygote is forked for each session, and a fork takes the calling thread alone: what another one
held stays locked for ever in the child.
"""

import importlib
import os
import sys
import time
import traceback


def other_threads():
    names = []
    for task in sorted(os.listdir("/proc/self/task"), key=int):
        if int(task) != os.getpid():
            with open(f"/proc/self/task/{task}/comm", encoding="utf-8") as file:
                names.append(file.read().strip())
    return names


def resident_mib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def main(args):
    verbose = args[:1] == ["-v"]
    for module in args[verbose:]:
        start = time.perf_counter()
        try:
            importlib.import_module(module)
        except BaseException as error:
            if verbose:
                traceback.print_exc()
            return f"preload module {module} does not import: {type(error).__name__}: {error}"
        threads = other_threads()
        if threads:
            named = ", ".join(f"'{name}'" for name in threads)
            return f"preload module {module} leaves a second thread: {named}"
        if verbose:
            spent = 1000 * (time.perf_counter() - start)
            print(f"{module:28} {spent:6.0f} ms  {resident_mib():5} MiB")
    return None


sys.exit(main(sys.argv[1:]))
