"""Hooks that code can add to cells: callbacks, transformers, exception handlers."""

import ast
import sys
import traceback

from _reckon import errors, magic, magics, programs, shell

_type = type
_NAMES = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized")
_session = shell.get_ipython()
around = None  # set by cell.py: (function, *arguments) -> its value; runs it as user code


class EventManager:
    """get_ipython().events: callbacks before and after a cell."""

    def __init__(self):
        self.callbacks = {name: [] for name in _NAMES}

    def register(self, event, function):
        if not callable(function):
            raise TypeError(f"Need a callable, got {function!r}")
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        if function not in self.callbacks[event]:
            raise ValueError(f"Function {function!r} is not registered as a {event} callback")
        self.callbacks[event].remove(function)

    def trigger(self, event, *arguments, **options):
        for function in list(self.callbacks[event]):
            try:
                function(*arguments, **options)
            except (Exception, KeyboardInterrupt) as error:
                print(f"Error in callback {function} (for {event}), with arguments args "
                      f"{arguments},kwargs {options}:", file=sys.stderr)
                traceback.print_exception(_type(error), error, errors.strip(error.__traceback__))


class ExecutionInfo:
    """Information about a cell, for pre_run_cell and a result's `info`."""

    silent, store_history, shell_futures, cell_id = False, True, True, None

    def __init__(self, source):
        self.raw_cell = source
        self.transformed_cell = None


ExecutionInfo.__module__ = "IPython.core.interactiveshell"


def before_cell(source):
    """The result for post_run_cell; None if there are no callbacks."""
    if not any(_session.events.callbacks.values()):
        return None
    info = ExecutionInfo(source)
    around(_session.events.trigger, "pre_execute")
    around(_session.events.trigger, "pre_run_cell", info)
    return _new_result(info)


def _new_result(info):
    result = shell.ExecutionResult(_session.execution_count)
    result.info = info
    return result


def after_cell(result, source, value, error):
    if not any(_session.events.callbacks.values()):
        return
    result = result or _new_result(ExecutionInfo(source))
    result.result = value
    if isinstance(error, SyntaxError):
        result.error_before_exec = error
    else:
        result.error_in_exec = error
    _session.last_execution_result = result
    around(_session.events.trigger, "post_execute")
    around(_session.events.trigger, "post_run_cell", result)


# ---- transformers ---------------------------------------------------------------------------


def _through(functions, source):
    lines = source.splitlines(keepends=True)
    for function in list(functions):
        lines = function(lines)
    return "".join(lines)


def cleaned(source):
    functions = _session.input_transformers_cleanup
    return around(_through, functions, source) if functions else source


def finished(source):
    """The source after post-transformers, None if there are none."""
    functions = _session.input_transformers_post
    return around(_through, functions, source) if functions else None


def _visit(transformer, tree):
    try:
        return transformer.visit(tree)
    except Exception as error:
        print(f"AST transformer {transformer!r} threw an error. It will be unregistered: {error}",
              file=sys.stderr)
        _session.ast_transformers.remove(transformer)
        return tree


def visited(tree):
    for transformer in list(_session.ast_transformers):
        tree = ast.fix_missing_locations(around(_visit, transformer, tree))
    return tree


def _transform_cell(source):
    source = magic.transform(_through(_session.input_transformers_cleanup, source), "<transform>", 0)[0]
    return _through(_session.input_transformers_post, source)


class ReplaceCodeTransformer(ast.NodeTransformer):
    """%%code_wrap: a cell replaces __code__, and its value replaces __ret__."""

    _VALUE = "__reckon_ret__"

    def __init__(self, template):
        self.source = template
        magics.plain(template)

    def visit_Module(self, tree):
        body = list(tree.body)
        value = ast.Constant(None)
        if body and isinstance(body[-1], ast.Expr):
            value = body.pop().value
        body.append(ast.Assign([ast.Name(self._VALUE, ast.Store())], value))
        place = tree.body[-1] if tree.body else None
        made = []
        for node in ast.parse(magics.plain(self.source)).body:
            is_place = isinstance(node, ast.Expr) and getattr(node.value, "id", "") == "__code__"
            if is_place:
                made += body
                continue
            for part in ast.walk(node):  # the cell's end decides about a semicolon
                if place is not None and hasattr(part, "lineno"):
                    ast.copy_location(part, place)
            made.append(ast.copy_location(_Renamed(self._VALUE).visit(node), place or node))
        return ast.Module(made, [])


class _Renamed(ast.NodeTransformer):
    def __init__(self, name):
        self.name = name

    def visit_Name(self, node):
        if node.id != "__ret__":
            return node
        return ast.copy_location(ast.Name(self.name, node.ctx), node)


