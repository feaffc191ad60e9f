"""One cell: parse, run, show the value of its last expression, report what went wrong."""

import ast
import asyncio
import builtins
import linecache
import os
import re
import sys

from _reckon import (
    display, errors, figures, magic, magics, render, shell, streams, wire)

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CO_COROUTINE = 0x80
_LOOP_NAMES = frozenset({"create_task", "ensure_future", "get_running_loop", "current_task"})
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
_settrace, _setprofile = sys.settrace, sys.setprofile
_Expr, _Expression, _ONLY_AST = ast.Expr, ast.Expression, ast.PyCF_ONLY_AST
_cell_number = re.compile(r"<cell (\d{1,9})>").fullmatch
_semicolon = re.compile(rb"\s*;").match
_new_event_loop, _set_event_loop = asyncio.new_event_loop, asyncio.set_event_loop
_set_running_loop = asyncio._set_running_loop
_wait = asyncio.wait
_pristine = {}  # builtins, as they were before the first cell
_patched = {}  # what user code made of them; the kernel's own work is done without
_GONE = object()


def setup():
    """Names that a session starts with."""
    namespace.update({"In": _inputs, "Out": _outputs, "_ih": _inputs, "_oh": _outputs,
                      "_dh": _dirs, **dict.fromkeys(("_", "__", "___", "_i", "_ii", "_iii"), "")})
    builtins.exit = builtins.quit = _Exit()
    builtins.display = display.display
    builtins.get_ipython = shell.get_ipython
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
        _loop = _new_event_loop()
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


def _wants_loop(*codes):
    """Whether a cell's parts await, or use what only works while a loop runs."""
    return any(code is not None and (code.co_flags & _CO_COROUTINE or
                                     not _LOOP_NAMES.isdisjoint(code.co_names)) for code in codes)


async def _inside_loop(code):
    value = _eval(code, namespace)
    return await value if code.co_flags & _CO_COROUTINE else value


def _run_code(code, in_loop):
    if not in_loop:
        return _eval(code, namespace)
    running = loop()
    task = running.create_task(_inside_loop(code))
    try:
        return running.run_until_complete(task)
    except BaseException:
        if running.is_running():
            _abandon(running)
        elif not task.done():
            task.cancel()
            running.run_until_complete(_wait([task], timeout=1))
        raise


def _remember_source(name, source):
    lines = source.splitlines(keepends=True)
    errors.sources[name] = lines
    if len(errors.sources) > _HISTORY_MAX:
        errors.sources.pop(next(iter(errors.sources)))
    if _type(linecache.__dict__.get("cache")) is dict:
        linecache.cache[name] = (len(source), None, lines, name)


def _run_text(source, line):
    """Runs what stands from line `line` of the cell on; the value of its last expression."""
    body, last, silenced = _parse("\n" * (line - 1) + source, _name)
    in_loop = _wants_loop(body, last)
    if body is not None:
        _run_code(body, in_loop)
    value = None if last is None else _run_code(last, in_loop)
    return None if silenced else value


magics.runner = _run_text


def _is_silenced(source, last):
    """Whether a semicolon follows the last expression."""
    lines = source.encode().split(b"\n")
    rest = lines[last.end_lineno - 1][last.end_col_offset :]
    rest += b"\n".join(lines[last.end_lineno :])
    return _semicolon(rest) is not None


def _parse(source, name):
    """(code of the statements, code of the last expression, silenced) of a cell."""
    source = magic.transform(source, name, _FLAGS)
    tree = _compile(source, name, "exec", _FLAGS | _ONLY_AST)
    if not tree.body or not isinstance(tree.body[-1], _Expr):
        return _compile(tree, name, "exec", _FLAGS), None, False
    last = tree.body.pop()
    silenced = _is_silenced(source, last)
    body = _compile(tree, name, "exec", _FLAGS) if tree.body else None
    return body, _compile(_Expression(last.value), name, "eval", _FLAGS), silenced


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
    """_, __, ___, _N and Out, unless the user gave these names a meaning of their own."""
    if "_" not in builtins.__dict__ and namespace.get("_") is _keep_value.last:
        namespace["___"] = namespace.get("__", "")
        namespace["__"] = namespace["_"]
        namespace["_"] = _keep_value.last = value
    _outputs[_count] = namespace[f"_{_count}"] = value
    if len(_outputs) > _HISTORY_MAX:
        oldest = next(iter(_outputs))
        del _outputs[oldest]
        namespace.pop(f"_{oldest}", None)


