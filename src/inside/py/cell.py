"""One cell: parse, run, show the value of its last expression, report what went wrong."""

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
_PASSES_MAX = 20  # of the event loop after a cell that left tasks behind
_HISTORY_MAX = 1000
_FORGOTTEN, _DEEP = "error return without exception set", 10000
_type = type

namespace = sys.modules["__main__"].__dict__
_inputs = [""]
_outputs = {}
_dirs = []
_count = 0
_name = ""  # of the cell that runs
_loop = None
_recursion = sys.getrecursionlimit()
_setrecursionlimit, _getrecursionlimit = sys.setrecursionlimit, sys.getrecursionlimit
_compile, _eval = compile, eval
_warn_anew = warnings._filters_mutated  # what was warned of once per place is, again
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
_futures = 0  # flags of what cells imported from __future__: it holds in later cells
_calmed = True
_pristine = {}  # builtins, as they were before the first cell
_patched = {}  # what user code made of them; the kernel's own work is done without
_GONE = object()
tell_names = None  # of variables.py


class _Loop(asyncio.SelectorEventLoop):
    """The session's event loop. It opens descriptors when it is used, not when it is made."""

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
        """Waits for the selector."""

    def close(self):
        if not self.is_closed() and self._selector is not None:
            super().close()


_Loop.__name__ = "_UnixSelectorEventLoop"  # what its repr says in a notebook
_DefaultSelector, _later = selectors.DefaultSelector, selectors.SelectSelector()


def setup():
    """Names that a session starts with."""
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
    """Cells that ran in the zygote, and what they left, never were."""
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
    """The session's event loop: tasks that a cell starts go on in the next one that awaits."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = _Loop(_later)
        _set_event_loop(_loop)
    return _loop


def take_loop():
    """Gives up the event loop (in a branch, its descriptors are gone)."""
    global _loop
    old, _loop = _loop, None
    return old


def _abandon(running):
    """An interrupt came the hard way, in the middle of the loop's own code: it cannot go on."""
    _set_running_loop(None)
    running._thread_id = None
    take_loop()
    wire.note("tasks_lost", "the event loop was stopped by force: tasks of earlier cells are lost")


def _run_code(code):
    """Runs code as IPython does: within a running event loop, whether it awaits or not."""
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
    """Tasks that a cell began get a turn before it ends; the others wait for a cell that awaits."""
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
    """What stands from line `line` of the cell on, compiled: () -> value of its last expression."""
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
    """(text, syntax tree) of a cell, in plain Python."""
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
    """Which statements show their value: those that ast_node_interactivity says, by position."""
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
    """Code of one statement. Each is compiled for itself, so that 257 is not 257 of another line."""
    global _futures
    tree = _Interactive([node]) if shows else _Module([node], [])
    code = _compile(tree, name, "single" if shows else "exec", _FLAGS | _futures)
    _futures |= code.co_flags & _FUTURES
    return code


def _keep_input(source):
    """In, and _i, _ii, _iii, _iN: what earlier cells were. A cell sees itself in In alone."""
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
    """_, __, ___, _N and Out, unless the user gave the first three a meaning of their own."""
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
    """Runs user code only; returns the (value, whether to show it) of its last expression."""
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
    """sys.displayhook: shows a value and keeps it, as the last expression of a cell does."""
    if value is not None:
        _calm()
        try:
            _show(value)
        finally:
            _stir()


def _show(value):
    """
    Makes the value's text before Out knows the value, as IPython does; then sends it. A value whose
    representation raises is kept, and the exception is the cell's.
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
    if data:  # nothing when the value displayed itself
        render.show(wire.RESULT, data, metadata)


def _show_last(value):
    """The value of the last expression: by sys.displayhook, if the cell put another there."""
    hook = sys.__dict__.get("displayhook", displayhook)
    if hook is displayhook:
        figures.claim(value)  # a figure as the value is not displayed a second time
        _show(value)
        return
    sys.displayhook = displayhook  # the next cell has its own again
    _stir()
    try:
        hook(value)
    finally:
        _calm()


def _outgrew_memory(error):
    """
    Whether a recursion without a limit took all memory. CPython then forgets to set MemoryError, and
    calls that a SystemError of its own: mostly at the deep end, at times on the way back, with a
    short traceback. Most of a long one is dropped: it holds what is missing, each frame of it, and
    whoever reports the error needs memory.
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
    except MemoryError:  # what the exception holds is what is missing
        sys.last_type = sys.last_value = sys.last_traceback = None
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return _report(error)


def _keep_error(error):
    """sys.last_value and its kin. The error before it goes, and what it alone held."""
    with _catch_warnings():
        _simplefilter("ignore", RuntimeWarning)  # of coroutines nobody will await any more
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
        error.__traceback__ = None  # its words say all: IPython shows nothing else
    errors.send(error)
    return "interrupted" if brief.is_a(error, KeyboardInterrupt) else "error"


def _calm():
    """Undoes for a while what would make the kernel's own Python code fail."""
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
    """User code gets back what it had changed."""
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
    """Calls a function of the user's, as a cell would."""
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
    """%pdb on: a debugger behind the error, if somebody answers it."""
    if magics_more.wants_debugger():
        _as_user(magics_more.post_mortem)


def _lend(environment):
    """Variables of the environment for one cell; what they were."""
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
        except BaseException:  # an interrupt: the others go all the same
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
        _settrace(None)  # here, not in _calm(): calling a function would run the tracer
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
    except BaseException:  # a name of a type of its own, an interrupt: it will be told another time
        pass
    return status
