"""Magics that change a session's settings, and those that are accepted without an effect."""

import builtins
import importlib
import os
import sys

from _reckon import magics, pretty, programs

_namespace = programs.namespace
_options = {"xmode": "Context", "autocall": 0, "autoreload": 0}
_MODES = ("Plain", "Context", "Verbose", "Minimal", "Docs")
_CALLS = ("OFF", "Smart", "Full")
_extensions = set()
_OWN = ("autoreload", "storemagic", "IPython.extensions.autoreload")
_seen = {}  # file of a module -> (time, size) at the last check by autoreload


def _precision(rest):
    return pretty.set_float_form(rest.strip())


def _pprint(rest):
    pretty.Printer.plain = not pretty.Printer.plain
    print("Pretty printing has been turned", "OFF" if pretty.Printer.plain else "ON")


def _xmode(rest):
    mode = rest.strip().capitalize()
    _options["xmode"] = mode or _MODES[(_MODES.index(_options["xmode"]) + 1) % len(_MODES)]
    if _options["xmode"] not in _MODES:
        _options["xmode"] = "Context"
        raise ValueError(f"Unrecognized mode in FormattedTB: <{mode}>\n"
                         f"Valid modes: {list(_MODES)}")
    print("Exception reporting mode:", _options["xmode"])


def _autocall(rest):
    rest = rest.strip()
    if rest and (not rest.isdigit() or int(rest) > 2):
        print("Valid modes: (0->Off, 1->Smart, 2->Full")
        return
    _options["autocall"] = int(rest) if rest else 0 if _options["autocall"] else 1
    print("Automatic calling is:", _CALLS[_options["autocall"]])


def _automagic(rest):
    words = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}
    magics.automagic = words.get(rest.strip().lower(), not magics.automagic)
    print("\nAutomagic is", "ON, % prefix IS NOT needed" if magics.automagic else
          "OFF, % prefix IS needed", "for line magics.")


def _autosave(rest):
    seconds = int(rest.strip() or 0)
    print(f"\nAutosaving every {seconds} seconds" if seconds else "\nAutosave disabled")


def _matplotlib(rest):
    if not rest.strip():
        print("Using matplotlib backend: inline")


_PYLAB = """import numpy, matplotlib
from matplotlib import pylab, mlab, pyplot
np, plt = numpy, pyplot
from pylab import *
from numpy import *
"""


def _pylab(rest):
    if not rest.strip():
        _matplotlib("")
    print("%pylab is deprecated, use %matplotlib inline and import the required libraries.\n"
          "Populating the interactive namespace from numpy and matplotlib")
    exec(_PYLAB, _namespace())


def _load_ext(rest):
    name = rest.strip()
    if name in _extensions:
        print(f"The {name} extension is already loaded. To reload it, use:\n"
              f"  %reload_ext {name}")
        return
    if name not in _OWN:
        module = importlib.import_module(name)
        load = getattr(module, "load_ipython_extension", None)
        if load is None:
            print(f"The {name} module is not an IPython extension.")
            return
        load(builtins.get_ipython())
    _extensions.add(name)


def _reload_ext(rest):
    _extensions.discard(rest.strip())
    _load_ext(rest)


def _unload_ext(rest):
    name = rest.strip()
    if name not in _extensions:
        print(f"The {name} extension is not loaded.")
        return
    unload = getattr(sys.modules.get(name), "unload_ipython_extension", None)
    if unload is None:
        print(f"The {name} extension doesn't define how to unload it.")
        return
    unload(builtins.get_ipython())
    _extensions.discard(name)


def _autoreload(rest):
    mode = {"": 0, "off": 0, "0": 0, "explicit": 1, "1": 1}.get(rest.strip(), 2)
    if not rest.strip() or rest.strip() == "now":
        reload_changed()
        return
    _options["autoreload"] = mode
    _look()


def _modules():
    """Modules from the session's own files, by file."""
    here = os.getcwd() + os.sep
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".py"):
            path = os.path.abspath(path)
            if path.startswith((here, "/mnt/data/", "/tmp/")):
                yield path, module


def _look():
    """The files that changed since the last check, with their modules."""
    changed = []
    for path, module in _modules():
        try:
            status = os.stat(path)
        except OSError:
            continue
        now = status.st_mtime_ns, status.st_size
        if _seen.setdefault(path, now) != now:
            _seen[path] = now
            changed.append(module)
    return changed


def reload_changed():
    """Reloads modules whose files changed, and updates names that cells imported from them."""
    names = _namespace()
    for module in _look():
        before = dict(module.__dict__)
        try:
            importlib.reload(module)
        except Exception as error:
            print(f"[autoreload of {module.__name__} failed: {pretty.describe(error)}]",
                  file=sys.stderr)
            continue
        for name, value in list(names.items()):
            there = getattr(value, "__name__", name)
            if callable(value) and before.get(there) is value and there in module.__dict__:
                names[name] = module.__dict__[there]


def before_cell():
    if _options["autoreload"]:
        reload_changed()


def _nothing(rest):
    """
    Accepted without an effect: either sessions always work this way, or it has no meaning here.
    """


magics.add({"precision": _precision, "pprint": _pprint, "Pprint": _pprint, "xmode": _xmode,
            "autocall": _autocall, "automagic": _automagic, "autosave": _autosave,
            "matplotlib": _matplotlib, "pylab": _pylab, "load_ext": _load_ext,
            "reload_ext": _reload_ext, "unload_ext": _unload_ext, "autoreload": _autoreload,
            "aimport": _nothing,
            **dict.fromkeys(("colors", "gui", "rehashx", "autoawait", "clear", "killbgscripts",
                             "logstop", "logoff"), _nothing)})
