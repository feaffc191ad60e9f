"""The few shell escapes and magics that models write: !cmd, %pip, %cd, %%bash, %%time …

Plain Python always wins: a line is looked at only when the parser stops at it, so text in strings
and continuation lines is never touched.
"""

import os
import re
import subprocess
import sys
import textwrap
import time

from _reckon import wire

_LINES_MAX = 500
_ESCAPE = re.compile(r"^(\s*)(?:([A-Za-z_]\w*)\s*=\s*)?([!%])(?!%)(.*)$")
_CELL = re.compile(r"^\s*%%(\w+)[ \t]*(.*)\n?")
_compile = compile
_NAME = "__reckon_magic__"


class UsageError(Exception):
    """A magic that is not known, or was given wrong arguments."""


UsageError.__module__ = "builtins"  # so that tracebacks call it by its bare name


def _run_shell(command):
    wire.settle()
    done = subprocess.run(["/bin/bash", "-c", command])
    return done.returncode


def _namespace():
    return sys.modules["__main__"].__dict__


def _expand(command):
    """{name} and $name of the session's variables, as IPython does; $$ and others stay."""

    def value(match):
        name = match[1] or match[2]
        names = _namespace()
        return str(names[name]) if name in names else match[0]

    return re.sub(r"\{([A-Za-z_]\w*)\}|(?<![\\$])\$([A-Za-z_]\w*)", value, command)


def shell(command):
    """!command: its exit status is in _exit_code, as in IPython."""
    _namespace()["_exit_code"] = _run_shell(_expand(command))


def shell_lines(command):
    """name = !command: the lines of its output."""
    wire.settle()
    done = subprocess.run(["/bin/bash", "-c", _expand(command)], stdout=subprocess.PIPE)
    _namespace()["_exit_code"] = done.returncode
    return done.stdout.decode("utf-8", "replace").splitlines()


def _pip(rest):
    _namespace()["_exit_code"] = _run_shell(f"{sys.executable} -m pip {_expand(rest)}")


def _cd(rest):
    os.chdir(os.path.expanduser(_expand(rest.strip()) or "~"))
    print(os.getcwd())


def _env(rest):
    name, found, value = rest.strip().partition("=")
    if found:
        os.environ[name.strip()] = _expand(value.strip())
        print(f"env: {name.strip()}={os.environ[name.strip()]}")
    else:
        return os.environ.get(name) if name else dict(os.environ)


def _time(rest):
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        code = _compile(rest, "<time>", "eval")
    except SyntaxError:
        code = _compile(rest, "<time>", "exec")
    value = eval(code, _namespace())
    _say_time(wall, cpu)
    return value


def _say_time(wall, cpu):
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"CPU times: {cpu:.3f} s\nWall time: {wall:.3f} s")


_MAGICS = {
    "pip": _pip,
    "cd": _cd,
    "pwd": lambda rest: os.getcwd(),
    "env": _env,
    "time": _time,
    "sx": shell_lines,
    "system": shell_lines,
    # What these switch on is how a session works anyway, or means nothing here.
    "matplotlib": lambda rest: None,
    "config": lambda rest: None,
    "load_ext": lambda rest: None,
    "autoreload": lambda rest: None,
}


def magic(line):
    name, _, rest = line.partition(" ")
    run = _MAGICS.get(name)
    if run is None:
        known = " ".join(f"%{name}" for name in sorted(_MAGICS))
        raise UsageError(f"%{name} is not known here (known: {known}; use Python instead)")
    return run(rest)


class _Cell:
    """The object behind __reckon_magic__ in a transformed cell."""

    shell = staticmethod(shell)
    shell_lines = staticmethod(shell_lines)
    magic = staticmethod(magic)

    @staticmethod
    def bash(script):
        wire.settle()
        code = subprocess.run(["/bin/bash", "-c", script]).returncode
        _namespace()["_exit_code"] = code
        if code != 0:
            raise subprocess.CalledProcessError(code, "%%bash")

    @staticmethod
    def write(path, text, mode):
        path = os.path.expanduser(path)
        seen = os.path.exists(path)
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
        verb = "Appending to" if mode == "a" else "Overwriting" if seen else "Writing"
        print(f"{verb} {path}")


def _cell_magic(source):
    """Source with its %%magic replaced by Python, or None."""
    match = _CELL.match(source)
    if match is None:
        return None
    name, rest, body = match[1], match[2].strip(), source[match.end() :]
    if name in ("bash", "sh", "shell", "script"):
        return f"{_NAME}.bash({body!r})"
    if name in ("writefile", "file"):
        words = rest.split()
        mode = "a" if "-a" in words else "w"
        path = " ".join(word for word in words if word != "-a")
        return f"{_NAME}.write({path!r}, {body!r}, {mode!r})"
    if name == "time":
        before = f"import time as {_NAME}t; {_NAME}w = ({_NAME}t.perf_counter(), {_NAME}t.process_time())"
        after = f"{_NAME}.say_time(*{_NAME}w)"
        return f"{before}\n{body}\n{after}"
    if name == "capture":
        return body
    raise UsageError(f"%%{name} is not known here (known: %%bash %%sh %%time %%writefile)")


_Cell.say_time = staticmethod(_say_time)


def _rewrite(line):
    """One line with ! or % at its beginning as Python, or None."""
    match = _ESCAPE.match(line)
    if match is None:
        return None
    indent, target, sign, rest = match.groups()
    rest = rest.strip()
    if sign == "!":
        call = "shell_lines" if target else "shell"
        rest = rest.removeprefix("!")
    else:
        call = "magic"
    call = f"{_NAME}.{call}({rest!r})"
    return f"{indent}{target} = {call}" if target else f"{indent}{call}"


def _syntax_error(source, name, flags):
    try:
        _compile(source, name, "exec", flags | 0x400)  # PyCF_ONLY_AST
    except SyntaxError as error:
        return error
    return None


def transform(source, name, flags):
    """The cell as plain Python; a cell that is plain Python comes back as it is."""
    error = _syntax_error(source, name, flags)
    if error is None:
        return source
    if source[:1] in (" ", "\t", "\n"):  # indented as a whole, as cut out of a larger text
        dedented = textwrap.dedent(source)
        error = _syntax_error(dedented, name, flags)
        source = dedented
        if error is None:
            return source
    cell = _cell_magic(source)
    if cell is not None:
        _namespace()[_NAME] = _Cell
        return transform(cell, name, flags)
    lines = source.split("\n")
    for _ in range(_LINES_MAX):
        at = (error.lineno or 0) - 1
        if not 0 <= at < len(lines):
            break
        while lines[at].endswith("\\") and at + 1 < len(lines) and _ESCAPE.match(lines[at]):
            lines[at] = lines[at][:-1] + lines.pop(at + 1)
        new = _rewrite(lines[at])
        if new is None:
            break
        lines[at] = new
        _namespace()[_NAME] = _Cell
        error = _syntax_error("\n".join(lines), name, flags)
        if error is None:
            return "\n".join(lines)
    return source
