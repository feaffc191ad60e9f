"""Text of a value in IPython's format: wide containers in several lines, sets in order."""

import datetime
import inspect
import os
import re
import sys
import types
from collections import deque

from _reckon import wire

TEXT_MAX = 1 << 20
_WIDTH = 79
_ITEMS_MAX = 1000
_type = type


def safe_repr(value, limit=TEXT_MAX, failures=None):
    """repr() that never raises, and returns at most `limit` characters."""
    try:
        text = repr(value)
        if _type(text) is not str:
            text = str.__str__(text)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if failures is not None:
            failures.append(error)
        return f"<repr of {_type(value).__name__} failed: {describe(error)}>"
    return wire.clip(text, limit)


def describe(error, limit=200):
    """'Name: message' of an exception whose __str__ may be hostile."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = "no message"
    name = _type(error).__name__
    return wire.clip(f"{name}: {text}" if text else name, limit)


class _TooMuch(Exception):
    pass


class _Group:
    """Items that belong together: either all gaps stay on the line, or all become new lines."""

    def __init__(self, depth):
        self.depth = depth
        self.gaps = deque()
        self.broken = False


class _Run:
    """Text that waits until it is known whether the gaps before it are broken."""

    def __init__(self):
        self.parts = []
        self.width = 0


class _Gap:
    """A place where a line can be broken."""

    def __init__(self, text, indent, group):
        self.text, self.width, self.indent, self.group = text, len(text), indent, group
        group.gaps.append(self)


class _Within:
    """A with statement from two functions; not contextlib, which user code may have broken."""

    def __init__(self, enter, leave):
        self._enter, self._leave = enter, leave

    def __enter__(self):
        self._enter()

    def __exit__(self, *_error):
        self._leave()


class Printer:
    """
    The argument `p` of a _repr_pretty_ method: text(), breakable(), group(), pretty() and so on,
    with IPython's names and layout. If a line is too wide, the outermost group with gaps is broken
    first. `budget` limits the work for the whole value.
    """

    newline = "\n"
    verbose = False
    plain = False  # set by %pprint: no layout
    max_width = _WIDTH
    max_seq_length = _ITEMS_MAX

    def __init__(self, tables=None):
        self.tables = tables or (printers, printers_by_name)
        self.budget = TEXT_MAX + 100  # fits the longest result of safe_repr()
        self.out = []
        self.failures = []  # exceptions that representations raised
        self.indentation = 0
        self.output_width = self.buffer_width = 0
        self.buffer = deque()
        root = _Group(0)
        self.group_stack = [root]
        self._levels = [[root]]
        self.stack = []

    def _write(self, text):
        self.out.append(text)
        self.budget -= len(text) + 1
        if self.budget < 0:
            raise _TooMuch

    def _new_line(self, indent):
        self._write(self.newline + " " * indent)
        return indent

    def _enlist(self, group):
        while group.depth >= len(self._levels):
            self._levels.append([])
        self._levels[group.depth].append(group)

    def _delist(self, group):
        level = self._levels[group.depth]
        if group in level:
            level.remove(group)

    def _next_group(self):
        """The group to break next: in the outermost level with gaps, the last one begun."""
        for level in self._levels:
            for at, group in enumerate(reversed(level)):
                if group.gaps:
                    # This deletes the mirrored index, which is wrong if the level has several
                    # groups: IPython does the same, and the layout must equal IPython's.
                    del level[at]
                    group.broken = True
                    return group
            for group in level:
                group.broken = True
            level.clear()
        return None

    def _put(self, token):
        """Writes a waiting token."""
        if isinstance(token, _Run):
            self._write("".join(token.parts))
            self.output_width += token.width
            return
        group = token.group
        group.gaps.popleft()
        if group.broken:
            self.output_width = self._new_line(token.indent)
            return
        if not group.gaps:
            self._delist(group)
        self._write(token.text)
        self.output_width += token.width

    def _put_first(self):
        token = self.buffer.popleft()
        self._put(token)
        self.buffer_width -= token.width

    def _break_group(self, group):
        while group.gaps:
            self._put_first()
        while self.buffer and isinstance(self.buffer[0], _Run):
            self._put_first()

    def _fit(self):
        while self.output_width + self.buffer_width > self.max_width:
            group = self._next_group()
            if group is None:
                return
            self._break_group(group)

    def text(self, text):
        if not self.buffer:
            self._write(text)
            self.output_width += len(text)
            return
        run = self.buffer[-1]
        if not isinstance(run, _Run):
            run = _Run()
            self.buffer.append(run)
        run.parts.append(text)
        run.width += len(text)
        self.buffer_width += len(text)
        self._fit()

    def breakable(self, sep=" "):
        group = self.group_stack[-1]
        if group.broken:
            self.flush()
            self.output_width = self._new_line(self.indentation)
            return
        self.buffer.append(_Gap(sep, self.indentation, group))
        self.buffer_width += len(sep)
        self._fit()

    def break_(self):
        group = self._next_group()
        if group is not None:
            self._break_group(group)
        self.flush()
        self.output_width = self._new_line(self.indentation)

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = _Group(self.group_stack[-1].depth + 1)
        self.group_stack.append(group)
        self._enlist(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        self.indentation -= dedent
        group = self.group_stack.pop()
        if not group.gaps:
            self._delist(group)
        if close:
            self.text(close)

    def group(self, indent=0, open="", close=""):
        return _Within(lambda: self.begin_group(indent, open),
                       lambda: self.end_group(indent, close))

    def _shift(self, by):
        self.indentation += by

    def indent(self, indent):
        return _Within(lambda: self._shift(indent), lambda: self._shift(-indent))

    def flush(self):
        for token in self.buffer:
            self._put(token)
        self.buffer.clear()
        self.buffer_width = 0

    def items(self, values):
        """Prints the first max_seq_length values, separated by commas."""
        for at, value in enumerate(values):
            if at >= self.max_seq_length:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            if at:
                self.text(",")
                self.breakable()
            yield value

    def pretty(self, value):
        cycle = id(value) in self.stack
        self.stack.append(id(value))
        self.begin_group()
        try:
            _printer_of(value, *self.tables)(value, self, cycle)
        finally:
            self.end_group()
            self.stack.pop()


def _get(value, name, otherwise=None):
    try:
        return getattr(value, name, otherwise)
    except Exception:
        return otherwise


def _printer_of(value, by_class, by_name):
    """The function(value, p, cycle) for a value, by its base classes."""
    kind = _get(value, "__class__") or _type(value)
    for base in getattr(kind, "__mro__", ()) or _type(value).__mro__:
        found = by_class.get(base) or by_name.get(
            (_get(base, "__module__"), _get(base, "__name__")))
        if found is not None:
            return found
        names = _get(base, "__dict__") or {}
        if "_repr_pretty_" in names and callable(names["_repr_pretty_"]):
            return base._repr_pretty_
        if base is not object and "__repr__" in names and callable(_get(base, "__repr__")):
            return _print_repr
    return _print_object


def _print_repr(value, p, _cycle):
    with p.group():
        for at, line in enumerate(safe_repr(value, failures=p.failures).splitlines()):
            if at:
                p.break_()
            p.text(line)


def _print_object(value, p, cycle):
    kind = _get(value, "__class__") or _type(value)
    if _get(kind, "__repr__") is not object.__repr__:
        _print_repr(value, p, cycle)
        return
    p.begin_group(1, "<")
    p.pretty(kind)
    p.text(f" at 0x{id(value):x}")
    if cycle:
        p.text(" ...")
    p.end_group(1, ">")


def _sequence(start, end):
    def show(value, p, cycle):
        if cycle:
            p.text(f"{start}...{end}")
            return
        p.begin_group(len(start), start)
        for item in p.items(value):
            p.pretty(item)
        if len(value) == 1 and isinstance(value, tuple):
            p.text(",")
        p.end_group(len(start), end)

    return show


def _in_order(values):
    values = list(values)
    for key in (None, str):
        try:
            return sorted(values, key=key)
        except Exception:
            pass
    return values


def _set(start, end):
    def show(value, p, cycle):
        if cycle:
            p.text(f"{start}...{end}")
        elif len(value) == 0:
            p.text(f"{_type(value).__name__}()")
        else:
            p.begin_group(len(start), start)
            for item in p.items(_in_order(value) if len(value) < p.max_seq_length else value):
                p.pretty(item)
            p.end_group(len(start), end)

    return show


def _mapping(start, end):
    def show(value, p, cycle):
        if cycle:
            p.text("{...}")
            return
        p.begin_group(len(start), start)
        for key in p.items(value.keys()):
            p.pretty(key)
            p.text(": ")
            p.pretty(value[key])
        p.end_group(len(start), end)

    return show


class _Raw:
    """Text in place of a value."""

    def __init__(self, text):
        self.shown = text

    def _repr_pretty_(self, p, _cycle):
        p.text(self.shown)


class _Call:
    """A call, name(arguments, name=value), in place of a value."""

    def __init__(self, called, /, *arguments, **named):
        self.called, self.arguments, self.named = called, arguments, named

    def _repr_pretty_(self, p, _cycle):
        with p.group(len(self.called) + 1, self.called + "(", ")"):
            given = [("", value) for value in self.arguments]
            given += [(name + "=", value) for name, value in self.named.items()]
            for at, (name, value) in enumerate(given):
                if at:
                    p.text(",")
                    p.breakable()
                if name:
                    with p.group(len(name), name):
                        p.pretty(value)
                else:
                    p.pretty(value)


def _as_call(arguments):
    """Shows a container as a call of its class; `arguments` returns (positional, named)."""

    def show(value, p, cycle):
        name = value.__class__.__name__
        given, named = ([_Raw("...")], {}) if cycle else arguments(value)
        p.pretty(_Call(name, *given, **named))

    return show


def _print_class(value, p, cycle):
    for base in _type(value).__mro__:
        if "__repr__" in vars(base):
            if base is not type:
                _print_repr(value, p, cycle)
                return
            break
    module, name = _get(value, "__module__"), _get(value, "__qualname__")
    name = name if isinstance(name, str) else value.__name__
    p.text(name if module in (None, "builtins") else f"{module}.{name}")


def _print_function(value, p, _cycle):
    name = _get(value, "__qualname__", value.__name__)
    if value.__module__ and value.__module__ != "builtins":
        name = f"{value.__module__}.{name}"
    try:
        name += str(inspect.signature(value))
    except Exception:
        pass
    p.text(f"<function {name}>")


def _print_exception(value, p, _cycle):
    kind = value.__class__
    name = getattr(kind, "__qualname__", kind.__name__)
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    p.pretty(_Call(name, *getattr(value, "args", ())))


def _print_pattern(value, p, _cycle):
    given = [_Raw("r" + repr(value.pattern).replace("\\\\", "\\"))]
    flags = [f"re.{flag}" for flag in ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE",
                                       "VERBOSE", "DEBUG") if value.flags & getattr(re, flag)]
    if value.flags:
        given.append(_Raw("|".join(flags)))
    p.pretty(_Call("re.compile", *given))


def _print_namespace(value, p, cycle):
    p.pretty(_Call("namespace", _Raw("...")) if cycle else _Call("namespace", **value.__dict__))


def _print_super(value, p, _cycle):
    p.begin_group(8, "<super: ")
    p.pretty(value.__thisclass__)
    p.text(",")
    p.breakable()
    p.pretty(value.__self__)
    p.end_group(8, ">")


# Libraries and cells may add to these, see formatters.py.
printers = {
    **dict.fromkeys((int, float, str, bytes, range, slice, types.MethodType, _type(None),
                     datetime.datetime, datetime.timedelta), _print_repr),
    tuple: _sequence("(", ")"),
    list: _sequence("[", "]"),
    dict: _mapping("{", "}"),
    _type(os.environ): _mapping("environ{", "}"),
    types.MappingProxyType: _mapping("mappingproxy({", "})"),
    set: _set("{", "}"),
    frozenset: _set("frozenset({", "})"),
    super: _print_super,
    re.Pattern: _print_pattern,
    type: _print_class,
    types.FunctionType: _print_function,
    types.BuiltinFunctionType: _print_function,
    types.SimpleNamespace: _print_namespace,
    BaseException: _print_exception,
}
printers_by_name = {
    ("collections", "defaultdict"): _as_call(lambda v: ([v.default_factory, dict(v)], {})),
    ("collections", "OrderedDict"): _as_call(lambda v: ([list(v.items())] if v else [], {})),
    ("collections", "deque"): _as_call(
        lambda v: ([list(v)], {} if v.maxlen is None else {"maxlen": v.maxlen})),
    ("collections", "Counter"): _as_call(lambda v: ([dict(v.most_common())] if v else [], {})),
    ("collections", "UserList"): _as_call(lambda v: ([v.data], {})),
}


def float_form():
    """The format of floats: "%r", or as set by %precision."""
    return _float_form[0]


def set_float_form(rest):
    """%precision: a number of digits, a format with %, or nothing; also sets it for numpy."""
    form, digits, numpy = rest or "%r", 8, sys.modules.get("numpy")
    if "%" in rest:
        form % 3.14159
        found = "".join(c for c in rest.partition(".")[2] if c.isdigit())
        digits = int(found) if found else digits
    elif rest:
        try:
            digits = int(rest)
        except ValueError:
            raise ValueError(f"Precision must be int or format string, not {rest!r}") from None
        form = f"%.{digits}f"
    if numpy is not None:
        numpy.set_printoptions(precision=digits)
    _float_form[0] = form
    if form == "%r":
        printers[float] = _print_repr
    else:
        printers[float] = lambda value, p, cycle: p.text(form % value)
    return form


_float_form = ["%r"]


failures = []  # exceptions that representations raised in the last pretty()


def pretty(value):
    """The text/plain of a value; limited, and never raises (except for an interrupt)."""
    failures.clear()
    if Printer.plain:
        return safe_repr(value, failures=failures)
    printer = Printer()
    printer.failures = failures
    try:
        printer.pretty(value)
        printer.flush()
    except _TooMuch:
        return wire.clip("".join(printer.out), TEXT_MAX) + "… (cut)"
    except RecursionError:
        return safe_repr(value, failures=failures)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failures.append(error)
        return f"<repr of {_type(value).__name__} failed: {describe(error)}>"
    return "".join(printer.out)


# IPython.lib.pretty has its own tables: a function registered for the display, such as sympy's, may
# call it, and must not call itself there.
_library = dict(printers), dict(printers_by_name)


def library_pretty(value, verbose=False, max_width=_WIDTH, newline="\n",
                   max_seq_length=_ITEMS_MAX):
    """IPython.lib.pretty.pretty()."""
    printer = Printer(_library)
    printer.verbose, printer.max_width = verbose, max_width
    printer.newline, printer.max_seq_length = newline, max_seq_length
    printer.pretty(value)
    printer.flush()
    return "".join(printer.out)


def library_pprint(value, *options, **named):
    """IPython.lib.pretty.pprint()."""
    print(library_pretty(value, *options, **named))


def library_for_type(kind, function=None):
    """IPython.lib.pretty.for_type()."""
    before = _library[0].get(kind)
    if function is not None:
        _library[0][kind] = function
    return before


def library_for_type_by_name(module, name, function=None):
    """IPython.lib.pretty.for_type_by_name()."""
    before = _library[1].get((module, name))
    if function is not None:
        _library[1][module, name] = function
    return before


class LibraryPrinter(Printer):
    """IPython.lib.pretty.PrettyPrinter and RepresentationPrinter, which write to a stream."""

    def __init__(self, output, *_options, max_width=_WIDTH, newline="\n",
                 max_seq_length=_ITEMS_MAX, verbose=False, **_more):
        super().__init__(_library)
        self.output, self.max_width, self.newline = output, max_width, newline
        self.max_seq_length, self.verbose = max_seq_length, verbose

    def _write(self, text):
        self.output.write(text)
