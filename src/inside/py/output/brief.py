"""Describes a value in one line, without running its code: type, shape, contents.

User code may define any method of a class: a __repr__ that loops, a __len__ that downloads, a
false __class__. So values are distinguished by their true type; only containers, numbers,
strings, and tables and arrays of numpy and pandas are examined, a few items deep.
"""

import sys
import types
from itertools import islice

_type = type
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__
_name_of = type.__dict__["__name__"].__get__
_modules = sys.modules
_GetSet, _Member = types.GetSetDescriptorType, types.MemberDescriptorType
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_TEXTS = (str, bytes, bytearray)
_ITEMS, _DEPTH = 6, 2
LABELS_MAX = 200
_PLAIN = {("datetime", n) for n in ("datetime", "date", "time", "timedelta", "timezone")} | {
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("uuid", "UUID"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("zoneinfo", "ZoneInfo"),
}
_PANDAS_SCALARS = ("Timestamp", "Timedelta", "NaTType", "NAType", "Period")


def lineage(value):
    """The classes of a value, from its own to object."""
    return _mro_of(_type(value))


def lineage_of(kind):
    return _mro_of(kind)


def class_dict(kind):
    return _dict_of(kind)


def exact(value, *kinds):
    """Whether the value's class is one of these; `in` would call a metaclass's __eq__."""
    own = _type(value)
    for kind in kinds:
        if own is kind:
            return True
    return False


def is_a(value, *kinds):
    """isinstance() without calling methods of the value or a metaclass."""
    return any(base is kind for base in _mro_of(_type(value)) for kind in kinds)


def class_name(kind):
    name = _name_of(kind)
    return name if _type(name) is str else "?"


def type_name(value):
    return class_name(_type(value))


def module_name(kind):
    """The module of a class, as it says; "" if unknown."""
    try:
        name = _module_of(kind)
    except AttributeError:
        return ""
    return name if _type(name) is str else ""


def is_from(value, package):
    name = module_name(_type(value))
    return name == package or name.startswith(package + ".")


def of_module(value, module, name):
    """Whether the value's type is exactly `name` in `module`, if that is loaded."""
    loaded = _modules.get(module)
    found = loaded.__dict__.get(name) if _type(loaded) is types.ModuleType else None
    return found is not None and _type(value) is found


def is_frame(value):
    return of_module(value, "pandas", "DataFrame")


def is_series(value):
    return of_module(value, "pandas", "Series")


def is_array(value):
    return of_module(value, "numpy", "ndarray")


def own_attributes(value):
    """The instance's __dict__, or an empty dict."""
    for base in _mro_of(_type(value)):
        found = _dict_of(base).get("__dict__")
        if found is not None:
            if _type(found) is not _GetSet:
                return {}
            attributes = found.__get__(value)
            return attributes if _type(attributes) is dict else {}
    return {}


def class_attribute(kind, name):
    """The member of a class or its bases, without calling descriptors."""
    for base in _mro_of(kind):
        found = _dict_of(base)
        if name in found:
            return found[name]
    return None


def has_attribute(kind, name):
    return any(name in _dict_of(base) for base in _mro_of(kind))


def attribute_names(value):
    """Public names, as dir() would list them."""
    names = {}
    for source in [own_attributes(value), *(_dict_of(base) for base in _mro_of(_type(value)))]:
        for name in islice(list(source), 3000):
            if _type(name) is str and not name.startswith("_"):
                names[name] = None
    return list(names)


def attribute_names_of(kind):
    """Names that a class itself defines."""
    return [name for name in list(_dict_of(kind)) if _type(name) is str]


def clean(text):
    """Escapes characters that move the cursor, change colours, or are invisible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" or c == "\t" else c.encode("unicode_escape").decode()
        for c in text
    )


def one_line(text, limit):
    """Cleaned text with joined white space, at most `limit` characters."""
    text = " ".join(clean(text[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clip(text, limit):
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value, limit):
    room = max(limit - 24, 8)
    if len(value) <= room:
        return clip(clean(repr(value)), limit * 2)
    return (
        f"{clip(clean(repr(value[:room])), room * 2)}… ({len(value)}"
        f" {'characters' if _type(value) is str else 'bytes'})"
    )


def _number(value, limit):
    if _type(value) is int and value.bit_length() > 200:
        return f"int of {value.bit_length()} bits"
    return clip(repr(value), limit)


def _items(values, count, opening, closing, limit, depth):
    if depth >= _DEPTH and count:
        return f"{opening}… {count} items{closing}" if count > 1 else f"{opening}…{closing}"
    parts, used, shown = [], 0, 0
    for item in islice(values, _ITEMS):
        part = item(limit // 2, depth + 1) if callable(item) else item
        if parts and used + len(part) > limit - 20:
            break
        parts.append(part)
        shown += 1
        used += len(part) + 2
    if shown < count:
        parts.append(f"… {count} items")
    return opening + ", ".join(parts) + closing


def _later(value):
    return lambda limit, depth: brief(value, limit, depth)


def _pair(key, value):
    return lambda limit, depth: f"{brief(key, limit, depth)}: {brief(value, limit, depth)}"


_BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


def _container(value, kind, limit, depth):
    if kind is dict:
        count = dict.__len__(value)
        pairs = islice(dict.items(value), _ITEMS)
        return _items((_pair(k, v) for k, v in list(pairs)), count, "{", "}", limit, depth)
    count = kind.__len__(value)
    if not count:
        return {"[]": "[]", "()": "()"}.get(_BRACKETS[kind], "set()")
    opening, closing = _BRACKETS[kind]
    items = list(islice(kind.__iter__(value), _ITEMS))
    if kind is tuple and count == 1:
        closing = ",)"
    return _items((_later(item) for item in items), count, opening, closing, limit, depth)


def dtype_text(dtype):
    try:
        return one_line(str(dtype), 30)
    except Exception:
        return "?"


def labels(index, most=LABELS_MAX):
    """The first labels of a pandas Index as a list."""
    return list(index[:most])


def columns_text(frame, limit):
    """'sales' int64, 'city' str, … (12 columns)"""
    names = labels(frame.columns, 40)
    dtypes = list(frame.iloc[:0, :40].dtypes)
    parts, used = [], 0
    for name, dtype in zip(names, dtypes):
        part = f"{brief(name, 40)} {dtype_text(dtype)}"
        if parts and used + len(part) + 2 > limit - 12:
            break
        parts.append(part)
        used += len(part) + 2
    total = frame.shape[1]
    return ", ".join(parts) + (f", … {total} columns" if len(parts) < total else "")


def index_text(index, limit=70):
    kind = class_name(_type(index))
    if kind == "RangeIndex":
        return ""
    few = ", ".join(brief(label, 24, 1) for label in labels(index, 3))
    return clip(f"{kind} {few}{', …' if len(index) > 3 else ''}", limit)


def _pandas(value, kind, limit):
    if kind == "DataFrame":
        text = f"DataFrame {value.shape[0]}×{value.shape[1]}"
        index = index_text(value.index) if limit > 150 else ""
        columns = columns_text(value, limit - len(text) - len(index) - 10) if value.shape[1] else ""
        return f"{text}: {columns}" + (f"; {index}" if index else "")
    if kind == "Series":
        first = list(value.iloc[:3])
        name = value.name
        text = f"Series of {len(value)} {dtype_text(value.dtype)}"
        if name is not None:
            text += f" named {brief(name, 30)}"
    elif kind.endswith("Index"):
        first = labels(value, 4)
        text = f"{kind} of {len(value)} {dtype_text(value.dtype)}"
    elif kind in _PANDAS_SCALARS:
        return clip(repr(value), limit)
    elif "GroupBy" in kind:
        return f"{kind} by {brief(value.keys, 60)}"
    else:
        return f"{kind} object"
    few = ", ".join(brief(item, max(limit // 4, 12), 1) for item in first)
    return clip(f"{text}: {few}{', …' if len(value) > len(first) else ''}", limit)


def _numpy(value, limit):
    if is_array(value):
        text = f"array {value.shape} {dtype_text(value.dtype)}"
        if value.dtype.hasobject and value.ndim > 1:
            return text
        few = [brief(item, 20, 1) for item in value.flat[:5].tolist()]
        return clip(f"{text}: {', '.join(few)}{', …' if value.size > 5 else ''}", limit)
    if type_name(value) in ("ufunc", "dtype"):
        return clip(f"{type_name(value)} {repr(value)}", limit)
    if is_a(value, _modules["numpy"].__dict__["generic"]):
        return clip(repr(value), limit)
    return f"{type_name(value)} object"


def _sympy(value, limit):
    """An expression as sympy prints it; a large one is only named."""
    parts, pending = 0, [value]
    while pending:
        part = pending.pop()
        parts += 1
        number = getattr(part, "p", 0) if type_name(part) == "Integer" else 0
        given = getattr(part, "args", ()) if is_from(part, "sympy") else ()
        if parts > 120 or (_type(number) is int and number.bit_length() > 400):
            return f"{type_name(value)} of sympy, a large one"
        pending += given if _type(given) is tuple else ()
    return clip(f"{one_line(str(value), limit)} ({type_name(value)} of sympy)", limit + 40)


def _code_parameters(code, defaults, named):
    """The parameters of a Python function as in its source."""
    names, at = code.co_varnames, code.co_argcount
    plain = list(names[:at])
    parts = []
    for number, name in enumerate(plain):
        which = number - (at - len(defaults))
        parts.append(f"{name}={brief(defaults[which], 20, 1)}" if which >= 0 else name)
        if number + 1 == code.co_posonlyargcount:
            parts.append("/")
    only = names[at : at + code.co_kwonlyargcount]
    at += len(only)
    if code.co_flags & 4:
        parts.append("*" + names[at])
        at += 1
    elif only:
        parts.append("*")
    parts += [f"{n}={brief(named[n], 20, 1)}" if n in named else n for n in only]
    if code.co_flags & 8:
        parts.append("**" + names[at])
    return parts


def signature(function, name=None):
    """'f(a, b=1, *, c)' for a function, a method or a Python class; or None."""
    skip = 0
    name = (
        name or clip(getattr(function, "__name__", "?"), 60)
        if exact(function, *_FUNCTIONS)
        else name
    )
    if _type(function) is types.MethodType:
        function, skip = function.__func__, 1
    elif is_a(function, type):
        name = name or class_name(function)
        function, skip = class_attribute(function, "__init__"), 1
    if _type(function) is not types.FunctionType:
        return None
    wrapped = function.__dict__.get("__wrapped__")
    if _type(wrapped) is types.FunctionType:
        function = wrapped
    parts = _code_parameters(
        function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
    )
    return f"{name}({', '.join(parts[skip:])})"


def parameter_names(function):
    """Names of keyword parameters, and whether any name is accepted; None if unknown."""
    if is_a(function, type):
        function = class_attribute(function, "__init__")
    if _type(function) is types.MethodType:
        function = function.__func__
    if _type(function) is not types.FunctionType:
        return None
    wrapped = function.__dict__.get("__wrapped__")
    if _type(wrapped) is types.FunctionType:
        function = wrapped
    code = function.__code__
    names = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    return [n for n in names if n not in ("self", "cls")]


def _callable(value, limit):
    if _type(value) is types.MethodType:
        owner = value.__self__
        inner = value.__func__
        name = inner.__name__ if _type(inner) is types.FunctionType else "?"
        return clip(f"method {name} of {type_name(owner)}", limit)
    if _type(value) is types.BuiltinFunctionType:
        return clip(f"builtin function {value.__name__}", limit)
    return clip(f"function {signature(value) or '?'}", limit)


def _object(value, limit, depth):
    kind, name = _type(value), type_name(value)
    for builtin in (str, bytes, int, float, list, tuple, dict, set, frozenset):
        if is_a(value, builtin):
            if builtin in (int, float):
                return f"{name}({_number(builtin.__add__(value, 0), 60)})"
            size = builtin.__len__(value)
            if builtin in (str, bytes):
                return f"{name} of {size} characters"
            return clip(f"{name} {_container(value, builtin, limit - len(name), depth)}", limit)
    if is_a(value, BaseException):
        given = value.args
        given = given if _type(given) is tuple else ()
        return clip(
            f"{name}({', '.join(brief(a, limit // 2, depth + 1) for a in given[:3])})", limit
        )
    attributes = own_attributes(value)
    public = [
        (k, v)
        for k, v in list(islice(attributes.items(), 30))
        if _type(k) is str and not k.startswith("_")
    ]
    if module_name(kind).partition(".")[0] in _modules and module_name(kind) != "__main__":
        return clip(f"{name} object", limit)
    if depth or not public:
        return f"{name} object"
    inner = ", ".join(f"{clip(clean(k), 30)}={brief(v, 24, depth + 1)}" for k, v in public[:4])
    return clip(f"{name} object: {inner}{', …' if len(public) > 4 else ''}", limit)


def _known(value, limit, depth):
    kind = _type(value)
    if exact(value, *_TEXTS):
        return _text(value, limit)
    if exact(value, int, float, bool, complex):
        return _number(value, limit)
    if value is None or value is Ellipsis or exact(value, range, slice):
        return clip(repr(value), limit) if kind is not slice else "slice"
    if exact(value, dict, *_BRACKETS):
        return _container(value, kind, limit, depth)
    if kind is types.ModuleType:
        name = value.__dict__.get("__name__")
        return f"module {clip(clean(name), 60) if _type(name) is str else '?'}"
    if exact(value, *_FUNCTIONS):
        return _callable(value, limit)
    if is_a(value, type):
        return f"class {class_name(value)}"
    if exact(value, types.GeneratorType, types.CoroutineType):
        return f"{type_name(value)} {value.__name__}"
    if (module_name(kind), type_name(value)) in _PLAIN:
        return clip(clean(repr(value)), limit)
    return None


def _shape_of(value):
    """The shape of a library's object, as text."""
    shape = getattr(value, "shape", None)
    if _type(shape) is tuple and len(shape) < 8 and all(_type(n) is int for n in shape):
        return str(shape)
    return ""


def brief(value, limit=120, depth=0):
    """One line of at most about `limit` characters."""
    try:
        known = _known(value, limit, depth)
        if known is not None:
            return known
        if is_from(value, "pandas"):
            return _pandas(value, type_name(value), limit)
        if is_from(value, "numpy"):
            return _numpy(value, limit)
        if is_from(value, "sympy") and not is_a(value, type):
            return _sympy(value, limit)
        for package in ("scipy.sparse", "polars", "xarray"):
            if is_from(value, package):
                return f"{type_name(value)} {_shape_of(value)}".rstrip()
        return _object(value, limit, depth)
    except Exception:
        return f"{type_name(value)} object"


def size_text(size):
    """1 GiB, 1.5 MiB, 12 bytes."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size // scale} {unit}" if size % scale == 0 else f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def sized(value, limit=120):
    """brief(), preceded by type and size for a container that is not shown completely."""
    text = brief(value, limit)
    kind = _type(value)
    if exact(value, list, tuple, dict, set, frozenset) and len(value) > _ITEMS - 3:
        return f"{class_name(kind)} of {len(value)} {text}"
    return text


def typed(value, limit=120):
    """sized(), preceded by the type for other values, too: int 5."""
    kind = _type(value)
    if exact(value, int, float, str, bytes, bool, complex, bytearray):
        return f"{class_name(kind)} {brief(value, limit)}"
    text = sized(value, limit)
    return (
        text
        if not exact(value, list, tuple, dict, set, frozenset) or text.startswith(class_name(kind))
        else f"{class_name(kind)} {text}"
    )
