"""What !cmd and the magics do: those that models write. magic.py finds them in a cell."""

import builtins
import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
import types

from _reckon import capture, display, pretty, timing, wire

_compile = compile
runner = None  # set by cell.py: (source, line it begins at) -> value of the last expression
describe = preview = None  # set by inspect.py and variables.py
_HIDDEN = {"In", "Out", "exit", "quit"}


class UsageError(Exception):
    """A magic that is not known, or was given wrong arguments."""


UsageError.__module__ = "builtins"  # so that tracebacks call it by its bare name


def _namespace():
    return sys.modules["__main__"].__dict__


class SList(list):
    """The lines of a command's output; .s joins them by spaces, .n by newlines."""

    l = list_ = property(lambda self: self)
    s = spstr = property(" ".join)
    n = nlstr = property("\n".join)

    def grep(self, pattern, prune=False):
        found = re.compile(pattern, re.IGNORECASE).search if isinstance(pattern, str) else pattern
        return SList(line for line in self if bool(found(line)) != prune)

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        return SList(" ".join(row[n] for n in numbers if n < len(row)) for row in rows)


def run_group(arguments, **options):
    """subprocess.run(); an interrupt ends what the program has started as well."""
    wire.settle()
    with subprocess.Popen(arguments, process_group=0, **options) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            _end_group(process.pid)
            raise
    return process.returncode, output


def _end_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


def _run_shell(command):
    return run_group(["/bin/bash", "-c", command])[0]


def _expand(command):
    """{expression} and $name of the session's variables, as IPython does; $$ and others stay."""

    def value(match):
        if match[2]:
            names = _namespace()
            return str(names[match[2]]) if match[2] in names else match[0]
        try:
            return str(eval(match[1], _namespace()))
        except Exception:
            return match[0]

    return re.sub(r"\{([^{}\s][^{}]*)\}|(?<![\\$])\$([A-Za-z_]\w*)", value, command)


def shell(command):
    """!command: its exit status is in _exit_code, as in IPython."""
    _namespace()["_exit_code"] = _run_shell(_expand(command))


def shell_lines(command):
    """name = !command: the lines of its output."""
    status, output = run_group(["/bin/bash", "-c", _expand(command)], stdout=subprocess.PIPE)
    _namespace()["_exit_code"] = status
    return SList(output.decode("utf-8", "replace").splitlines())


def _pip(rest):
    shell(f"{sys.executable} -m pip {rest}")


def _cd(rest):
    os.chdir(os.path.expanduser(_expand(rest.strip().strip("'\"")) or "~"))
    print(os.getcwd())


def _env(rest):
    name, found, value = rest.strip().partition("=")
    if not found and " " in name:
        name, _, value = name.partition(" ")
        found = True
    if found:
        os.environ[name.strip()] = _expand(value.strip())
        print(f"env: {name.strip()}={os.environ[name.strip()]}")
        return None
    if name and name not in os.environ:
        raise UsageError(f"Environment does not have key: {name}")
    return os.environ[name] if name else dict(os.environ)


def _time(rest):
    clock = timing.Clock()
    try:
        return runner(rest, 1)
    finally:
        clock.say()


_TIMEIT = re.compile(r"^-([nr])\s*(\d+)\s*|^-([qoc])\s+|^-([qoc])$")


def _timeit(rest, body=None):
    options = {}
    while (match := _TIMEIT.match(rest)) is not None:
        options[match[1] or match[3] or match[4]] = match[2]
        rest = rest[match.end() :]
    statement, setup = (rest, "pass") if body is None else (body, rest or "pass")
    return timing.run(statement, setup, _namespace(), options)


def _user_names():
    names = _namespace().items()
    return {n: v for n, v in sorted(names) if not n.startswith("_") and n not in _HIDDEN}


def _who(rest):
    names = _user_names()
    print("".join(f"{name}\t " for name in names) if names else "Interactive namespace is empty.")


def _whos(rest):
    rows = [(name, type(value).__name__, preview(value)) for name, value in
            _user_names().items()]
    if not rows:
        print("Interactive namespace is empty.")
        return
    rows.insert(0, ("Variable", "Type", "Data/Info"))
    first, second = (max(len(row[at]) for row in rows) + 3 for at in (0, 1))
    lines = [f"{a:<{first}}{b:<{second}}{c}" for a, b, c in rows]
    lines.insert(1, "-" * len(lines[0]))
    print("\n".join(lines))


def _history(rest):
    numbered = "-n" in rest.split()
    for at, source in enumerate(_namespace().get("In", ())):
        if at and source:
            print(f"{at:4}: {source}" if numbered else source)


def _reset(rest):
    names = _namespace()
    for name in _user_names():
        del names[name]


def _run(rest):
    words = shlex.split(rest)
    path = next((word for word in words if not word.startswith("-")), "")
    path = path if os.path.exists(path) or path.endswith(".py") else path + ".py"
    if not os.path.exists(path):
        raise UsageError(f"File `{path!r}` not found.")
    with open(path, encoding="utf-8") as file:
        code = _compile(file.read(), path, "exec")
    names = _namespace() if "-i" in words else {"__name__": "__main__", "__builtins__": __builtins__}
    before, sys.argv = sys.argv, [path, *words[words.index(path) + 1 :]] if path in words else [path]
    names["__file__"] = path
    try:
        exec(code, names)
    except SystemExit as error:
        if error.code:
            raise
    finally:
        sys.argv = before
        names.pop("__file__", None)
        if names is not _namespace():
            _namespace().update({n: v for n, v in names.items() if not n.startswith("__")})