_keep_value.last = ""


def _show_between(value):
    """Shows the value of an expression in the middle of a cell."""
    _calm()
    try:
        _show(value)
    finally:
        _stir()


def _assigned(node):
    """The name that a statement assigns to, as an expression; None."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or (
            not isinstance(target, ast.Name)):
        return None
    return ast.copy_location(_Expr(ast.copy_location(ast.Name(target.id, ast.Load()), node)), node)


def _user_part_as(mode, source, name):
    """_user_part() where ast_node_interactivity is not "last_expr"."""
    source = magic.transform(source, name, _FLAGS)
    nodes = _compile(source, name, "exec", _FLAGS | _ONLY_AST).body
    quiet = mode == "none" or not nodes or _is_silenced(source, nodes[-1])
    if mode == "last_expr_or_assign" and nodes and (shown := _assigned(nodes[-1])) is not None:
        nodes.append(shown)
    _stir()
    value = None
    for at, node in enumerate(nodes, 1):
        is_value = isinstance(node, _Expr) and (mode == "all" or at == len(nodes))
        tree = _Expression(node.value) if is_value else ast.Module([node], [])
        value = _run_code(_compile(tree, name, "eval" if is_value else "exec", _FLAGS))
        if is_value and at < len(nodes) and value is not None and not quiet:
            _show_between(value)
    return value, value is not None and not quiet


def _user_part(source, name):
    """Runs user code only; returns (value, whether there is one to show)."""
    mode = shell.get_ipython().ast_node_interactivity
    if mode != "last_expr":
        return _user_part_as(mode, source, name)
    body, last, silenced = _parse(source, name)
    in_loop = _wants_loop(body, last)
    _stir()
    if body is not None:
        _run_code(body, in_loop)
    if last is None:
        return None, False
    value = _run_code(last, in_loop)
    return value, value is not None and not silenced


def _show(value):
    """Makes the value's text before Out knows the value, as IPython does; then sends it."""
    try:
        data, metadata = render.bundle(value)
    finally:
        _keep_value(value)
    if data:  # nothing when the value displayed itself
        wire.send(wire.RESULT, render.fields(data, metadata))


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


def _report(error):
    if _outgrew_memory(error):
        trace = error.__traceback__
        error = MemoryError("a recursion outgrew the memory").with_traceback(trace)
    if isinstance(error, SystemExit):
        code = error.code
        if code is None or code == 0:
            return "ok"
    if not isinstance(error, (KeyboardInterrupt, SystemExit)):
        try:
            sys.last_type, sys.last_value = _type(error), error
            sys.last_traceback = errors.strip(error.__traceback__)
        except Exception:
            pass
    errors.send(error)
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "error"


def _calm():
    """Undoes for a while what would make the kernel's own Python code fail."""
    global _recursion
    _recursion = _getrecursionlimit()
    _setrecursionlimit(max(_recursion, 3000) if _recursion < 100000 else 3000)
    names = builtins.__dict__
    for name, value in _pristine.items():
        present = names.get(name, _GONE)
        if present is not value and name != "_":
            _patched[name] = present
            names[name] = value


def _stir():
    """User code gets back what it had changed."""
    names = builtins.__dict__
    while _patched:
        name, value = _patched.popitem()
        if value is _GONE:
            names.pop(name, None)
        else:
            names[name] = value
    _setrecursionlimit(_recursion)


def run(source, name, input_allowed):
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
    status = "ok"
    try:
        value, has_value = _user_part(source, name)
    except BaseException as error:
        _settrace(None)  # here, not in _calm(): calling a function would run the tracer
        _setprofile(None)
        _calm()
        status = _fail(error)
        value, has_value = None, False
    else:
        _settrace(None)
        _setprofile(None)
        _calm()
    try:
        figures.claim(value if has_value else None)  # a figure as the value is shown once
        if has_value:
            _show(value)
        figures.flush()
    except BaseException as error:
        if status == "ok":
            status = _fail(error)
    figures.claim(None)
    return status
