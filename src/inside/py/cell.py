"""Runs a cell: parses it, runs it, shows the value of its last expression, reports errors."""

import __future__
import ast
import asyncio
import builtins
import linecache
import os
import re
import selectors
import sys
import threading
import warnings

import _reckon_c
from _reckon import (
    brief, display, errors, events, figures, magic, magics, magics_more, pretty, render, settings, shell,
    streams, tools, wire)

_environ = os.environ
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_CO_COROUTINE = 0x80
_PASSES_MAX = 20  # of the event loop after a cell that left tasks
_HISTORY_MAX = 1000
_FORGOTTEN, _DEEP = "error return without exception set", 10000
_type = type

namespace = sys.modules["__main__"].__dict__
_inputs = [""]
_outputs = {}
_dirs = []
_count = 0
_name = ""  # of the running cell
_loop = None
_recursion = sys.getrecursionlimit()
_setrecursionlimit, _getrecursionlimit = sys.setrecursionlimit, sys.getrecursionlimit
_compile, _eval = compile, eval
# makes warnings that are shown once per place be shown again
_warn_anew = warnings._filters_mutated
_catch_warnings, _simplefilter = warnings.catch_warnings, warnings.simplefilter
_settrace, _setprofile = sys.settrace, sys.setprofile
_differing = _reckon_c.differing
_Expr, _Expression, _Module, _Interactive = ast.Expr, ast.Expression, ast.Module, ast.Interactive
_ONLY_AST = ast.PyCF_ONLY_AST
_Assign, _AugAssign, _AnnAssign = ast.Assign, ast.AugAssign, ast.AnnAssign
_cell_number = re.compile(r"<cell (\d{1,9})>").fullmatch
_semicolon = re.compile(rb"\s*;").match
_set_event_loop, _wait = asyncio.set_event_loop, asyncio.wait
_set_running_loop, _get_ident = asyncio.events._set_running_loop, threading.get_ident
_futures = 0  # flags of __future__ imports, which apply to later cells, too
_calmed = True
_pristine = {}  # builtins before the first cell
_patched = {}  # builtins that user code replaced; the kernel's own code runs without the changes
_GONE = object()
tell_names = None  # set to the function of variables.py


class _Loop(asyncio.SelectorEventLoop):
    """The session's event loop. It opens descriptors at first use, not when it is created."""

    _ssock = _csock = _opened = None

    @property
    def _selector(self):
        if self._opened is None:
            self._opened = _DefaultSelector()
            super()._make_self_pipe()
        return self._opened

    @_selector.setter
    def _selector(self, value):
        if value is not _later:
            self._opened = value

    def _make_self_pipe(self):
        """Done when the selector is opened."""

    def close(self):
        if not self.is_closed() and self._selector is not None:
            super().close()


_Loop.__name__ = "_UnixSelectorEventLoop"  # so that its repr is as in a notebook
_DefaultSelector, _later = selectors.DefaultSelector, selectors.SelectSelector()


def setup():
    """Defines the names that a session starts with."""
    namespace["__doc__"] = "Automatically created module for IPython interactive environment"
    namespace.update({"__loader__": None, "__builtin__": builtins, "In": _inputs, "Out": _outputs, "_ih": _inputs, "_oh": _outputs,
                      "_dh": _dirs, **dict.fromkeys(("_", "__", "___", "_i", "_ii", "_iii"), "")})
    builtins.exit = builtins.quit = _Exit()
    builtins.display = display.display
    builtins.get_ipython = shell.get_ipython
    sys.displayhook = displayhook
    sys.ps1, sys.ps2 = "In : ", "...: "
    magics.plant()
    _pristine.update(builtins.__dict__)


def forget_warming(variable, name):
    """Forgets the cells that ran in the zygote, and what they defined."""
    global _count
    _count = 0
    del _inputs[1:]
    _dirs.clear()
    for other in [variable, *(n for n in namespace if re.fullmatch(r"_i\d+", n))]:
        namespace.pop(other, None)
    namespace.update({"_i": "", "_ii": "", "_iii": ""})
    errors.sources.pop(name, None)
    linecache.cache.pop(name, None)


class _Exit:
    """exit and quit: end the cell, keep the session."""

    def __repr__(self):
        return "exit() ends the cell; the session stays"

    def __call__(self, code=None):
        raise SystemExit(code)


