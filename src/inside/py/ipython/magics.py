"""Implements %magic and %%magic, as far as models use them. magic.py finds them in a cell."""

import builtins
import inspect
import os
import re
import runpy
import shlex
import sys
import types

from _reckon import capture, display, programs, timing

_compile = compile
prepare = None  # set by cell.py: (source, its first line) -> function that runs it
plain = None  # set by cell.py: source with IPython syntax -> plain Python
describe = preview = None  # set by inspect.py and variables.py
Macro = None  # set by history.py
automagic = True
_namespace = programs.namespace


class UsageError(Exception):
    """A magic is unknown, or has wrong arguments."""


UsageError.__module__ = "builtins"  # so that tracebacks show only its name


def _pip(rest):
    programs.run_shell(f"{shlex.quote(sys.executable)} -m pip {rest}")
    print("Note: you may need to restart the kernel to use updated packages.")


def _conda(rest):
    raise ValueError("The python kernel does not appear to be a conda environment.  "
                     "Please use ``%pip install`` instead.")


def _go(path):
    os.chdir(os.path.expanduser(path))
    _namespace()["_dh"].append(os.getcwd())


def _cd(rest):
    words = rest.strip()
    quiet = words.startswith("-q")
    words = words.removeprefix("-q").strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "'\"":
        words = words[1:-1]
    been = _namespace()["_dh"]
    if words == "-":
        if len(been) < 2:
            raise UsageError("No previous directory to change to.")
        words = been[-2]
    elif words.startswith("-") and words[1:].isdigit():
        try:
            words = been[int(words[1:])]
        except IndexError:
            print(f"Requested directory [{words[1:]}] does not exist in directory history.")
            return
    try:
        _go(words or "~")
    except OSError as error:
        print(error)
    if not quiet:
        print(os.getcwd())


_pushed = []


def _pushd(rest):
    _pushed.insert(0, os.getcwd())
    _cd(rest)
    return list(_pushed)


def _popd(rest):
    if not _pushed:
        raise UsageError("%popd on empty stack")
    top = _pushed.pop(0)
    _cd(top)
    print("popd ->", top)


def _dhist(rest):
    print("Directory history (kept in _dh)")
    for at, path in enumerate(_namespace()["_dh"]):
        print(f"{at}: {path}")


def _env(rest):
    name, found, value = rest.strip().partition("=")
    if not found and " " in name:
        name, _, value = name.partition(" ")
        found = True
    if found:
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={os.environ[name.strip()]}")
        return None
    if name and name not in os.environ:
        raise UsageError(f"Environment does not have key: {name}")
    return os.environ[name] if name else dict(os.environ)


def _set_env(rest):
    if not re.search(r"[=\s]", rest.strip()):
        raise UsageError("usage is 'set_env var=val'")
    _env(rest)


def _clocked(source, line, quiet=False):
    run = prepare(source, line)
    clock = timing.Clock()
    try:
        return run()
    except Exception:
        if not quiet:
            raise
    finally:
        clock.say()


_TIMEIT = re.compile(r"^-([nr])\s*(\d+)\s*|^-([qoc])\s+|^-([qoc])$|^-p\s*\d+\s*|^-t\s+")


def _timeit(rest, body=None):
    options = {}
    while (match := _TIMEIT.match(rest)) is not None:
        options[match[1] or match[3] or match[4]] = match[2]
        rest = rest[match.end() :]
    statement, setup = (rest, "pass") if body is None else (body, rest or "pass")
    return timing.run(plain(statement), setup, _namespace(), options)


def _prun(rest, body=None):
    import cProfile
    import pstats

    words = rest.split()
    quiet = words[:1] == ["-q"]
    source = rest.strip().removeprefix("-q").strip() if body is None else body
    run, profile = prepare(source, 1), cProfile.Profile()
    try:
        profile.runcall(run)
    finally:
        if not quiet:
            stats = pstats.Stats(profile, stream=sys.stdout)
            for place in [place for place in stats.stats if place[0].startswith("<reckon>")]:
                del stats.stats[place]
            stats.strip_dirs().sort_stats("time").print_stats(30)