_wraps = {}


def _code_wrap(rest, body=None):
    words = rest.split()
    if "--list" in words:
        for name, made in _wraps.items():
            print(f"{name}:\n{made.source}")
    elif "--list-all" in words:
        print(list(_wraps))
    elif words[:1] == ["--remove"] and len(words) == 2:
        made = _wraps.pop(words[1], None)
        if made is None:
            raise magics.UsageError(f"no code wrap is called {words[1]!r}")
        _session.ast_transformers.remove(made)
    elif body is not None and len(words) == 1 and not words[0].startswith("-"):
        made = ReplaceCodeTransformer(body)
        if words[0] in _wraps:
            _session.ast_transformers.remove(_wraps[words[0]])
        _wraps[words[0]] = made
        _session.ast_transformers.append(made)
    else:
        raise magics.UsageError("%%code_wrap NAME and code with __code__ in it, %code_wrap --remove "
                                "NAME, or %code_wrap --list")


# ---- exceptions -----------------------------------------------------------------------------


def _set_custom_exc(kinds, handler):
    if not isinstance(kinds, tuple):
        raise AssertionError("The exceptions for custom handling must be given as a tuple")
    if handler is not None and not callable(handler):
        raise AssertionError("The handler must be callable")
    _session.custom_exceptions, _session._handler = kinds, handler


def handle(error):
    """Calls the handler of set_custom_exc(); the cell still fails with the error."""
    kinds, handler = _session.custom_exceptions, _session._handler
    if handler is None or not isinstance(error, kinds):
        return
    try:
        around(handler, _session, _type(error), error, errors.strip(error.__traceback__))
    except Exception as failed:
        print(f"Custom TB Handler failed, unregistering: {failed!r}", file=sys.stderr)
        _session.custom_exceptions, _session._handler = (), None


# ---- history and magics ---------------------------------------------------------------------


class HistoryManager:
    """get_ipython().history_manager: the cells of this session."""

    session_number = 0
    enabled = True

    @property
    def input_hist_raw(self):
        return programs.namespace().get("In", [""])

    input_hist_parsed = input_hist_raw

    @property
    def output_hist(self):
        return programs.namespace().get("Out", {})

    def get_range(self, session=0, start=1, stop=None, raw=True, output=False):
        """(session, number, source) of cells, as in IPython."""
        if session not in (0, self.session_number):
            raise ValueError("there is no other session whose cells are known")
        inputs, shown = self.input_hist_raw, self.output_hist
        count = len(inputs)
        start = start + count if start < 0 else max(start, 1)
        stop = count if stop is None else stop + count if stop < 0 else min(stop, count)
        for number in range(start, stop):
            text = inputs[number]
            yield 0, number, (text, repr(shown[number]) if number in shown else None) if output else text

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        last = len(self.input_hist_raw) - (0 if include_latest else 1)
        return self.get_range(start=max(last - n, 1), stop=last, output=output)

    def search(self, pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False):
        import fnmatch

        found = [row for row in self.get_range(stop=len(self.input_hist_raw) - 1, output=output)
                 if fnmatch.fnmatchcase(row[2][0] if output else row[2], pattern)]
        if unique:
            found = list({row[2]: row for row in found}.values())
        return iter(found[-n:] if n else found)


class MagicsManager:
    """get_ipython().magics_manager: the registered magics."""

    def __init__(self, session):
        self.shell = session
        self.user_magics = None

    @property
    def magics(self):
        return {"line": magics.table("%"), "cell": magics.table("%%")}

    def lsmagic(self):
        return self.magics

    def register(self, *many):
        self.shell.register_magics(*many)

    def register_function(self, function, magic_kind="line", magic_name=None):
        magics.register(function, magic_kind, magic_name)

    def register_alias(self, alias_name, magic_name, magic_kind="line", magic_params=None):
        function = magics.table("%" if magic_kind == "line" else "%%").get(magic_name)
        if function is None:
            raise ValueError(f"there is no magic {magic_name!r}")
        magics.register(function, magic_kind, alias_name)


def _reset(new_session=True, aggressive=False):
    magics.find_line("reset")("-f")


def setup():
    session = _session
    session.events = EventManager()
    session.input_transformers_cleanup, session.input_transformers_post = [], []
    session.ast_transformers = []
    session.custom_exceptions, session._handler = (), None
    session.transform_cell, session.set_custom_exc, session.reset = _transform_cell, _set_custom_exc, _reset
    session.history_manager, session.magics_manager = HistoryManager(), MagicsManager(session)
    magics.add({"code_wrap": _code_wrap})
    magics.register(_code_wrap, "cell", "code_wrap")


setup()