def loop():
    """The session's event loop: tasks that a cell starts continue in later cells that await."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = _Loop(_later)
        _set_event_loop(_loop)
    return _loop


def take_loop():
    """Gives up the event loop, for example in a branch, where its descriptors are gone."""
    global _loop
    old, _loop = _loop, None
    return old


def _abandon(running):
    """
    Gives up the event loop after a forced interrupt inside its own code, after which it is broken.
    """
    _set_running_loop(None)
    running._thread_id = None
    take_loop()
    wire.note("tasks_lost", "the event loop was stopped by force: tasks of earlier cells are lost")


def _run_code(code):
    """Runs code as IPython does: always inside a running event loop."""
    running = loop()
    _set_running_loop(running)
    running._thread_id = _get_ident()
    try:
        value = _eval(code, namespace)
    finally:
        _set_running_loop(None)
        running._thread_id = None
    if not code.co_flags & _CO_COROUTINE:
        return value
    task = running.create_task(value)
    try:
        return running.run_until_complete(task)
    except BaseException:
        if running.is_running():
            _abandon(running)
        elif not task.done():
            task.cancel()
            running.run_until_complete(_wait([task], timeout=1))
        raise


def _let_tasks_go_on():
    """Lets tasks of a cell run briefly before it ends; the others wait for a cell that awaits."""
    _stir()
    try:
        for _ in range(_PASSES_MAX):
            if _loop.is_closed() or not _loop._ready:
                return
            _loop.call_soon(_loop.stop)
            _loop.run_forever()
    finally:
        if _loop.is_running():
            _abandon(_loop)
        _calm()


def _remember_source(name, source):
    lines = source.splitlines(keepends=True)
    errors.sources[name] = lines
    if len(errors.sources) > _HISTORY_MAX:
        errors.sources.pop(next(iter(errors.sources)))
    if _type(linecache.__dict__.get("cache")) is dict:
        linecache.cache[name] = (len(source), None, lines, name)


def _prepare(source, line):
    """Compiles the cell's text from line `line` on: () -> value of its last expression."""
    body, last, silenced = _parse("\n" * (line - 1) + source, _name)

    def run():
        if body is not None:
            _run_code(body)
        value = None if last is None else _run_code(last)
        return None if silenced else value

    return run


magics.prepare = _prepare


def _is_silenced(source, last):
    """Whether a semicolon follows the last expression."""
    lines = source.encode().split(b"\n")
    rest = lines[last.end_lineno - 1][last.end_col_offset :]
    rest += b"\n".join(lines[last.end_lineno :])
    return _semicolon(rest) is not None


def _tree(source, name):
    """(text, syntax tree) of a cell, translated to plain Python."""
    flags = _FLAGS | _futures
    source, tree = magic.transform(events.cleaned(source), name, flags)
    made = events.finished(source)
    if made is not None:
        source, tree = made, None
    return source, events.visited(tree or _compile(source, name, "exec", flags | _ONLY_AST))


def _parse(source, name):
    """(code of the statements, code of the last expression, silenced) of a part of a cell."""
    source, tree = _tree(source, name)
    flags = _FLAGS | _futures
    if not tree.body or not isinstance(tree.body[-1], _Expr):
        return _compile(tree, name, "exec", flags), None, False
    last = tree.body.pop()
    silenced = _is_silenced(source, last)
    body = _compile(tree, name, "exec", flags) if tree.body else None
    return body, _compile(_Expression(last.value), name, "eval", flags), silenced


def _shown(body):
    """Which statements show their value, by position, as ast_node_interactivity sets."""
    count, mode = len(body), shell.get_ipython().ast_node_interactivity
    if mode == "all":
        return range(count)
    if count and mode == "last_expr_or_assign" and isinstance(
            body[-1], (_Assign, _AugAssign, _AnnAssign)):
        target = body[-1].targets[0] if isinstance(body[-1], _Assign) else body[-1].target
        if isinstance(target, ast.Name):
            value = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            body.append(ast.copy_location(_Expr(value), body[-1]))
            return (count,)
    if mode == "last_expr" and not (count and isinstance(body[-1], _Expr)):
        return ()
    return (count - 1,) if mode != "none" else ()


