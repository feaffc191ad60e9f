"""Magics about the session: its cells and its variables."""

import os
import re
import sys

from _reckon import errors, magics, pretty, programs

_namespace = programs.namespace
_HIDDEN = {"In", "Out", "exit", "quit", "get_ipython"}
_RANGE = re.compile(r"(\d+)(?:([-:])(\d+)?)?")
_COLUMNS = 8  # names on a line of %who, minus one


def _inputs():
    return _namespace().get("In", [""])


def _numbers(text):
    """The cell numbers in "4", "2-5", "2:5" and names of macros, in order."""
    count = len(_inputs()) - 1  # without the current cell
    for word in text.split():
        match = _RANGE.fullmatch(word)
        if match is None:
            continue
        first = int(match[1])
        last = first + 1 if not match[2] else int(match[3] or count)
        if match[2] == "-" and match[3]:
            last += 1
        yield from range(first, min(last, count + 1))


def _cells(text):
    """The sources that a range, the name of a macro or string, or a file name refers to."""
    names, inputs = _namespace(), _inputs()
    numbers = [n for n in _numbers(text) if 0 < n < len(inputs)]
    if numbers:
        return [inputs[n] for n in numbers]
    value = names.get(text.strip())
    if isinstance(value, (str, Macro)):
        return [str(getattr(value, "value", value))]
    path = os.path.expanduser(text.strip())
    for name in (path, path + ".py"):
        if path and os.path.isfile(name):
            with open(name, encoding="utf-8") as file:
                return [file.read()]
    raise ValueError(f"'{text.strip()}' was not found in history, as a file, url, nor in the user "
                     "namespace.")