def _run_notebook(path):
    import json

    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    for part in book.get("cells", ()):
        if part.get("cell_type") == "code":
            prepare("".join(part["source"]), 1)()


def _run_file(path, name, arguments, shared):
    with open(path, "rb") as file:
        code = _compile(file.read(), path, "exec")
    names = _namespace() if shared else {"__builtins__": __builtins__}
    previous_name = names.get("__name__")
    before, sys.argv = sys.argv, [path, *arguments]
    names["__file__"], names["__name__"] = path, name
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, names)
    except SystemExit as error:
        if error.code:
            raise
    finally:
        sys.argv = before
        sys.path.pop(0)
        del names["__file__"]
        if shared:
            names["__name__"] = previous_name
        else:
            _namespace().update({n: v for n, v in names.items() if not n.startswith("__")})


_RUN_TIMES = """
IPython CPU timings (estimated):
  User   : {:10.2f} s.
  System : {:10.2f} s.
Wall time: {:10.2f} s."""


def _run(rest):
    words = shlex.split(rest)
    options = []
    while words and words[0] in ("-i", "-n", "-t", "-e", "-G"):
        options.append(words.pop(0))
    if words[:1] == ["-m"]:
        names = runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        _namespace().update({n: v for n, v in names.items() if not n.startswith("__")})
        return
    if not words:
        raise Exception("you must provide at least a filename.")
    path = os.path.expanduser(words[0])
    if not os.path.exists(path) and not path.endswith((".py", ".ipynb")):
        path += ".py"
    if not os.path.exists(path):
        raise Exception(f"File `{path!r}` not found.")
    if path.endswith(".ipynb"):
        _run_notebook(path)
        return
    if path.endswith(".ipy"):
        with open(path, encoding="utf-8") as file:
            prepare(file.read(), 1)()
        return
    stem = os.path.splitext(os.path.basename(path))[0]
    clock = timing.Clock()
    _run_file(path, stem if "-n" in options else "__main__", words[1:], "-i" in options)
    if "-t" in options:
        wall, user, system = clock.read()
        print(_RUN_TIMES.format(user, system, wall))


def help(name, detailed=False):
    """Implements name? and name??."""
    if "*" in name:
        _search(name)
    elif name.startswith("%") or name in _LINE and name not in _namespace():
        bare = name.lstrip("%")
        magic = _CELLS.get(bare) if name.startswith("%%") else _LINE.get(bare) or _CELLS.get(bare)
        print(f"{name}: {inspect.getdoc(magic) or 'a magic'}" if magic else
              f"Object `{name}` not found.")
    elif name:
        print(describe(name, detailed) or f"Object `{name}` not found.")


def _search(pattern):
    """List the names that match a pattern, as *name*? does."""
    import fnmatch

    owner, _, stem = pattern.rpartition(".")
    if owner:
        names = dir(eval(owner, _namespace()))
    else:
        names = {*_namespace(), *dir(builtins)}
    for name in sorted(names):
        if fnmatch.fnmatchcase(name, stem) and (stem.startswith("_") or not name.startswith("_")):
            print(f"{owner}.{name}" if owner else name)


def _show_object(part):
    def show(rest):
        if part == "pfile" and os.path.isfile(os.path.expanduser(rest.strip())):
            _pycat(rest)
            return
        value = eval(rest, _namespace())
        if part == "pdoc":
            print(inspect.getdoc(value) or f"No documentation found for {rest}")
        elif part == "pdef":
            print(f" {rest}{inspect.signature(value)}")
        elif part == "pfile":
            _pycat(inspect.getsourcefile(inspect.unwrap(value)))
        else:
            print(inspect.getsource(value))

    return show


def _pycat(rest):
    with open(os.path.expanduser(rest.strip()), encoding="utf-8") as file:
        print(file.read())


def _program(name):
    return lambda rest: programs.run_shell(f"{name} {rest}".strip())