def _statement(node, name, shows=False):
    """
    The code of one statement. Each is compiled separately, so that equal constants of different
    lines are not the same object.
    """
    global _futures
    tree = _Interactive([node]) if shows else _Module([node], [])
    code = _compile(tree, name, "single" if shows else "exec", _FLAGS | _futures)
    _futures |= code.co_flags & _FUTURES
    return code


def _keep_input(source):
    """Updates In, and _i, _ii, _iii, _iN for earlier cells. The current cell is only in In."""
    namespace["_iii"], namespace["_ii"] = namespace.get("_ii", ""), namespace.get("_i", "")
    namespace["_i"] = _inputs[-1]
    _inputs.append(source)
    namespace[f"_i{_count}"] = source
    if len(_inputs) > _HISTORY_MAX:
        _inputs[-_HISTORY_MAX] = ""
        namespace.pop(f"_i{_count - _HISTORY_MAX}", None)
    if not _dirs:
        _dirs.append(os.getcwd())


def _keep_value(value):
    """Updates _, __, ___, _N and Out, unless the user assigned one of the first three."""
    if value is _outputs:
        return
    last, set_to = _keep_value.last, _keep_value.set_to
    ours = all(namespace.get(name, was) is was for name, was in set_to.items())
    last[:] = value, last[0], last[1]
    if ours and "_" not in builtins.__dict__:
        set_to.update(zip(("_", "__", "___"), last))
        namespace.update(set_to)
    _outputs[_count] = namespace[f"_{_count}"] = value
    if len(_outputs) > _HISTORY_MAX:
        oldest = next(iter(_outputs))
        del _outputs[oldest]
        namespace.pop(f"_{oldest}", None)


_keep_value.last = ["", "", ""]
_keep_value.set_to = dict.fromkeys(("_", "__", "___"), "")


def _user_part(source, name):
    """Runs only user code; returns (value, whether to show it) for its last expression."""
    source, tree = _tree(source, name)
    body = tree.body
    shown = _shown(body)
    silenced = bool(body) and isinstance(body[-1], _Expr) and _is_silenced(source, body[-1])
    last = len(body) - 1
    _stir()
    for at, node in enumerate(body):
        if at not in shown or not isinstance(node, _Expr):
            _run_code(_statement(node, name, at in shown))
            continue
        value = _run_code(_compile(_Expression(node.value), name, "eval", _FLAGS | _futures))
        if at == last:
            return value, value is not None and not silenced
        displayhook(value)
    return None, False


def displayhook(value=None):
    """sys.displayhook: shows and stores a value, like the last expression of a cell."""
    if value is not None:
        _calm()
        try:
            _show(value)
        finally:
            _stir()


def _show(value):
    """
    Makes the value's text before Out contains the value, as IPython does; then sends it. A value
    whose representation raises is stored, and the cell fails with the exception.
    """
    pretty.failures.clear()
    try:
        data, metadata = render.bundle(value)
    finally:
        _keep_value(value)
    failures = [error for error in pretty.failures if isinstance(error, Exception)]
    pretty.failures.clear()
    if failures:
        raise failures[0]
    if data:  # empty if the value displayed itself
        render.show(wire.RESULT, data, metadata)


def _show_last(value):
    """Shows the value of the last expression, with sys.displayhook if the cell replaced it."""
    hook = sys.__dict__.get("displayhook", displayhook)
    if hook is displayhook:
        figures.claim(value)  # a figure that is the value is not displayed a second time
        _show(value)
        return
    sys.displayhook = displayhook  # the next cell has the default again
    _stir()
    try:
        hook(value)
    finally:
        _calm()


def _outgrew_memory(error):
    """
    Whether endless recursion used all memory. CPython may then fail to set MemoryError, and raise a
    SystemError about that: usually at the deepest call, sometimes on the way back, with a short
    traceback. Most of a long traceback is dropped, because its frames hold the memory that
    reporting the error needs.
    """
    forgotten = _type(error) is SystemError and error.args == (_FORGOTTEN,)
    if not forgotten and _type(error) is not MemoryError:
        return False
    trace, depth = error.__traceback__, 0
    while trace is not None and depth < _DEEP:
        trace, depth = trace.tb_next, depth + 1
    if trace is not None:
        trace.tb_next = None
    return trace is not None or (forgotten and _recursion > _DEEP)