class Macro:
    """Cells to run again, by a cell that is only the macro's name."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"IPython.macro.Macro({self.value!r})"

    def __str__(self):
        return self.value


Macro.__module__ = "IPython.core.macro"


def _history(rest):
    words = rest.split()
    plain = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    inputs, outputs = _inputs(), _namespace().get("Out", {})
    if options & {"-g", "-l"}:  # IPython searches all sessions; here there is only this one
        wanted = range(1, len(inputs) - 1)
        if "-l" in options:
            wanted = wanted[-int(plain[0]) if plain else -10 :]
        else:
            pattern = "*" + " ".join(plain) + "*"
            import fnmatch

            wanted = [n for n in wanted if fnmatch.fnmatch(inputs[n], pattern)]
    else:
        wanted = list(_numbers(" ".join(plain))) if plain else range(1, len(inputs))
    for number in wanted:
        if not inputs[number]:
            continue
        source = inputs[number].rstrip("\n")
        if "-n" in options:
            gap = "\n" if "\n" in source else " "
            source = f"{number:4}:{gap}{source}"
        if "-p" in options:
            source = "\n".join([">>> " + line if at == 0 else "... " + line for at, line in
                                enumerate(source.split("\n"))])
        print(source)
        if "-o" in options and number in outputs:
            print(pretty.pretty(outputs[number]))


def _save(rest):
    words = rest.split()
    flags = [word for word in words if word.startswith("-")]
    name, *what = [word for word in words if not word.startswith("-")] or [""]
    if not name:
        raise magics.UsageError("%save needs a file name and the numbers of cells")
    path = os.path.expanduser(name if name.endswith((".py", ".ipy")) else name + ".py")
    text = "\n".join(source.rstrip("\n") for source in _cells(" ".join(what))) + "\n"
    adds = "-a" in flags and os.path.exists(path)
    with open(path, "a" if adds else "w", encoding="utf-8") as file:
        file.write(text if adds else "# coding: utf-8\n" + text)
    print(f"The following commands were written to file `{path}`:\n{text}", end="")


def _macro(rest):
    words = [word for word in rest.split() if not word.startswith("-")]
    if len(words) < 2:
        raise magics.UsageError("%macro insufficient args; usage '%macro name n1-n2 n3-4...'")
    name, *what = words
    value = "\n".join(_cells(" ".join(what)))
    _namespace()[name] = Macro(value + "\n")
    if "-q" in rest.split():
        return
    print(f"Macro `{name}` created. To execute, type its name (without quotes).\n"
          f"=== Macro contents: ===\n{value}")


def _rerun(rest):
    source = "\n".join(_cells(rest) if rest.strip() else _inputs()[-2:-1])
    print(f"=== Executing: ===\n{source}\n=== Output: ===")
    return magics.prepare(source, 1)()


def _load(rest):
    """Check that the source exists; without a front end it cannot become the next cell."""
    _cells(" ".join(word for word in rest.split() if not word.startswith("-")))


def _user_names(kinds=""):
    wanted = kinds.split()
    return {n: v for n, v in sorted(_namespace().items())
            if not n.startswith("_") and n not in _HIDDEN and (
                not wanted or type(v).__name__ in wanted)}


_NOTHING = "Interactive namespace is empty."


def _none(kinds):
    print("No variables match your requested type." if kinds.strip() else _NOTHING)


def _who(rest):
    names, text = _user_names(rest), ""
    for at, name in enumerate(names):
        text += name + "\t "
        if at % (_COLUMNS + 1) == _COLUMNS:
            text += "\n"
    print(text) if names else _none(rest)


_MEGA, _KILO = 1048576, 1024


def _array_info(value):
    shape = "x".join(map(str, value.shape))
    text = f"{shape}: {value.size} elems, type `{value.dtype}`, {value.nbytes} bytes"
    if value.nbytes >= 100000:
        big = value.nbytes >= _MEGA
        text += f" ({value.nbytes / (_MEGA if big else _KILO)} {'Mb' if big else 'kb'})"
    return text


def _info(value):
    """The third column of %whos."""
    if type(value).__name__ in ("dict", "list", "tuple"):
        return f"n={len(value)}"
    if type(value).__name__ == "ndarray":
        return _array_info(value)
    text = pretty.safe_repr(value) if not isinstance(value, str) else value
    try:
        text = str(value)
    except Exception:
        pass
    text = text.replace("\n", "\\n")
    return text if len(text) < 50 else text[:25] + "<...>" + text[-25:]


def _kind(value):
    return type(value).__name__


def _whos(rest):
    names = _user_names(rest)
    if not names:
        _none(rest)
        return
    rows = [(name, _kind(value), _info(value)) for name, value in names.items()]
    first = max(len("Variable"), *(len(row[0]) for row in rows)) + 3
    second = max(len("Type"), *(len(row[1]) for row in rows)) + 4
    head = f"{'Variable':<{first}}{'Type':<{second}}Data/Info"
    print(head + "\n" + "-" * len(head))
    for name, kind, info in rows:
        print(f"{name:<{first}}{kind:<{second}}{info}")


def _reset(rest):
    names = _namespace()
    for name in _user_names():
        del names[name]
    names.get("Out", {}).clear()
    for name in [n for n in names if re.fullmatch(r"_\d+", n)]:
        del names[name]


def _reset_selective(rest):
    pattern = re.compile(" ".join(w for w in rest.split() if w != "-f"))
    for name in [n for n in _user_names() if pattern.search(n)]:
        del _namespace()[name]


def _xdel(rest):
    name = " ".join(w for w in rest.split() if w != "-n")
    names = _namespace()
    if name not in names:
        raise NameError(f"name '{name}' is not defined")
    value = names.pop(name)
    for other in [n for n, v in names.items() if v is value]:
        del names[other]


def _tb(rest):
    import traceback

    error = getattr(sys, "last_value", None)
    if error is None:
        print("No traceback available to show.")
    else:
        traceback.print_exception(type(error), error, errors.strip(error.__traceback__))


magics.add({"history": _history, "hist": _history, "save": _save, "macro": _macro,
            "rerun": _rerun, "rep": _load, "recall": _load, "load": _load, "loadpy": _load,
            "who": _who, "whos": _whos, "who_ls": lambda rest: list(_user_names(rest)),
            "reset": _reset, "reset_selective": _reset_selective, "xdel": _xdel, "tb": _tb})
magics.Macro = Macro
