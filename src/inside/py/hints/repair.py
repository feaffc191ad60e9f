"""The repair view of an exception: what a reader needs to fix the code, in at most 4 KiB.

It has the exception, the user's frames with the failing expression marked, its values, and the
cause. Frames of libraries take one line. Nothing here runs code of the user, except the __str__
of chained exceptions, which the traceback runs, too.
"""

import ast
import types

from _reckon import brief, case, errors, hints, pretty

VIEW_MAX = 4000  # bytes
_SECONDS = 0.5  # for everything; what is not found in time is omitted
_MESSAGE_MAX, _LINE_MAX = 700, 150
_CALLERS_MAX, _NAMED_MAX, _VALUES_MAX = 5, 8, 12
_VALUES_ROOM = 1500
_HIDDEN = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_type = type
_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_traceback = BaseException.__dict__["__traceback__"].__get__
_group_members = BaseExceptionGroup.__dict__["exceptions"].__get__
_SYNTAX = (SyntaxError, IndentationError, TabError)
_COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def clip_bytes(text, limit):
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 4].decode("utf-8", "ignore") + "…"


def _message(text):
    """A message, with its middle omitted if it is long."""
    text = brief.clean(text[: 20 * _MESSAGE_MAX]) + text[20 * _MESSAGE_MAX :][-_MESSAGE_MAX:]
    text = "\n".join(line.rstrip() for line in brief.clean(text).strip().split("\n"))
    if len(text) <= _MESSAGE_MAX:
        return text
    return f"{text[: _MESSAGE_MAX * 2 // 3]} … {text[-_MESSAGE_MAX // 3:]}"


def _header(name, value):
    return (
        f"{brief.clip(brief.clean(name), 100)}: {_message(value)}"
        if value
        else brief.clip(brief.clean(name), 100)
    )


# ---- source ---------------------------------------------------------------------------------


def _window(text, start, end):
    """The part of a long line around the marked columns, and the columns in that part."""
    text = brief.clean(text.replace("\t", " "))
    if len(text) <= _LINE_MAX:
        return text, start, end
    at = max(0, min(start - 40, len(text) - _LINE_MAX))
    cut = (
        ("…" if at else "")
        + text[at : at + _LINE_MAX]
        + ("…" if at + _LINE_MAX < len(text) else "")
    )
    shift = at - (1 if at else 0)
    return cut, max(start - shift, 0), max(min(end - shift, len(cut)), 0)


def _columns(text, place, line):
    """First and last column (in characters) of the failing expression in a line."""
    where = place.position() if _type(place) is case.Place else None
    if where is None or where[0] != line:
        return None
    data = text.encode("utf-8", "replace")
    start = len(data[: where[2]].decode("utf-8", "replace"))
    end = (
        len(data[: where[3]].decode("utf-8", "replace")) if where[1] == line else len(text.rstrip())
    )
    if text[start:end].strip() == text.strip() or end <= start:
        return None
    return start, end


def _marked(lines, number, text, columns, width):
    start, end = columns or (0, 0)
    shown, start, end = _window(text.rstrip("\r\n"), start, end)
    lines.append(f"> {number:>{width}} | {shown}")
    if columns is not None and end > start:
        lines.append(f"  {'':>{width}} | {' ' * start}{'^' * (end - start)}")


def _excerpt(facts, file, line, last, columns_of):
    """The source lines around the failing ones, which are marked."""
    last = min(max(last, line), line + 3)
    width, lines, indent = len(str(last + 1)), [], 0
    for number in range(max(line - 1, 1), last + 2):
        text = facts.line_text(file, number)
        if number == line:
            indent = len(text) - len(text.lstrip())
        if not line <= number <= last:
            after = len(text) - len(text.lstrip()) < indent if number > last else False
            if text.strip() and not after:
                lines.append(f"  {number:>{width}} | {_window(text, 0, 0)[0].rstrip()}")
        elif text.strip():
            _marked(lines, number, text, columns_of(text, number), width)
    return lines


def _where(place):
    inside = "" if place.function == "<module>" else f", in {brief.one_line(place.function, 60)}"
    return f"{brief.one_line(place.file, 120)}, line {place.line}{inside}"