def _alias(rest):
    name, _, command = rest.strip().partition(" ")
    if not command:
        raise UsageError("%alias name command")

    def run(rest):
        words, text = rest.split(), command
        if "%l" in text:
            programs.run_shell(text.replace("%l", rest))
            return
        count = text.count("%s")
        if len(words) < count:
            raise UsageError(f"Alias <{name}> requires {count} arguments, {len(words)} given.")
        for word in words[:count]:
            text = text.replace("%s", word, 1)
        programs.run_shell(" ".join([text, *words[count:]]))

    _LINE[name] = run


def _unalias(rest):
    if _LINE.pop(rest.strip(), None) is None:
        raise UsageError(f"%unalias: {rest.strip()} is not an alias")


def _alias_magic(rest):
    words = [word for word in rest.split() if not word.startswith("-")]
    if len(words) < 2:
        raise UsageError("%alias_magic: say NAME and TARGET")
    name, target = words[:2]
    name, target = name.lstrip("%"), target.lstrip("%")
    for table, sign in ((_LINE, "%"), (_CELLS, "%%")):
        if target in table:
            table[name] = table[target]
            print(f"Created `{sign}{name}` as an alias for `{sign}{target}`.")


_LIST = "ls -C -F -T 0"  # in columns, as on a terminal
_LINE = {
    "pip": _pip,
    "uv": lambda rest: programs.run_shell(f"{shlex.quote(sys.executable)} -m uv {rest}"),
    "conda": _conda,
    "mamba": _conda,
    "micromamba": _conda,
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "dirs": lambda rest: list(_pushed),
    "dhist": _dhist,
    "pwd": lambda rest: os.getcwd(),
    "env": _env,
    "set_env": _set_env,
    "time": lambda rest: _clocked(rest, 1),
    "timeit": _timeit,
    "prun": _prun,
    "run": _run,
    "sx": programs.lines,
    "system": programs.lines,
    "pinfo": lambda rest: help(rest.strip()),
    "pinfo2": lambda rest: help(rest.strip(), True),
    "psearch": _search,
    **{name: _show_object(name) for name in ("pdoc", "pdef", "psource", "pfile")},
    "pycat": _pycat,
    "lsmagic": lambda rest: print(_listing()),
    **{name: _program(name) for name in ("cat", "cp", "mv", "rm", "mkdir", "rmdir", "man")},
    "less": _program("cat"),
    "more": _program("cat"),
    "ls": _program(_LIST),
    "ll": _program("ls -F -o"),
    "alias": _alias,
    "unalias": _unalias,
    "alias_magic": _alias_magic,
}
# their text is code, so $name is not expanded
_AS_WRITTEN = ("time", "timeit", "prun", "alias", "macro")


def _write(rest, body):
    words = shlex.split(rest)
    adds = "-a" in words or "--append" in words
    path = os.path.expanduser(" ".join(word for word in words if word not in ("-a", "--append")))
    if not path:
        raise UsageError("the following arguments are required: filename")
    seen = os.path.exists(path)
    with open(path, "a" if adds else "w", encoding="utf-8") as file:
        file.write(body)
    print(f"{('Appending to' if adds else 'Overwriting') if seen else 'Writing'} {path}")


def _time_cell(rest, body, line):
    if rest and rest != "--no-raise-error":
        raise UsageError("Can't use statement directly after '%%time'!")
    return _clocked(body, line, bool(rest))


def _capture(rest, body, line):
    words = rest.split()
    options = [word for word in words if word.startswith("-")]
    unknown = [w for w in options if w not in ("--no-stdout", "--no-stderr", "--no-display")]
    if unknown:
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}")
    names = [word for word in words if word not in options]
    with capture.capture_output("--no-stdout" not in words, "--no-stderr" not in words,
                                "--no-display" not in words) as captured:
        if names:
            _namespace()[names[0]] = captured
        value = prepare(body, line)()
        if value is not None:
            display.display(value)


def _show(kind):
    return lambda rest, body: display.display(kind(body))


