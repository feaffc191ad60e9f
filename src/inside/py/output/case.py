"""An exception to explain: where it was raised, in which expression, with which values."""

import ast
import os
import sys
import types
from itertools import islice
from time import perf_counter as _clock

from _reckon import brief, errors, magic

_type = type
_SOURCE_MAX = 200_000
_NODES_MAX = 50_000
_FRAMES_MAX = 5000
_GENERATED = ("<string>", "<stdin>", "<unknown>")
_USERS = ("/mnt/data/", "/home/user/", "/tmp/")
_prefixes = tuple({sys.prefix + "/", sys.base_prefix + "/lib", sys.exec_prefix + "/", "<frozen "})
_parse, _walk, _segment = ast.parse, ast.walk, ast.get_source_segment


class Unknown(Exception):
    """The value of an expression cannot be determined without running code."""


class TooLate(Exception):
    """The time for an explanation is over."""


def is_users(file):
    """Whether a code object's file is a cell, or a file of the user."""
    return (
        file.startswith("<cell ")
        or file.startswith(_USERS)
        or file in _GENERATED
        or (file.endswith(".py") and not file.startswith(("/", "<")))
    )


class Place:
    """One entry of a traceback."""

    def __init__(self, trace):
        self.frame, self.code = trace.tb_frame, trace.tb_frame.f_code
        self.line = trace.tb_lineno or 0
        self.last = trace.tb_lasti
        self.file = self.code.co_filename
        self.function = self.code.co_name
        self.is_users = is_users(self.file)

    def position(self):
        """(line, end line, column, end column) in bytes of the failing expression, or None."""
        if self.last < 0:
            return None
        found = next(islice(self.code.co_positions(), self.last // 2, None), None)
        return None if found is None or None in found else found

    def locals(self):
        names = self.frame.f_locals
        return names if _type(names) is dict else {}

    def globals(self):
        names = self.frame.f_globals
        return names if _type(names) is dict else {}

    def is_module(self):
        return self.function == "<module>" or self.frame.f_locals is self.frame.f_globals


class Case:
    """The data for the hints. Expensive parts are computed on demand."""

    def __init__(self, error, name, value, trace, source, seconds):
        self.error, self.name, self.value = error, name, value
        self._source = source  # (file, line) -> text
        self.until = _clock() + seconds
        self.places, self.depth = [], 0
        while trace is not None and self.depth < 100_000:
            if not trace.tb_frame.f_code.co_filename.startswith("<reckon>"):
                self.depth += 1
                self.places.append(Place(trace))
                if len(self.places) > _FRAMES_MAX:
                    del self.places[40:-200]
            trace = trace.tb_next
        self.user = next((p for p in reversed(self.places) if p.is_users), None)
        self._trees, self._nodes = {}, {}
        # trials of hints' code; is_fixed: a hint has the complete fix
        self.trials, self.is_fixed = 0, False

    def check_time(self):
        if _clock() > self.until:
            raise TooLate

    # ---- source -------------------------------------------------------------------------

    def line_text(self, file, line):
        text = self._source(file, line)
        return text.rstrip("\n") if _type(text) is str else ""

    def lines_of(self, file, most=5000):
        """The lines of a user's file."""
        known = errors.sources.get(file)
        if known is not None:
            return known
        lines = []
        for number in range(1, most):
            text = self._source(file, number)
            if not text:
                break
            lines.append(text)
        return lines

    def tree(self, file):
        if file not in self._trees:
            text = "".join(self.lines_of(file))
            tree = None
            if text and len(text) <= _SOURCE_MAX:
                for read in (lambda t: t, lambda t: magic.transform(t, file, 0x2000)[0]):
                    try:
                        source = read(text)
                        tree = _parse(source)
                        text = source
                        break
                    except Exception:
                        continue
            self._trees[file] = tree, text
        return self._trees[file]

    def node_at(self, place):
        """
        (expression, statement, test of the enclosing if) at a frame; None for what does not exist.
        """
        key = id(place)
        if key not in self._nodes:
            self._nodes[key] = self._find(place)
        return self._nodes[key]

    def _find(self, place):
        tree, _ = self.tree(place.file)
        if tree is None:
            return None, None, None
        where, statement, exact, ending, guard = place.position(), None, None, None, None
        start = (place.line, where[2] if where is not None and where[0] == place.line else 1 << 30)
        for node in islice(_walk(tree), _NODES_MAX):
            first = getattr(node, "lineno", None)
            if first is None or not first <= place.line <= node.end_lineno:
                continue
            if isinstance(node, ast.stmt) and (first, node.col_offset) <= start:
                if isinstance(statement, ast.If):
                    guard = statement.test
                statement = node
            if where is None or not isinstance(node, ast.expr):
                continue
            if (first, node.end_lineno, node.col_offset, node.end_col_offset) == where:
                exact = exact or node
            elif (node.end_lineno, node.end_col_offset) == (where[1], where[3]) and (
                ending is None
            ):
                ending = node
        return exact or ending, statement, guard

    @property
    def node(self):
        return self.node_at(self.user)[0] if self.user is not None else None

    @property
    def statement(self):
        return self.node_at(self.user)[1] if self.user is not None else None

    def text_of(self, node, limit=80):
        """A node's text in the source."""
        _, source = self.tree(self.user.file)
        text = _segment(source, node) if node is not None else None
        return brief.one_line(text or "", limit)

    def nodes(self, *kinds, within=None):
        """Nodes of these types in the failing expression, or in its statement; outermost first."""
        root = within or self.node or self.statement
        if root is None:
            return []
        if root is self.statement and isinstance(
            root, (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)
        ):
            parts = [getattr(root, n, None) for n in ("test", "iter", "target")]
            parts += [item.context_expr for item in getattr(root, "items", [])]
            roots = [p for p in parts if p is not None]
        else:
            roots = [root]
        return [n for r in roots for n in islice(_walk(r), 2000) if isinstance(n, kinds)]

    # ---- values -------------------------------------------------------------------------

    def lookup(self, name):
        place = self.user
        if place is None:
            raise Unknown
        for names in (place.locals(), place.globals()):
            if name in names:
                return names[name]
        names = place.frame.f_builtins
        if _type(names) is dict and name in names:
            return names[name]
        raise Unknown

    def evaluate(self, node):
        """The value of an expression, if simple look-ups can determine it; else Unknown."""
        method = getattr(self, "_evaluate_" + _type(node).__name__, None)
        if method is None:
            raise Unknown
        return method(node)

    def try_value(self, node):
        """(True, value) or (False, None)."""
        try:
            return True, self.evaluate(node)
        except Exception:
            return False, None

    def _evaluate_Name(self, node):
        return self.lookup(node.id)

    def _evaluate_Constant(self, node):
        return node.value

    def _evaluate_Attribute(self, node):
        value, name = self.evaluate(node.value), node.attr
        return attribute(value, name)

    def _evaluate_List(self, node):
        return [self.evaluate(item) for item in node.elts[:50]]

    def _evaluate_Tuple(self, node):
        return tuple(self.evaluate(item) for item in node.elts[:50])

    def _evaluate_UnaryOp(self, node):
        value = self.evaluate(node.operand)
        if brief.exact(value, int, float) and isinstance(node.op, ast.USub):
            return -value
        if _type(value) is bool and isinstance(node.op, ast.Not):
            return not value
        raise Unknown

    def _evaluate_BinOp(self, node):
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if (
            not brief.exact(left, int, float)
            or not brief.exact(right, int, float)
            or (abs(left) > 1e15 or abs(right) > 1e15)
        ):
            raise Unknown
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        raise Unknown

    def _evaluate_Call(self, node):
        if not isinstance(node.func, ast.Name) or len(node.args) != 1 or node.keywords:
            raise Unknown
        function, value = self.evaluate(node.func), self.evaluate(node.args[0])
        if function is len and sized(value):
            return len(value)
        if (
            function is sum
            and brief.exact(value, list, tuple)
            and len(value) < 1000
            and all(brief.exact(v, int, float) for v in value)
        ):
            return sum(value)
        raise Unknown

    def _evaluate_Subscript(self, node):
        value = self.evaluate(node.value)
        key = (
            self.evaluate(node.slice)
            if not isinstance(node.slice, ast.Slice)
            else self._slice(node.slice)
        )
        if _type(value) is dict and plain_key(key):
            return value[key]
        if brief.exact(value, list, tuple, str, bytes) and brief.exact(key, int, slice):
            if _type(key) is slice and len(value) > 100_000:
                raise Unknown
            return value[key]
        if brief.is_array(value) and brief.exact(key, int, slice):
            return value[key]
        if brief.is_frame(value) and (
            plain_key(key) or (_type(key) is list and len(key) * value.shape[0] < 2_000_000)
        ):
            return value[key]
        raise Unknown

    def _slice(self, node):
        return slice(
            *(
                None if part is None else self.evaluate(part)
                for part in (node.lower, node.upper, node.step)
            )
        )

    # ---- what was called ----------------------------------------------------------------

    def called(self):
        """The frame that the user's frame called, or None: its `self` is the real receiver."""
        if self.user is None:
            return None
        at = self.places.index(self.user) + 1
        return self.places[at] if at < len(self.places) else None

    def receivers(self):
        """Values in the failing expression: the called frame's self, then its names."""
        found, seen = [], set()

        def add(text, value):
            if id(value) not in seen:
                seen.add(id(value))
                found.append((text, value))

        for node in self.nodes(ast.Name, ast.Attribute, ast.Subscript):
            known, value = self.try_value(node)
            if known:
                add(self.text_of(node, 60), value)
        if self.called() is not None:
            for name in ("self", "left", "right", "data", "X", "y"):
                value = self.called().locals().get(name)
                if value is not None:
                    add("", value)
        return found

    def tables(self):
        """DataFrames among the receivers, and those of a GroupBy."""
        found = [(text, value) for text, value in self.receivers() if brief.is_frame(value)]
        seen = {id(value) for _, value in found}
        for text, value in self.receivers():
            if brief.is_from(value, "pandas") and "GroupBy" in brief.type_name(value):
                inner = brief.own_attributes(value).get("obj")
                if brief.is_frame(inner) and id(inner) not in seen:
                    seen.add(id(inner))
                    found.append((text, inner))
        return found

    def _scope(self, name):
        """(node of the function in which a name is local, or None; whether it is local)."""
        if self.user is None or self.user.is_module():
            return None, False
        code = self.user.code
        if name not in code.co_varnames:
            return None, name in code.co_freevars
        tree, _ = self.tree(self.user.file)
        for node in islice(_walk(tree), _NODES_MAX) if tree is not None else ():
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.name == code.co_name
                and (node.lineno <= self.user.line <= node.end_lineno)
            ):
                return node, True
        return None, True

    def assigned(self, name):
        """
        Where a name was assigned: (file, line, node of the value); None unless the source is
        unambiguous: one assignment in the scope, in a cell that was executed up to it.
        """
        function, is_local = self._scope(name)
        if is_local:
            found = certain(function, name, self.user.line) if function is not None else None
            return (self.user.file, *found) if found is not None else None
        files = [self.user.file] if self.user is not None else []
        files += [f for f in reversed(list(errors.sources)) if f not in files][:12]
        for file in files:
            self.check_time()
            tree, _ = self.tree(file)
            last = (
                self.user.line
                if self.user is not None and file == self.user.file and (self.user.is_module())
                else errors.failed.get(file, 1 << 30)
            )
            found = assignments(tree, name) if tree is not None else []
            if any(line <= last for line, _, _ in found):
                found = certain(tree, name, last, file in errors.failed and file != self.user.file)
                return (file, *found) if found is not None else None
        return None

    def source_of(self, file, node, limit=80):
        _, text = self.tree(file)
        return brief.one_line(_segment(text, node) or "", limit)


def assignments(scope, name):
    """[(line, node of the value or None, whether it is directly in the scope)] for a name."""
    found, pending = [], [(node, True) for node in scope.body]
    while pending and len(found) < 50:
        node, is_direct = pending.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        for target in getattr(node, "targets", None) or [getattr(node, "target", None)]:
            for part in _walk(target) if isinstance(target, ast.AST) else ():
                if isinstance(part, ast.Name) and part.id == name:
                    is_plain = part is target and isinstance(node, (ast.Assign, ast.AnnAssign))
                    found.append((node.lineno, node.value if is_plain else None, is_direct))
        pending += [(child, False) for child in ast.iter_child_nodes(node)]
    return sorted(found, key=lambda one: one[0])


def certain(scope, name, last, has_stopped=False):
    """(line, node) of the assignment that gave a name its value at a line; None if in doubt."""
    found = assignments(scope, name)
    before = [one for one in found if one[0] <= last]
    if not before or before[-1][1] is None or (len(found) > len(before) and not has_stopped):
        return None
    line, value, is_direct = before[-1]
    return (line, value) if is_direct or len(before) == 1 else None


def sized(value):
    return brief.exact(value, list, tuple, dict, set, frozenset, str, bytes, range) or (
        brief.is_frame(value) or brief.is_series(value) or brief.is_array(value)
    )


def plain_key(key):
    return (
        brief.exact(key, str, int, float, bool, bytes)
        or key is None
        or (_type(key) is tuple and all(plain_key(part) for part in key))
    )


def attribute(value, name):
    """getattr() for modules, instances with a plain __dict__, arrays and tables; else Unknown."""
    if _type(value) is types.ModuleType:
        if name in value.__dict__:
            return value.__dict__[name]
        raise Unknown
    if brief.is_frame(value):
        if name in ("columns", "index", "shape"):
            return getattr(value, name)
        if _type(name) is str and any(
            _type(c) is str and c == name for c in brief.labels(value.columns)
        ):
            return value[name]
        if name == "values" and value.size < 1_000_000:
            return value.to_numpy()
    if brief.is_series(value) and name in ("index", "shape", "dtype", "name", "values"):
        return getattr(value, name)
    if brief.is_array(value) and name in ("shape", "T", "size", "ndim", "dtype"):
        return getattr(value, name)
    own = brief.own_attributes(value)
    if name in own:
        return own[name]
    if brief.is_a(value, type) and brief.has_attribute(value, name):
        return unwrapped(brief.class_attribute(value, name))
    if brief.has_attribute(_type(value), name):
        found = unwrapped(brief.class_attribute(_type(value), name))
        if brief.exact(found, types.FunctionType, int, str, float, types.NoneType):
            return found
    raise Unknown


def unwrapped(value):
    return value.__func__ if brief.exact(value, staticmethod, classmethod) else value


def is_installed(name):
    """Whether a top-level module can be imported, without importing anything."""
    if name in sys.stdlib_module_names or name in sys.modules:
        return True
    for folder in list(sys.path)[:20]:
        if _type(folder) is str:
            base = os.path.join(folder or ".", name)
            if os.path.isdir(base) or os.path.exists(base + ".py"):
                return True
    return False