def _frame(facts):
    """The user's innermost frame, with its source."""
    place = facts.user
    where = place.position()
    last = where[1] if where is not None and where[0] == place.line else place.line
    return [
        _where(place),
        *_excerpt(
            facts, place.file, place.line, last, lambda text, number: _columns(text, place, number)
        ),
    ]


def _callers(facts):
    """The user's calling frames, the nearest first; repeated ones are counted."""
    users = [p for p in facts.places[: facts.places.index(facts.user)] if p.is_users]
    runs, inner = [], facts.user
    for place in reversed(users):
        key = (id(place.code), place.line)
        if runs and runs[-1][0] == key:
            runs[-1][2] += 1
        elif inner.function in _COMPREHENSIONS and (place.file, place.line) == (
            inner.file,
            inner.line,
        ):
            if runs:
                runs[-1] = [key, place, 1]
        else:
            runs.append([key, place, 1])
        inner = place
    lines = []
    for _, place, count in runs[:_CALLERS_MAX]:
        text = brief.one_line(facts.line_text(place.file, place.line), 90)
        times = f" ({count} times; {facts.depth} calls deep)" if count > 3 else ""
        lines.append(f"called from {_where(place)}: {text}{times}")
    if len(runs) > _CALLERS_MAX:
        lines.append(f"called from {len(runs) - _CALLERS_MAX} more places")
    return lines


def _short_path(file):
    for mark in ("/site-packages/", "/dist-packages/", "/lib/python3.11/"):
        _, found, rest = file.rpartition(mark)
        if found:
            return rest
    return file


def _library(facts):
    """Where in a library it was raised, in one line."""
    if not facts.places or facts.places[-1].is_users:
        return []
    place = facts.places[-1]
    return [
        f"raised in {brief.one_line(_short_path(place.file), 100)}, line {place.line}, in "
        f"{brief.one_line(place.function, 60)}"
    ]


# ---- values ---------------------------------------------------------------------------------


def _names_in(node):
    """Names and attributes (as written: self.rate) that an expression reads, in order."""
    found = {}
    pending = [node]
    while pending and len(found) < 40:
        part = pending.pop(0)
        if isinstance(part, ast.Attribute):
            chain, inner = part.attr, part.value
            while isinstance(inner, ast.Attribute):
                chain, inner = f"{inner.attr}.{chain}", inner.value
            if isinstance(inner, ast.Name):
                found.setdefault(inner.id, inner)
                found.setdefault(f"{inner.id}.{chain}", part)
                continue
        if isinstance(part, ast.Name):
            found.setdefault(part.id, part)
        elif not isinstance(part, _SCOPES):
            pending += ast.iter_child_nodes(part)
    return found


def _statement_parts(statement):
    """
    The parts of a statement that are evaluated at its own line, not the body of a loop or function.
    """
    if statement is None or isinstance(statement, _SCOPES):
        return []
    if not hasattr(statement, "body"):
        return [statement]
    parts = [getattr(statement, name, None) for name in ("test", "iter", "subject")]
    return [p for p in [*parts, *getattr(statement, "items", [])] if p is not None]


def _is_shown(value):
    return not (
        brief.exact(value, *_HIDDEN)
        or brief.is_a(value, type)
        or (brief.type_name(value) in ("_Environ", "_ArrayFunctionDispatcher", "ufunc"))
    )


def _candidates(facts):
    """Yields (text, value, whether it is a name), the most important first."""
    place = facts.user
    node, statement, guard = facts.node_at(place)
    seen = {}
    parts = [node, *_statement_parts(statement)]
    if isinstance(statement, (ast.Raise, ast.Assert)) and guard is not None:
        parts.append(guard)
    for part in parts:
        for text, inner in (_names_in(part) if part is not None else {}).items():
            # The name of a magic's function is not the user's.
            if text not in seen and len(seen) < 20 and not text.startswith("__reckon_"):
                known, value = facts.try_value(inner)
                if known:
                    seen[text] = value
    for text, value in seen.items():
        yield text, value, True
    if place.is_module():
        return
    names = place.locals()
    for number, (name, value) in enumerate(names.items()):
        if number > 60:
            return
        if _type(name) is str and name not in seen and not name.startswith((".", "__")):
            yield name, value, False