# Functions of three parameters also get the line of the cell at which the body begins.
_CELLS = {
    "script": programs.script,
    **{name: lambda rest, body, name=name: programs.script(f"{name} {rest}", body)
       for name in ("bash", "sh", "python", "python2", "python3", "perl", "ruby", "pypy", "node")},
    **dict.fromkeys(("!", "sx", "system"), lambda rest, body: programs.lines(body)),
    "writefile": _write,
    "file": _write,
    "time": _time_cell,
    "timeit": _timeit,
    "prun": _prun,
    "capture": _capture,
    "html": _show(display.HTML),
    "HTML": _show(display.HTML),
    "markdown": _show(display.Markdown),
    "latex": _show(display.Latex),
    "svg": _show(lambda text: display.SVG(data=text)),
    "SVG": _show(lambda text: display.SVG(data=text)),
    "javascript": _show(display.Javascript),
    "js": _show(display.Javascript),
}


def _listing():
    lines = "  ".join(f"%{name}" for name in sorted(_LINE))
    cells = "  ".join(f"%%{name}" for name in sorted(_CELLS))
    state = ("ON, % prefix IS NOT needed" if automagic else "OFF, % prefix IS needed")
    return (f"Available line magics:\n{lines}\n\nAvailable cell magics:\n{cells}\n\n"
            f"Automagic is {state} for line magics.")


def add(functions):
    """Registers line magics of other modules, by name."""
    _LINE.update(functions)


def _call(name, rest, depth):
    run = _LINE.get(name)
    if run is None:
        other = f", but cell magic `%%{name}` exists, did you mean that instead?" * (name in _CELLS)
        raise UsageError(f"Line magic function `%{name}` not found" + (
            f" (But cell magic{other[len(', but cell magic'):-1]}?)." if other else "."))
    return run(rest if name in _AS_WRITTEN else programs.expand(rest, depth + 1))


def line(text):
    """Runs %name rest."""
    name, _, rest = text.partition(" ")
    return _call(name, rest, 1)


def cell(name, rest, body, at=1):
    """Runs %%name rest, with the lines below it."""
    run = _CELLS.get(name)
    if run is None:
        other = f" (But line magic `%{name}` exists, did you mean that instead?)" * (name in _LINE)
        raise UsageError(f"Cell magic `%%{name}` not found{other}.")
    if not body:
        hint = f" Did you mean the line magic %{name} (single %)?" * (name in _LINE)
        raise UsageError(f"%%{name} is a cell magic, but the cell body is empty.{hint}")
    if name not in _AS_WRITTEN:
        rest = programs.expand(rest)
    return run(rest, body, at) if run in (_time_cell, _capture) else run(rest, body)


def find_line(name):
    """Implements get_ipython().find_line_magic()."""
    return _LINE.get(name.lstrip("%"))


def find_cell(name):
    """Implements get_ipython().find_cell_magic()."""
    return _CELLS.get(name.lstrip("%"))


def table(sign):
    """A copy of the magics with this prefix, by name."""
    return dict(_LINE if sign == "%" else _CELLS)


def names(sign):
    """Names of the magics with this prefix."""
    return list(_LINE if sign == "%" else _CELLS)


def is_automagic(name):
    """Whether a bare word is a magic: no variable or builtin has the name."""
    return (automagic and name in _LINE and name not in _namespace()
            and not hasattr(builtins, name))


def macro(name):
    """The source of a macro, for a cell that is only its name; or None."""
    value = _namespace().get(name)
    return value.value if type(value) is Macro else None


def register(function, kind="line", name=None):
    """Implements get_ipython().register_magic_function()."""
    table = _CELLS if kind == "cell" else _LINE
    table[name or function.__name__] = function
    if kind == "line_cell":
        _CELLS[name or function.__name__] = function


_calls = types.SimpleNamespace(shell=programs.shell, shell_lines=programs.shell_lines, line=line,
                               cell=cell, help=help)


def plant():
    """Makes this module available to transformed cells."""
    builtins.__reckon_magic__ = _calls
