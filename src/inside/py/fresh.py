"""Warms libraries in the zygote, and prepares kernels in its forks and in branches."""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import sys
import tempfile

import _reckon_c
from _reckon import (
    cell, complete, errors, figures, hints_runtime, inspect, interrupt, ipython, libraries, render, tables,
    variables, whole, wire)

_seed = None


class _Watch(importlib.abc.MetaPathFinder):
    """Calls a function once after a module is imported."""

    def __init__(self, hooks):
        self._hooks = hooks

    def find_spec(self, name, path=None, target=None):
        hook = self._hooks.pop(name, None)
        if hook is None:
            return None
        spec = importlib.util.find_spec(name) if path is None else (
            importlib.machinery.PathFinder.find_spec(name, path, target))
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            try:
                hook(module)
            except Exception:
                pass

        spec.loader.exec_module = exec_module
        return spec


def _has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _warm_standard():
    import json, re, subprocess, traceback  # noqa: E401 - imported for their cost

    re.compile(r"(\d+)-(?P<name>\w*)").match("1-a")
    json.loads(json.dumps({"a": [1, 2.5, None, "é"]}))
    subprocess.list2cmdline(["a b"])
    traceback.format_exception(ValueError("warm"))
    cell.loop()
    cell.take_loop().close()
    render.bundle({"b": [1, (2,)], "a": {3}})


def _warm_pandas():
    pandas = sys.modules["pandas"]
    frame = pandas.DataFrame({"a": [1, 2, 2], "b": [0.5, None, 1.5], "c": ["x", "y", "y"]})
    frame.groupby("c").mean(numeric_only=True)
    frame.describe()
    render.bundle(frame)


def _warm_pyplot():
    pyplot = sys.modules["matplotlib.pyplot"]
    figure, axes = pyplot.subplots()
    axes.plot([1, 2, 3], label="warm")
    axes.bar([1, 2], [3, 4])
    axes.set_title("Title é")
    axes.legend()
    figures.as_bundle(figure)
    pyplot.close("all")
    # Loaded fonts keep their files open, and a new kernel starts without descriptors.
    sys.modules["matplotlib.font_manager"]._get_font.cache_clear()


def _warm_failure():
    """Reports an error up to its packet, to warm that code."""
    name, source = "<cell 0>", "def f(d):\n    return d['b']\nf({'a': 1})\n"
    errors.sources[name] = source.splitlines(keepends=True)
    for _ in range(3):
        try:
            exec(compile(source, name, "exec"), {})
        except KeyError as error:
            errors.fields(error)
    errors.sources.pop(name, None)
    errors.failed.clear()


def _warm_cells():
    """
    Runs code often enough for the interpreter to specialise it here, so that forks need not write
    those pages.
    """
    for _ in range(20):
        reseed()
        cell._parse("x = 1\nx + 1", "<warm>")
        cell.run("_warm = 1", "<warm>", False)
    cell.forget_warming("_warm", "<warm>")


def _hook_libraries():
    """Hooks the modules that are imported already; the others are hooked when they are imported."""
    hooks = {**libraries.HOOKS, "sqlite3": interrupt.sqlite}
    later = dict(hooks)
    for name in hooks:
        if name in sys.modules:
            later.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, _Watch(later))


def _find_chance():
    """
    The address of numpy's global generator state, if it looks as expected: see python/chance.c.
    """
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is None:
        return 0
    try:
        import ctypes

        name, key, position, has_gauss, _ = numpy_random.get_state()
        address = numpy_random.mtrand._rand._bit_generator.ctypes.state_address
        state = key.tobytes() + position.to_bytes(4, sys.byteorder)
        found = name == "MT19937" and not has_gauss and len(state) == 2500
        return address if found and ctypes.string_at(address, 2500) == state else 0
    except Exception:
        return 0


def first_use():
    """In the zygote: does what would cost time at first use in every session."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("PIP_RETRIES", "1")  # without a network pip would retry for long
    _hook_libraries()
    if "matplotlib.pyplot" in sys.modules:
        _warm_pyplot()
    interrupt.hook()
    if not _has("IPython"):
        ipython.fake()
    if not _has("matplotlib_inline"):
        ipython.fake_inline()
    _warm_standard()
    if "pandas" in sys.modules:
        _warm_pandas()
    cell.setup()
    _warm_failure()
    _warm_cells()
    _reckon_c.chance_at(_find_chance())
    for name in ("last_type", "last_value", "last_traceback"):
        sys.__dict__.pop(name, None)
    variables.tell_names()
    # Modules in the workspace come first, as in a notebook; already imported ones are kept.
    sys.path.insert(0, "")
    gc.collect()
    gc.freeze()
    hints_runtime.note_base()


def reseed():
    """
    In a new fork or branch: reseeds all random generators, which copies would share.

    Not reseeded: generators that a cell created itself (numpy.random.default_rng()) continue with
    the same numbers in each branch, and str hashes keep the zygote's seed.
    """
    # The fork hook in random.py has reseeded the standard library's generator.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    reseed_rest()


def reseed_rest():
    """Reseeds all generators but numpy's."""
    ssl = sys.modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(32), 32.0)
    uuid = sys.modules.get("uuid")
    if uuid is not None:
        uuid._node = uuid._last_timestamp = None
    tempfile._name_sequence = None
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.ORIGINAL_DIR = None  # the zygote's directory, which has no modules of the workspace


def _plant(seed):
    global _seed
    if not seed:
        return
    _seed = int(seed)
    random.seed(_seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(_seed % 2**32)
    else:
        sys.meta_path.insert(0, _Watch({"numpy.random": lambda m: m.seed(_seed % 2**32)}))


def configure(environment, seed, directory):
    """
    Handles CONFIGURE: environment variables, a seed for repeatable runs, the working directory.
    """
    for entry in environment:
        name, found, value = entry.partition("=")
        if found and name:
            os.environ[name] = value
    _plant(seed)
    if directory:
        try:
            os.chdir(directory)
        except OSError as error:
            wire.note("cwd_missing", f"{directory}: {error.strerror}; the kernel is in /mnt/data")


def forget_lost():
    """
    In a branch, before files are opened again: gives up the event loop, whose descriptors are gone.
    """
    loop = cell.take_loop()
    if loop is None:
        return
    import asyncio

    for name in ("_selector", "_ssock", "_csock"):
        try:
            getattr(loop, name).close()
        except Exception:
            pass
    loop._closed = True
    asyncio.set_event_loop(None)


def resume(seed, threads_lost, files_lost):
    """In a branch, before its first cell. It was not made by fork(), so no fork hook has run."""
    random.seed()
    hints_runtime.note_base()
    reseed()
    _plant(seed)
    if threads_lost:
        wire.note("threads_lost", f"{threads_lost} thread(s) of the session are not in this branch")
    if files_lost:
        wire.note("files_lost", f"{files_lost} open file(s) could not be opened again")


# import these now, so that nothing is imported later
_ = complete, inspect, tables, variables, whole