def _fail(error):
    """Reports an exception; returns the status."""
    try:
        return _report(error)
    except MemoryError:  # the exception itself holds the missing memory
        sys.last_type = sys.last_value = sys.last_traceback = None
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return _report(error)


def _keep_error(error):
    """
    Sets sys.last_value and similar names; frees the previous error and what only it referenced.
    """
    with _catch_warnings():
        _simplefilter("ignore", RuntimeWarning)  # about coroutines that will never be awaited
        sys.last_type, sys.last_value = _type(error), error
        sys.last_traceback = errors.strip(error.__traceback__)


def _report(error):
    if _outgrew_memory(error):
        trace = error.__traceback__
        error = MemoryError("a recursion outgrew the memory").with_traceback(trace)
    if brief.is_a(error, SystemExit):
        code = error.code
        if code is None or code == 0:
            return "ok"
    if not brief.is_a(error, KeyboardInterrupt, SystemExit):
        try:
            _keep_error(error)
        except Exception:
            pass
    if _type(error) is magics.UsageError:
        error.__traceback__ = None  # the message is enough: IPython shows nothing else
    errors.send(error)
    return "interrupted" if brief.is_a(error, KeyboardInterrupt) else "error"


def _calm():
    """Temporarily undoes changes by user code that would break the kernel's own Python code."""
    global _recursion, _calmed
    if _calmed:
        return
    _calmed = True
    _recursion = _getrecursionlimit()
    _setrecursionlimit(max(_recursion, 3000) if _recursion < 100000 else 3000)
    names = builtins.__dict__
    for name in _differing(names, _pristine):
        if name != "_":
            _patched[name] = names.get(name, _GONE)
            names[name] = _pristine[name]


def _stir():
    """Restores the changes by user code."""
    global _calmed
    _calmed = False
    names = builtins.__dict__
    while _patched:
        name, value = _patched.popitem()
        if value is _GONE:
            names.pop(name, None)
        else:
            names[name] = value
    _setrecursionlimit(_recursion)


def _as_user(function, *arguments, **options):
    """Calls a function of the user like a cell: with the user's changes in effect."""
    was_calm = _calmed
    if was_calm:
        _stir()
    try:
        return function(*arguments, **options)
    finally:
        if was_calm:
            _calm()


events.around = _as_user


def _debug_error():
    """%pdb on: starts a debugger for the error, if someone can answer it."""
    if magics_more.wants_debugger():
        _as_user(magics_more.post_mortem)


def _lend(environment):
    """Sets environment variables for one cell; returns their previous values."""
    before = {}
    for entry in environment:
        name, found, value = entry.partition("=")
        if found and name:
            before.setdefault(name, _environ.get(name))
            _environ[name] = value
    return before


def _take_back(before):
    for name, value in before.items():
        try:
            if value is None:
                _environ.pop(name, None)
            else:
                _environ[name] = value
        except BaseException:  # an interrupt: restore the others first
            pass


def run(source, name, input_allowed, environment=()):
    """Runs a cell; returns the status of its DONE."""
    global _count
    global _name
    match = _cell_number(name)
    _count = int(match[1]) if match else _count + 1
    name = name or f"<cell {_count}>"
    _name = name
    _keep_input(source)
    streams.begin(input_allowed)
    _remember_source(name, source)
    status, value, failed = "ok", None, None
    settings.before_cell()
    _warn_anew()
    lent = _lend(environment)
    result = events.before_cell(source)
    try:
        value, has_value = _user_part(source, name)
    except BaseException as error:
        failed = error
        _settrace(None)  # here, not in _calm(): a function call would run the tracer
        _setprofile(None)
        _calm()
        events.handle(error)
        status = _fail(error)
        has_value = False
        _debug_error()
    else:
        _settrace(None)
        _setprofile(None)
        _calm()
    try:
        if has_value:
            _show_last(value)
        figures.flush()  # after the value: drawing moves labels, and so changes their text
        if _loop is not None and _loop._ready:
            _let_tasks_go_on()
    except BaseException as error:
        if status == "ok":
            status = _fail(error)
    figures.claim(None)
    try:
        events.after_cell(result, source, value, failed)
    except BaseException as error:
        if status == "ok":
            status = _fail(error)
    _take_back(lent)
    tools.end()
    del result, failed
    try:
        tell_names()
    except BaseException:  # a name of a str subclass, or an interrupt: the names are sent next time
        pass
    return status
