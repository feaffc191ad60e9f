"""
Runs programs for cells: !cmd, %%bash and other scripts; expands {expression} and $name in them.
"""

import os
import re
import shlex
import signal
import string
import subprocess
import sys

from _reckon import streams, tools, wire

_DOLLAR = re.compile(r"(.*?)\$(\$?[\w.]+)(?=(?:[^']*'[^']*')*[^']*$)", re.S)
_parse = string.Formatter().parse
_CONVERSIONS = {"r": repr, "s": str, "a": ascii}
_getframe = sys._getframe
_eval = eval


def namespace():
    return sys.modules["__main__"].__dict__


class SList(list):
    """The lines of a command's output; .s joins them by spaces, .n by newlines."""

    l = list_ = property(lambda self: self)
    s = spstr = property(" ".join)
    n = nlstr = property("\n".join)

    @property
    def p(self):
        import pathlib

        return [pathlib.Path(line) for line in self if os.path.exists(line)]

    paths = p

    def grep(self, pattern, prune=False, field=None):
        found = re.compile(pattern, re.IGNORECASE).search if isinstance(pattern, str) else pattern

        def text(line):
            if field is None:
                return line
            words = line.split()
            return words[field] if -len(words) <= field < len(words) else ""

        return SList(line for line in self if bool(found(text(line))) != prune)

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        return SList(" ".join(row[n] for n in numbers if -len(row) <= n < len(row)) for row in rows)

    def sort(self, field=None, nums=False):
        """A sorted copy, by a field; with nums, by its digits."""

        def key(line):
            words = line.split()
            text = line if field is None else words[field] if field < len(words) else ""
            digits = "".join(c for c in text if c.isdigit())
            return (int(digits) if digits else 0) if nums else text

        return SList(sorted(self, key=key))


SList.__module__ = "IPython.utils.text"


def _filled(text, names):
    """Yields the pieces of `text`, with {expression}, {{, $name and $$name expanded."""
    for literal, field, form, conversion in _parse(text):
        at = 0
        for match in _DOLLAR.finditer(literal):
            yield match[1]
            yield match[2] if match[2].startswith("$") else str(_eval(match[2], names))
            at = match.end()
        yield literal[at:]
        if field is not None:
            value = _eval(f"{field}:{form}" if form else field, names)
            yield format(_CONVERSIONS[conversion](value) if conversion else value, "")


def expand(text, depth=1):
    """
    Expands a text with the variables of the frame `depth` above the caller. As in IPython, the text
    is unchanged if any brace or name in it cannot be expanded.
    """
    if "{" not in text and "$" not in text:
        return text
    frame = _getframe(depth + 1)
    names = frame.f_locals
    if names is not namespace():
        names = {**namespace(), **names}
    try:
        return "".join(_filled(text, names))
    except Exception:
        return text


def _show(number, data):
    """Writes a program's output to the current sys.stdout or sys.stderr."""
    if data:
        (sys.stdout if number == 1 else sys.stderr).write(data.decode("utf-8", "replace"))


def run_group(arguments, input=None, **options):
    """subprocess.run() in a process group, which an interrupt kills as a whole."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with subprocess.Popen(arguments, process_group=0, **tools.lent(), **options) as process:
        try:
            out, err = process.communicate(input)
        except BaseException:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                pass
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def run(arguments, data=None):
    """
    Runs a program; returns its exit status. It writes to the kernel's own descriptors, unless a
    cell replaced sys.stdout or sys.stderr: then its output is written there.
    """
    wire.settle()
    if sys.stdout is streams.stdout and sys.stderr is streams.stderr:
        return run_group(arguments, input=data).returncode
    done = run_group(arguments, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _show(1, done.stdout)
    _show(2, done.stderr)
    return done.returncode


def run_shell(command):
    """Runs a bash command; as in IPython, _exit_code is its exit status."""
    namespace()["_exit_code"] = run(["/bin/bash", "-c", command])


def lines(command):
    """The lines that a bash command writes to stdout and stderr."""
    wire.settle()
    done = run_group(["/bin/bash", "-c", command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    namespace()["_exit_code"] = done.returncode
    return SList(done.stdout.decode("utf-8", "replace").splitlines())


def shell(command):
    """Runs !command."""
    run_shell(expand(command))


def shell_lines(command):
    """Runs name = !command."""
    return lines(expand(command))


def _options(text):
    """(options, command) from the line of a script magic."""
    options, command, words = {}, [], iter(shlex.split(text))
    for word in words:
        name, found, value = word.partition("=")
        if name in ("--out", "--err", "--proc"):
            options[name] = value if found else next(words, "")
        elif word in ("--bg", "--no-raise-error"):
            options[word] = ""
        else:
            command.append(word)
    return options, command


def script(text, body):
    """%%script and similar: the body is the program's standard input."""
    options, command = _options(text)
    data, names = body.encode(), namespace()
    try:
        if "--bg" in options:
            started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            started.stdin.write(data)
            started.stdin.close()
            if options.get("--proc"):
                names[options["--proc"]] = started
            return
        if "--out" in options or "--err" in options:
            done = run_group(command, input=data, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            status = done.returncode
            for number, name, data in ((1, "--out", done.stdout), (2, "--err", done.stderr)):
                if name in options:
                    names[options[name]] = data.decode("utf-8", "replace")
                else:
                    _show(number, data)
        else:
            status = run(command, data)
    except FileNotFoundError:
        print(f"Couldn't find program: {command[0]!r}")
        return
    names["_exit_code"] = status
    if status != 0 and "--no-raise-error" not in options:
        raise subprocess.CalledProcessError(status, data)