def _precision(rest):
    rest = rest.strip()
    form = f"%.{rest}f" if rest.isdigit() else rest or "%r"
    if form == "%r":
        pretty.printers[float] = pretty.printers[int]
    else:
        pretty.printers[float] = lambda value, p, cycle: p.text(form % value)
    return form


def help(name, detailed=False):
    """name? and name??"""
    if name.startswith("%"):
        magic = _LINE.get(name.lstrip("%"))
        print(f"{name}: {inspect.getdoc(magic) or 'a magic'}" if magic else
              f"Object `{name}` not found.")
        return
    print(describe(name, detailed) or f"Object `{name}` not found.")


def names(sign):
    """Names of the magics that begin with this sign."""
    return list(_LINE if sign == "%" else _CELLS)


def _program(name):
    return lambda rest: shell(f"{name} {rest}".strip())


def _nothing(rest):
    """Accepted: how a session works anyway, or without meaning here."""


_LINE = {
    "pip": _pip,
    "cd": _cd,
    "pwd": lambda rest: os.getcwd(),
    "env": _env,
    "set_env": _env,
    "time": _time,
    "timeit": _timeit,
    "who": _who,
    "whos": _whos,
    "who_ls": lambda rest: list(_user_names()),
    "history": _history,
    "hist": _history,
    "reset": _reset,
    "run": _run,
    "precision": _precision,
    "sx": shell_lines,
    "system": shell_lines,
    "pinfo": lambda rest: help(rest.strip()),
    "pinfo2": lambda rest: help(rest.strip(), True),
    "lsmagic": lambda rest: print(_known()),
    **{name: _program(name) for name in ("ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir")},
    **dict.fromkeys(("matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload",
                     "xmode", "colors", "gui", "autosave", "autocall", "automagic", "pprint",
                     "pylab"), _nothing),
}


def _bash(rest, body):
    wire.settle()
    code = _run_shell(body)
    _namespace()["_exit_code"] = code
    if code != 0:
        raise subprocess.CalledProcessError(code, "%%bash")


def _script(rest, body):
    wire.settle()
    subprocess.run(shlex.split(rest), input=body.encode(), check=True)


def _write(rest, body):
    words = shlex.split(rest)
    mode = "a" if "-a" in words else "w"
    path = os.path.expanduser(" ".join(word for word in words if word not in ("-a", "--append")))
    seen = os.path.exists(path)
    with open(path, mode, encoding="utf-8") as file:
        file.write(body)
    print(f"{'Appending to' if mode == 'a' else 'Overwriting' if seen else 'Writing'} {path}")


def _time_cell(rest, body, line):
    clock = timing.Clock()
    try:
        return runner(body, line)
    finally:
        clock.say()


def _capture(rest, body, line):
    words = rest.split()
    names = [word for word in words if not word.startswith("-")]
    with capture.capture_output("--no-stdout" not in words, "--no-stderr" not in words,
                                "--no-display" not in words) as captured:
        value = runner(body, line)
        if value is not None:
            display.display(value)
    if names:
        _namespace()[names[0]] = captured


def _show(kind):
    return lambda rest, body: display.display(kind(body))


# A function of three parameters also wants to know at which line of the cell its body begins.
_CELLS = {
    **dict.fromkeys(("bash", "sh", "shell", "system", "!"), _bash),
    "script": _script,
    **{name: lambda rest, body, name=name: _script(f"{name} {rest}", body)
       for name in ("python", "python3", "perl", "ruby", "node")},
    "writefile": _write,
    "file": _write,
    "time": _time_cell,
    "timeit": _timeit,
    "capture": _capture,
    "html": _show(display.HTML),
    "HTML": _show(display.HTML),
    "markdown": _show(display.Markdown),
    "latex": _show(display.Latex),
    "svg": _show(lambda text: display.SVG(data=text)),
    "javascript": _show(display.Javascript),
    "js": _show(display.Javascript),
}


def _known():
    return " ".join([*(f"%{n}" for n in sorted(_LINE)), *(f"%%{n}" for n in sorted(_CELLS))])


def line(text):
    """%name rest."""
    name, _, rest = text.partition(" ")
    run = _LINE.get(name)
    if run is None:
        raise UsageError(f"Line magic function `%{name}` not found (known: {_known()}; "
                         "use Python instead)")
    return run(_expand(rest) if name in ("run",) else rest)


def cell(name, rest, body, at=1):
    """%%name rest, and the lines below it."""
    run = _CELLS.get(name)
    if run is None:
        raise UsageError(f"Cell magic `%%{name}` not found (known: {_known()})")
    return run(rest, body, at) if run in (_time_cell, _capture) else run(rest, body)


def is_automagic(name):
    """Whether a bare word means a magic: nobody gave it another meaning."""
    return name in _LINE and name not in _namespace() and not hasattr(builtins, name)


def register(function, kind="line", name=None):
    """get_ipython().register_magic_function()."""
    table = _CELLS if kind == "cell" else _LINE
    table[name or function.__name__] = function
    if kind == "line_cell":
        _CELLS[name or function.__name__] = function


_calls = types.SimpleNamespace(shell=shell, shell_lines=shell_lines, line=line, cell=cell, help=help)


def plant(name):
    """Lets a transformed cell reach this module."""
    _namespace()[name] = _calls
