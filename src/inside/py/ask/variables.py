"""VARIABLES: what the session defines, with one line for each name."""

import sys
import types

from _reckon import cell, magics, safe, wire

_VARIABLES_MAX = 1000
_SECONDS = 2.0  # for all previews together; names and types are always listed
_ROOM = 120
_FIRST = 40  # elements of an array
_type = type
_HIDDEN = {"In", "Out", "exit", "quit"}
_Function, _Module = types.FunctionType, types.ModuleType
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def kind_of(name, value):
    """"data", "function" or "class" for what a session defined; None for what it imported."""
    cls = _type(value)
    if name.startswith("_") or name in _HIDDEN or safe.built_in(cls, (_Module,)):
        return None
    if safe.built_in(cls, (type,)):
        return "class" if safe.class_module(value) == "__main__" else None
    if cls is _Function:
        return "function" if value.__globals__ is cell.namespace else None
    return None if cls in _CODE else "data"


def _of_package(cls, package):
    return safe.class_module(cls).partition(".")[0] == package and not safe.is_own(cls)


def _columns(names, types_, total):
    parts = [f"{name} {kind}" for name, kind in zip(names, types_)]
    text = ", ".join(safe.clip(part, 60) for part in parts)
    return f"{total} column{'' if total == 1 else 's'}: {text}" + (
        ", …" if len(parts) < total else "")


def _of_pandas(value, name):
    if name == "DataFrame":
        some = value.columns[:_FIRST]
        return _columns(some, list(value.dtypes.iloc[:_FIRST]), len(value.columns))
    if name in ("Series", "Index") or name.endswith("Index"):
        some = (value.iloc if name == "Series" else value)[:_FIRST].tolist()
        called = f"{value.name} " if value.name is not None else ""
        return f"{called}{value.dtype}: {_listed(some, len(value))}"
    return None


def _listed(some, total):
    text = safe.brief(some, _ROOM)[1:-1].removesuffix("…").rstrip(", ")
    return text + (", …" if len(some) < total or len(text) > _ROOM - 10 else "")


def _of_polars(value, name):
    if name == "DataFrame":
        schema = value.schema
        return _columns(list(schema)[:_FIRST], list(schema.values())[:_FIRST], len(schema))
    return f"{value.name} {value.dtype}: {_listed(value.head(_FIRST).to_list(), len(value))}" \
        if name == "Series" else "not computed" if name == "LazyFrame" else None


def _of_numpy(value, name):
    if name != "ndarray":
        return None
    return f"{value.dtype}: {_listed(value.flat[:_FIRST].tolist(), value.size)}"


_PACKAGES = {"pandas": _of_pandas, "polars": _of_polars, "numpy": _of_numpy}


def _of_library(value, cls):
    name = safe.class_name(cls)
    for package, describe in _PACKAGES.items():
        if _of_package(cls, package):
            text = describe(value, name)
            if text is not None:
                return text
    text = repr(value)
    return text if _type(text) is str else ""


def preview(value, deadline=None):
    """A line of at most 120 characters."""
    cls = _type(value)
    text = safe.brief(value, _ROOM)
    if text == f"<{safe.class_name(cls)} object>" and not safe.is_own(cls):
        deadline = deadline or safe.Deadline(_SECONDS)
        text = deadline.run(lambda: _of_library(value, cls), text)
    text = " ".join(text[: 4 * _ROOM].split())
    return safe.clip(text, _ROOM)


def _shape(value, cls):
    base = safe.built_in(cls)
    if base is not None:
        length = getattr(base, "__len__", None)
        return str(length(value)) if length else ""
    if safe.is_own(cls):
        return ""
    shape = getattr(value, "shape", None)
    if _type(shape) is tuple and len(shape) < 10 and all(_type(n) is int for n in shape):
        return str(shape) if shape else ""
    return ""


def _size(value, cls):
    if safe.is_own(cls):
        for base in safe.mro(cls):
            if base is not object and not safe.is_own(base) and "__sizeof__" in safe.class_dict(base):
                return str(base.__sizeof__(value))
        return str(object.__sizeof__(value))
    if _of_package(cls, "pandas") and hasattr(cls, "memory_usage"):
        used = value.memory_usage(deep=False)
        return str(int(used.sum() if hasattr(used, "sum") else used))
    size = getattr(value, "nbytes", None)
    return str(size if _type(size) is int else sys.getsizeof(value))


def _fields(name, value, kind, deadline):
    cls = _type(value)
    try:
        text = preview(value, deadline)
    except Exception:
        text = ""
    plain = _type(cls) is type and cls in safe.BUILT_IN
    run = (lambda look, _: look()) if plain else deadline.run
    return [
        (wire.VAR_NAME, name),
        (wire.VAR_TYPE, safe.class_name(cls) if kind == "data" else kind),
        (wire.VAR_SHAPE, run(lambda: _shape(value, cls), "") if kind == "data" else ""),
        (wire.VAR_SIZE, run(lambda: _size(value, cls), "")),
        (wire.VAR_PREVIEW, text),
        (wire.VAR_KIND, kind),
    ]


def users():
    """(name, value, kind): data first, then functions, then classes, each in order of creation."""
    found = {"data": [], "function": [], "class": []}
    for name, value in list(cell.namespace.items()):
        kind = kind_of(name, value) if _type(name) is str else None
        if kind is not None:
            found[kind].append((name, value, kind))
    return found["data"] + found["function"] + found["class"]


_NAMES_MAX = 50  # in one DONE
_LOOK_MAX = 400
_reported = {}
_mark = None  # the newest name at the last check: a dict keeps insertion order


def tell_names():
    """
    Sends names that are new or deleted since the last cell, for the report if the kernel is lost.
    """
    global _mark
    names, fresh = cell.namespace, []
    for steps, name in enumerate(reversed(names)):
        if name is _mark or steps == _LOOK_MAX or len(fresh) == _NAMES_MAX:
            break
        if _type(name) is str and name not in _reported and kind_of(name, names[name]):
            fresh.append(name)
    _mark = next(reversed(names), None)
    for name in [name for name in _reported if name not in names][:_NAMES_MAX]:
        del _reported[name]
        wire.name(name, True)
    for name in reversed(fresh):
        if len(_reported) == 2 * _NAMES_MAX:
            del _reported[next(iter(_reported))]
        _reported[name] = None
        wire.name(name, False)


def variables():
    """Replies to VARIABLES. The deadline and an interrupt only end the previews."""
    deadline = safe.Deadline(_SECONDS)
    fields, listed = [], users()
    for name, value, kind in listed[:_VARIABLES_MAX]:
        fields += _fields(name, value, kind, deadline)
    if len(listed) > _VARIABLES_MAX:
        fields.append((wire.VAR_OMITTED, str(len(listed) - _VARIABLES_MAX)))
    wire.send(wire.VARIABLES_REPLY, fields)
    return True


magics.preview = preview
cell.tell_names = tell_names
