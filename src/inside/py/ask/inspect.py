"""INSPECT, name? and name??: signature, type, value, documentation, source."""

import inspect
import linecache
import re
import types

from _reckon import errors, magics, parse, resolve, safe, variables, wire

_TEXT_MAX = 64 * 1024
_type = type
_Function = types.FunctionType
_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def _signature(value, deadline):
    cls = _type(value)
    if cls is types.MethodType:
        return safe.signature(value.__func__, 1) if _type(value.__func__) is _Function else None
    if cls is _Function:
        return safe.signature(value)
    if safe.built_in(cls, (type,)) and safe.is_own(value):
        function = safe.initialiser(value)
        return safe.signature(function, 1) if function is not None else "()"
    if safe.is_own(cls):
        return None
    return deadline.run(lambda: str(inspect.signature(value)), None) if callable(value) else None


def _documentation(value, deadline):
    """The documentation; __doc__ of user classes is read without running code."""
    cls = _type(value)
    if cls is types.MethodType:
        value, cls = value.__func__, _type(value.__func__)
    if cls is _Function:
        text = value.__doc__
    elif safe.built_in(cls, (type,)) and safe.is_own(value):
        text = safe.class_attribute(value, "__doc__")
    elif safe.is_own(cls):
        text = safe.class_attribute(cls, "__doc__")
    else:
        return deadline.run(lambda: inspect.getdoc(value), None)
    return inspect.cleandoc(text) if _type(text) is str else None


def _source(value, deadline):
    cls = _type(value)
    if cls is types.MethodType:
        value, cls = value.__func__, _type(value.__func__)
    if cls is _Function:
        code = safe.unwrapped(value).__code__
        return deadline.run(lambda: _block(linecache.getlines(code.co_filename),
                                           code.co_firstlineno - 1), None)
    if not safe.built_in(cls, (type,)):
        value = cls
    if safe.is_own(value):
        return _source_of_class(safe.class_name(value))
    return deadline.run(lambda: inspect.getsource(value), None)


def _block(lines, at):
    return "".join(inspect.getblock(lines[at:])) if 0 <= at < len(lines) else None


def _source_of_class(name):
    """
    The source of a class, which does not know its line: from the newest cell with a class of this
    name.
    """
    head = re.compile(rf"\s*class\s+{re.escape(name)}\b")
    for lines in reversed(list(errors.sources.values())):
        for at, line in enumerate(lines):
            if head.match(line):
                return _block(lines, at)
    return None


def _describe(name, found, detailed):
    deadline = safe.Deadline(2.0)
    if not found.has_value:
        value, lines = found.cls, [f"Type: {safe.class_name(found.cls)}"]
    else:
        value, lines = found.value, []
        signature = _signature(value, deadline)
        if signature is not None:
            lines.append(f"Signature: {name}{signature}")
        lines.append(f"Type: {safe.class_name(found.cls)}")
        if not safe.built_in(found.cls, _CODE):
            lines.append(f"Value: {variables.preview(value, deadline)}")
    doc = _documentation(value, deadline)
    if _type(doc) is str and doc:
        lines += ["", wire.clip(doc, _TEXT_MAX)]
    source = _source(value, deadline) if detailed else None
    if _type(source) is str:
        lines += ["", "Source:", wire.clip(source, _TEXT_MAX)]
    return "\n".join(lines)


def describe(name, detailed):
    """The text of name? and name??, or None."""
    try:
        found = resolve.Resolver().text(name)
    except resolve.Unknown:
        return None
    return _describe(name, found, detailed)


def _expression_at(text, at):
    """
    The expression that ends with the name at the cursor, or the function of the call around it.
    """
    word = parse.word_at(text, at)
    if word is not None:
        place = parse.Place(text[: word[1]])
        if place.string is None:
            return text[place.expression(word[1]):word[1]]
    place = parse.Place(text[:at])
    for bracket, opened in reversed(place.open):
        end = len(text[:opened].rstrip())
        start = place.expression(end)
        if bracket == "(" and start < end:
            return text[start:end]
    return None


def inspect_(source, cursor, detailed):
    """Replies to INSPECT."""
    fields, text = [], None
    code = source.decode("utf-8", "replace")
    at = len(source[:cursor].decode("utf-8", "replace"))
    try:
        name = _expression_at(code, at)
        text = describe(name, detailed) if name else None
    except KeyboardInterrupt:
        pass
    except Exception:
        pass
    if text:
        fields = [(wire.MIME, "text/plain"), (wire.DATA, text)]
    wire.send(wire.INSPECT_REPLY, fields)
    return True


magics.describe = describe
