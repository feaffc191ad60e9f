"""Examines objects without calling anything that a class of user code defines."""

import collections
import sys
import time
import types

import _reckon_c

_type = type
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: created by a class statement, not in C
_monotonic, _alarm = time.monotonic, _reckon_c.alarm
_class_name = type.__dict__["__name__"].__get__
_class_dict = type.__dict__["__dict__"].__get__
_class_mro = type.__dict__["__mro__"].__get__
_class_module = type.__dict__["__module__"].__get__
_class_flags = type.__dict__["__flags__"].__get__
_Function, _GetSet = types.FunctionType, types.GetSetDescriptorType
_Slot, _Module = types.MemberDescriptorType, types.ModuleType
_NUMBERS = (bool, int, float, complex)
_TEXTS = (str, bytes, bytearray)
_SERIES = (list, tuple, set, frozenset, collections.deque)
BUILT_IN = (*_NUMBERS, *_TEXTS, *_SERIES, dict)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_BRACKETS = {list: "[]", tuple: "()", set: "{}"}
_DEPTH = 3
_BITS_MAX = 4000


class Deadline:
    """
    A time limit for library code that runs when objects are examined. It ends Python code; the
    host's interrupts end loops in C.
    """

    def __init__(self, seconds):
        self._end = _monotonic() + seconds

    def _left(self):
        return self._end - _monotonic()

    def is_over(self):
        return self._left() <= 0

    def run(self, function, otherwise):
        """The result of a function, or `otherwise` if it fails or takes too long."""
        if self.is_over():
            return otherwise
        try:
            _alarm(max(self._left(), 0.001))
            try:
                return function()
            finally:
                _alarm(0)
        except KeyboardInterrupt:
            self._end = 0
            return otherwise
        except BaseException:
            return otherwise


# ---- classes --------------------------------------------------------------------------------

def class_name(cls):
    return _class_name(cls)


def class_module(cls):
    """The module's name, "" if a class has an invalid one."""
    name = _class_module(cls)
    return name if _type(name) is str else ""


def class_dict(cls):
    return _class_dict(cls)


def mro(cls):
    return _class_mro(cls)


def built_in(cls, kinds=BUILT_IN):
    """The built-in type from which a class derives, or None."""
    for base in mro(cls):
        if base in kinds and _type(base) is _type:
            return base
    return None


def _is_known(cls):
    """Whether a class belongs to the module that it names: a library's class, not a cell's."""
    if not _class_flags(cls) & _HEAP:
        return True
    module = class_module(cls)
    found = sys.modules.get(module) if module != "__main__" else None
    if _type(found) is not _Module:
        return False
    file = found.__dict__.get("__file__")
    if _type(file) is str and not file.startswith(("/usr/", "/opt/", sys.prefix, sys.base_prefix)):
        return False
    return found.__dict__.get(class_name(cls)) is cls


def is_own(cls):
    """Whether any class in an object's MRO comes from user code."""
    return not all(_is_known(base) for base in mro(cls))


def instance_dict(value):
    """vars(value) without calling the object; {} if it has none."""
    for base in mro(_type(value)):
        found = class_dict(base).get("__dict__")
        if _type(found) is _GetSet:
            return _plain(found.__get__(value))
    return {}


def members(value):
    """(name, value) of an object's dict and slots."""
    found = list(instance_dict(value).items())
    for base in mro(_type(value)):
        for name, slot in class_dict(base).items():
            if _type(slot) is _Slot and _class_flags(base) & _HEAP:
                try:
                    found.append((name, slot.__get__(value)))
                except AttributeError:
                    pass
    return [(name, item) for name, item in found if _type(name) is str]


def class_attribute(cls, name):
    """The member of a class or its bases, not bound; None if there is none."""
    for base in mro(cls):
        names = class_dict(base)
        if name in names:
            return names[name]
    return None


# ---- signatures -----------------------------------------------------------------------------

def _annotation(note):
    if _type(note) is str:
        return note
    return class_name(note) if _type(note) is _type else brief(note, 40)


def _plain(names):
    return names if _type(names) is dict else {}


def unwrapped(function):
    for _ in range(8):
        inner = _plain(function.__dict__).get("__wrapped__")
        if _type(inner) is not _Function:
            break
        function = inner
    return function


def parameters(function):
    """[(name, kind)] for a function made by def: kind is "", "*" or "**"."""
    code = function.__code__
    names = code.co_varnames
    count = code.co_argcount + code.co_kwonlyargcount
    found = [(name, "") for name in names[:count]]
    for flag, kind in ((4, "*"), (8, "**")):
        if code.co_flags & flag:
            found.append((names[count], kind))
            count += 1
    return found


