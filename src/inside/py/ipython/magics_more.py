"""Magics with more code: %store, %debug and %pdb, %doctest_mode, IPython's argparse."""

import argparse
import inspect
import os
import pickle
import shlex
import sys
import types

from _reckon import errors, magics, pretty, programs

_namespace = programs.namespace
_FOLDER = "~/.ipython/profile_default/db/autorestore"


# ---- %store ---------------------------------------------------------------------------------


def _stored():
    """A dict from each stored name to its path."""
    folder = os.path.expanduser(_FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {name: os.path.join(folder, name) for name in names if name.isidentifier()}


def _load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def _list_stored():
    print("Stored variables and their in-db values:")
    stored = _stored()
    width = max([len(name) for name in stored], default=0)
    for name, path in stored.items():
        try:
            shown = repr(_load(path))[:50]
        except Exception:
            shown = "<unavailable>"
        print(f"{name:<{width}} -> {shown}")


def _restore(names):
    stored = _stored()
    for name in names or stored:
        if name not in stored:
            print(f"no stored variable or alias {name}")
            continue
        try:
            _namespace()[name] = _load(stored[name])
        except Exception as error:
            print(f"Unable to restore variable '{name}', ignoring (use %store -d to forget!)\n"
                  f"The error was: {pretty.describe(error)}", file=sys.stderr)


def _keep(name):
    if name not in _namespace():
        raise magics.UsageError(f"Unknown variable '{name}'")
    value = _namespace()[name]
    module = inspect.getmodule(value) if callable(value) else None
    if getattr(module, "__name__", "") == "__main__":
        print(f"Warning:{name} is {value}\nProper storage of interactively declared classes (or "
              "instances\nof those classes) is not possible! Only instances\nof classes in real modules on "
              "file system can be %store'd.\n")
        return
    folder = os.path.expanduser(_FOLDER)
    os.makedirs(folder, exist_ok=True)
    data = pickle.dumps(value)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    print(f"Stored '{name}' ({type(value).__name__})")


def _store(rest):
    words = shlex.split(rest)
    options = {word for word in words if word.startswith("-")}
    names = [word for word in words if word not in options]
    if "-z" in options:
        for path in _stored().values():
            os.remove(path)
    elif "-d" in options:
        if not names:
            raise magics.UsageError("You must provide the variable to forget")
        for name in names:
            if name not in _stored():
                raise magics.UsageError(f"Error removing {name!r}: it is not stored")
            os.remove(_stored()[name])
    elif "-r" in options:
        _restore(names)
    elif not names:
        _list_stored()
    elif len(names) > 1 and names[1].startswith(">"):
        path, mode = os.path.expanduser(names[1].lstrip(">") or names[-1]), "a" if ">>" in names[1] else "w"
        value = _namespace()[names[0]]
        with open(path, mode, encoding="utf-8") as file:
            file.write(value if isinstance(value, str) else f"{pretty.pretty(value)}\n")
        print(f"Writing '{names[0]}' ({type(value).__name__}) to file '{path}'.")
    else:
        for name in names:
            _keep(name)


# ---- a debugger -----------------------------------------------------------------------------

_pdb = {"on": False}


def _of_user(trace):
    """A traceback without the kernel's frames at its end."""
    places, made = [], None
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<reckon>"):
        places.append(trace)
        trace = trace.tb_next
    for place in reversed(places):
        made = types.TracebackType(made, place.tb_frame, place.tb_lasti, place.tb_lineno)
    return made


def _post_mortem():
    import pdb

    trace = _of_user(errors.strip(sys.last_traceback))
    if trace is None:
        return
    debugger = pdb.Pdb(stdin=None, stdout=sys.stdout, nosigint=True)
    debugger.use_rawinput = True  # use input(), which the session's caller answers
    debugger.reset()
    try:
        debugger.interaction(None, trace)
    except EOFError:
        pass


def _debug(rest):
    if rest.strip():
        raise magics.UsageError("%debug looks at the last error; it does not run a statement here")
    if getattr(sys, "last_traceback", None) is None:
        raise magics.UsageError("No traceback has been produced, nothing to debug.")
    _post_mortem()


def _pdb_magic(rest):
    words = {"on": True, "1": True, "off": False, "0": False}
    word = rest.strip().lower()
    if word and word not in words:
        raise magics.UsageError("Incorrect argument. Use on/1, off/0, or nothing for a toggle.")
    _pdb["on"] = words[word] if word else not _pdb["on"]
    print("Automatic pdb calling has been turned", "ON" if _pdb["on"] else "OFF")


def wants_debugger():
    return _pdb["on"] and getattr(sys, "last_traceback", None) is not None


post_mortem = _post_mortem


# ---- %doctest_mode --------------------------------------------------------------------------

_doctest = {}


def _doctest_mode(rest):
    line = magics.find_line
    if _doctest:
        pretty.Printer.plain = _doctest.pop("plain")
        line("xmode")("Context")
        print("Doctest mode is: OFF")
        return
    _doctest["plain"], pretty.Printer.plain = pretty.Printer.plain, True
    line("xmode")("Plain")
    print("Doctest mode is: ON")


# ---- IPython.core.magic_arguments -----------------------------------------------------------


class MagicArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises errors, and parses a line of text."""

    def __init__(self, **options):
        super().__init__(**{"add_help": False, **options})

    def error(self, message):
        raise magics.UsageError(message)

    def parse_argstring(self, text, *, partial=False):
        words = shlex.split(text)
        return self.parse_known_args(words) if partial else self.parse_args(words)


def _decorator(kind):
    def make(*names, **options):
        def decorate(function):
            if getattr(function, "has_arguments", False):
                function.decorators.append((kind, names, options))
            else:
                function.has_arguments, function.decorators = True, [(kind, names, options)]
            return function

        return decorate

    return make


argument, argument_group, defaults, kwds = (
    _decorator(kind) for kind in ("argument", "group", "defaults", "kwds"))


def construct_parser(function):
    many = list(getattr(function, "decorators", ()))[::-1]
    options = {"description": function.__doc__}
    for kind, _, given in many:
        if kind == "kwds":
            options.update(given)
    name = function.__name__.removeprefix("magic_")
    parser = MagicArgumentParser(prog=f"%{name}", **options,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    place = parser
    for kind, names, given in many:
        if kind == "group":
            place = parser.add_argument_group(*names, **given)
        elif kind == "argument":
            place.add_argument(*names, **given)
        elif kind == "defaults":
            parser.set_defaults(**given)
    function.__doc__ = parser.format_help()
    return parser


def magic_arguments(name=None):
    def decorate(function):
        function.argcmd_name = name
        function.has_arguments = True
        function.parser = construct_parser(function)
        return function

    return decorate


def parse_argstring(function, text, *, partial=False):
    return function.parser.parse_argstring(text, partial=partial)


magics.add({"store": _store, "debug": _debug, "pdb": _pdb_magic, "doctest_mode": _doctest_mode})