def _values(facts):
    lines, used, named = [], 0, 0
    for text, value, is_named in _candidates(facts):
        facts.check_time()
        if not _is_shown(value):
            continue
        if (
            is_named
            and "." in text
            and text.startswith("self.") is False
            and (brief.is_a(value, property))
        ):
            continue
        named += is_named
        if len(lines) >= _VALUES_MAX or (is_named and named > _NAMED_MAX):
            break
        line = f"  {brief.one_line(text, 60)} = {brief.sized(value, 220 if is_named else 80)}"
        used += len(line)
        if used > _VALUES_ROOM:
            break
        lines.append(line)
    return ["values:", *lines] if lines else []


# ---- chains, groups, syntax -----------------------------------------------------------------


def _origin(error):
    """', at <cell 1>, line 3' for another exception."""
    trace, place = errors.strip(_traceback(error)), None
    steps = 0
    while trace is not None and steps < 5000:
        if case.is_users(trace.tb_frame.f_code.co_filename):
            place = trace
        trace, steps = trace.tb_next, steps + 1
    if place is None:
        return ""
    return f" ({brief.one_line(place.tb_frame.f_code.co_filename, 80)}, line {place.tb_lineno})"


def _chain(error, text):
    lines, seen, known = [], {id(error)}, {text}
    while len(lines) < 3:
        cause, context = _cause(error), _context(error)
        word, other = ("caused by", cause) if cause is not None else ("while handling", context)
        if other is None or (cause is None and _suppressed(error)) or id(other) in seen:
            break
        seen.add(id(other))
        description = brief.one_line(pretty.describe(other, 300), 300)
        if description not in known:
            lines.append(f"{word} {description}{_origin(other)}")
        known.add(description)
        error = other
    return lines


def _members(error):
    members = _group_members(error)
    lines = [f"{len(members)} exceptions in the group:"]
    for number, member in enumerate(members[:6], 1):
        lines.append(
            f"  {number}. {brief.one_line(pretty.describe(member, 250), 250)}{_origin(member)}"
        )
    if len(members) > 6:
        lines.append(f"  … and {len(members) - 6} more")
    return lines


def _syntax(facts, error):
    """The place that a SyntaxError names, with a caret."""
    line, offset, end = error.lineno, error.offset, error.end_offset
    if _type(line) is not int or line < 1:
        return []
    file = error.filename if _type(error.filename) is str else "<unknown>"

    def columns(text, number):
        if number != line or _type(offset) is not int or offset < 1:
            return None
        start = min(offset - 1, len(text))
        stop = end - 1 if _type(end) is int and error.end_lineno == line else start + 1
        return start, max(stop, start + 1)

    lines = _excerpt(facts, file, line, line, columns)
    if not any(text.startswith(">") for text in lines) and _type(error.text) is str:
        lines = []
        text = error.text.rstrip("\n")
        _marked(lines, line, text, columns(text, line), len(str(line)))
    return [f"{brief.one_line(file, 120)}, line {line}", *lines]


def _section(make, *arguments):
    """The lines of one section; none if it fails."""
    try:
        return make(*arguments)
    except (MemoryError, case.TooLate):
        raise
    except Exception:
        return []


def _view(facts):
    error, value = facts.error, facts.value
    if brief.exact(error, *_SYNTAX):
        value = error.msg if _type(error.msg) is str else value
    head = _header(facts.name, value)
    lines = [head]
    notes = brief.own_attributes(error).get("__notes__")
    for note in notes[:3] if _type(notes) is list else ():
        lines.append(brief.one_line(note, 200) if _type(note) is str else "")
    try:
        if brief.exact(error, *_SYNTAX):
            lines += _section(_syntax, facts, error)
        if facts.user is not None:
            lines += _section(_frame, facts)
            lines += _section(_callers, facts)
        lines += _section(_library, facts)
        lines += _section(_chain, error, brief.one_line(head, 300))
        if brief.is_a(error, BaseExceptionGroup):
            lines += _section(_members, error)
        if facts.user is not None:
            lines += _section(_values, facts)
    except case.TooLate:
        pass
    return "\n".join(line.rstrip() for line in lines)


def explain(error, name, value, trace, source):
    """(repair view, hints) for an exception; raises if it cannot be explained."""
    facts = case.Case(error, name, value, trace, source, _SECONDS)
    return clip_bytes(_view(facts), VIEW_MAX), hints.collect(facts)


errors.explain = explain