def signature(function, skip=0):
    """"(a, b=2)" for a function made by def, without its first `skip` parameters."""
    function = unwrapped(function)
    code, notes = function.__code__, _plain(function.__annotations__)
    defaults = list(tuple.__iter__(function.__defaults__ or ()))
    keywords = _plain(function.__kwdefaults__)
    parts, first_default = [], code.co_argcount - len(defaults)
    found = parameters(function)
    stars = {kind: name for name, kind in found if kind}

    def shown(name, *default):
        note = f": {_annotation(notes[name])}" if name in notes else ""
        equals = " = " if note else "="
        return f"{name}{note}" + (f"{equals}{brief(default[0], 40)}" if default else "")

    for at, (name, kind) in enumerate(found):
        if at == code.co_argcount and (code.co_kwonlyargcount or "*" in stars):
            parts.append(f"*{stars.get('*', '')}")
        if kind:
            continue
        if at >= code.co_argcount:
            parts.append(shown(name, keywords[name]) if name in keywords else shown(name))
        elif at >= first_default:
            parts.append(shown(name, defaults[at - first_default]))
        else:
            parts.append(shown(name))
        if at + 1 == code.co_posonlyargcount:
            parts.append("/")
    if "**" in stars:
        parts.append(f"**{stars['**']}")
    back = f" -> {_annotation(notes['return'])}" if "return" in notes else ""
    return f"({', '.join(parts[skip:])}){back}"


def initialiser(cls):
    """The function that receives a class's arguments, or None."""
    for name in ("__init__", "__new__"):
        found = class_attribute(cls, name)
        found = found.__func__ if _type(found) is staticmethod else found
        if _type(found) is _Function:
            return found
    return None


# ---- text of a value ------------------------------------------------------------------------

def clip(text, room):
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def _items(parts, room, total):
    """As many parts as fit; `parts` yields them one by one."""
    out, used = [], 0
    for part in parts:
        if used > room or len(out) > 60:
            break
        out.append(part)
        used += len(part) + 2
    return ", ".join(out) + (", …" if len(out) < total else "")


def _number(base, value):
    if base is int and int.bit_length(value) > _BITS_MAX:
        return f"an integer of {int.bit_length(value)} bits"
    return base.__repr__(value)


def _text(base, value, room):
    return base.__repr__(base.__getitem__(value, slice(0, room + 10)))


def _series(base, value, room, depth, seen):
    total = base.__len__(value)
    parts = (brief(item, room, depth - 1, seen) for item in base.__iter__(value))
    text = _items(parts, room, total)
    if base in _BRACKETS:
        if base is tuple and total == 1:
            text += ","
        if base is not set or total:
            return _BRACKETS[base][0] + text + _BRACKETS[base][1]
    return f"{class_name(base)}([{text}])" if total else f"{class_name(base)}()"


def _mapping(value, room, depth, seen):
    parts = (f"{brief(key, room, depth - 1, seen)}: {brief(item, room, depth - 1, seen)}"
             for key, item in dict.items(value))
    return "{" + _items(parts, room, dict.__len__(value)) + "}"


def _named(names, room, depth, seen):
    return _items((f"{name}={brief(item, room, depth - 1, seen)}" for name, item in names), room,
                  len(names))


def _as(base, value, room, depth, seen):
    if base in _NUMBERS:
        return _number(base, value)
    if base in _TEXTS:
        return _text(base, value, room)
    if depth <= 0 or id(value) in seen:
        return "{…}" if base is dict else "[…]"
    seen = seen | {id(value)}
    if base is dict:
        return _mapping(value, room, depth, seen)
    return _series(base, value, room, depth, seen)


def _own(value, room, depth, seen):
    """An object of a user's class: its name and members."""
    cls = _type(value)
    name = class_name(cls)
    if depth <= 0 or id(value) in seen:
        return f"<{name} object>"
    outer, seen = seen, seen | {id(value)}
    fields = class_dict(cls).get("_fields")
    held = members(value)
    if built_in(cls, (tuple,)) and _type(fields) is tuple and all(_type(f) is str for f in fields):
        held = list(zip(fields, tuple.__iter__(value)))
        return f"{name}({_named(held, room, depth, seen)})"
    known = dict(held)
    if "_name_" in known and "_value_" in known:
        return f"<{name}.{brief(known['_name_'], 40).strip(chr(39))}: {brief(known['_value_'], 60)}>"
    base = built_in(cls)
    if base is not None:
        return f"{name}({_as(base, value, room, depth, outer)})"
    if built_in(cls, (BaseException,)):
        arguments = BaseException.__dict__["args"].__get__(value)
        return f"{name}({', '.join(brief(item, room, depth - 1, seen) for item in arguments[:5])})"
    if _type(class_attribute(cls, "__dataclass_fields__")) is dict:
        return f"{name}({_named(held, room, depth, seen)})"
    return f"<{name} object: {_named(held, room, depth, seen)}>" if held else f"<{name} object>"


def of_class(cls):
    """"class Name(a, b)"."""
    function = initialiser(cls)
    return f"class {class_name(cls)}{signature(function, 1) if function else '()'}"


def brief(value, room=120, depth=_DEPTH, seen=frozenset()):
    """One line about a value, made only of built-in parts; "" for a library's object."""
    cls = _type(value)
    if value is None or value is Ellipsis or value is NotImplemented:
        return repr(value)
    if cls in _DICTS and _type(cls) is _type:
        text = _as(dict, value, room, depth, seen)
        return clip(text if cls is dict else f"{class_name(cls)}({text})", room)
    if _type(cls) is _type and cls in BUILT_IN:
        return clip(_as(cls, value, room, depth, seen), room)
    if cls is _Function:
        return clip(f"{value.__name__}{signature(value)}", room)
    if _type(value) is _type or built_in(cls, (type,)):
        return clip(of_class(value), room)
    if is_own(cls):
        return clip(_own(value, room, depth, seen), room)
    return f"<{class_name(cls)} object>"
