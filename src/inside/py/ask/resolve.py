"""What an expression refers to, without running it: no call, no property of user code."""

import ast
import dis
import inspect
import re
import sys
import types

from _reckon import cell, safe

_type = type
_SECONDS = 1.0
_Function, _Module = types.FunctionType, types.ModuleType
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_LITERALS = {ast.List: list, ast.ListComp: list, ast.Tuple: tuple, ast.Dict: dict,
             ast.DictComp: dict, ast.Set: set, ast.SetComp: set, ast.JoinedStr: str}
_FIRST_NAME = re.compile(r"[\w.]+")
_RETURNS = {  # the types that methods of built-in types return; by default their own type
    str: {"split": list, "rsplit": list, "splitlines": list, "encode": bytes, "partition": tuple,
          "find": int, "index": int, "count": int, "startswith": bool, "endswith": bool,
          "format": str, "join": str, "replace": str, "strip": str, "lower": str, "upper": str,
          "title": str, "capitalize": str, "lstrip": str, "rstrip": str, "zfill": str},
    bytes: {"decode": str, "split": list, "hex": str, "strip": bytes, "replace": bytes},
    list: {"copy": list, "index": int, "count": int},
    dict: {"copy": dict}, set: {"copy": set, "union": set, "intersection": set},
}
_FUNCTIONS = {"len": int, "sorted": list, "repr": str, "input": str, "sum": int, "abs": int}


def _stored(function):
    """Names of the attributes that a function sets, such as __init__ on an object."""
    if function is None:
        return set()
    return {at.argval for at in dis.get_instructions(function.__code__) if at.opname == "STORE_ATTR"}


class Unknown(Exception):
    """Nothing is known about an expression."""


class Found:
    """A value, or only its class."""

    def __init__(self, value=None, cls=None):
        self.has_value = cls is None
        self.value = value
        self.cls = _type(value) if cls is None else cls


class Resolver:
    def __init__(self):
        self.deadline = safe.Deadline(_SECONDS)

    def text(self, source):
        """A Found for the text of an expression; raises Unknown."""
        if len(source) > 10_000:
            raise Unknown
        try:
            tree = ast.parse(source.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unknown from None
        return self._node(tree.body)

    def _node(self, node):
        kind = _type(node)
        if kind is ast.Constant:
            return Found(node.value)
        if kind in _LITERALS:
            return Found(cls=_LITERALS[kind])
        if kind is ast.Name:
            return self.name(node.id)
        if kind is ast.Attribute:
            return self.attribute(self._node(node.value), node.attr)
        if kind is ast.Subscript:
            return self._item(self._node(node.value), node.slice)
        if kind is ast.Call:
            return self._call(node)
        if kind is ast.Await:
            raise Unknown
        raise Unknown

    def name(self, name):
        for names in (cell.namespace, cell.builtins.__dict__):
            if name in names:
                return Found(names[name])
        raise Unknown

    # ---- attributes ----

    def attribute(self, found, name):
        if not found.has_value:
            return self._of_class(found.cls, name)
        value, cls = found.value, found.cls
        if cls is _Module:
            return self._of_module(value, name)
        if safe.built_in(cls, (type,)):
            return self._unbound(value, name)
        if not safe.is_own(cls):
            return self._evaluate(lambda: getattr(value, name))
        held = dict(safe.members(value))
        if name in held:
            return Found(held[name])
        return self._of_class(cls, name, value)

    def _evaluate(self, function):
        gone = object()
        got = self.deadline.run(function, gone)
        if got is gone:
            raise Unknown
        return Found(got)

    def _of_module(self, module, name):
        if name in module.__dict__:
            return Found(module.__dict__[name])
        file = module.__dict__.get("__file__")
        if _type(file) is str and file.startswith(("/usr/", "/opt/", sys.prefix)):
            return self._evaluate(lambda: getattr(module, name))  # a module that is loaded lazily
        raise Unknown

    def _unbound(self, cls, name):
        if not safe.is_own(cls) and _type(cls) is _type:
            return self._evaluate(lambda: getattr(cls, name))
        return self._of_class(cls, name)

    def _of_class(self, cls, name, value=None):
        """An attribute of a class, or of an object of it that does not exist yet."""
        got = safe.class_attribute(cls, name)
        kind = _type(got)
        if got is None or kind in _DESCRIPTORS:
            note = safe.class_attribute(cls, "__annotations__")
            if _type(note) is dict and name in note:
                return self._noted(note[name], cls, sys.modules.get("__main__"))
            raise Unknown
        if kind is property:
            return self._returned(got.fget, cls)
        if kind in (staticmethod, classmethod):
            return Found(got.__func__)
        return Found(got)

    # ---- items ----

    def _item(self, found, key):
        if not found.has_value:
            raise Unknown
        value, cls = found.value, found.cls
        if _type(key) is ast.Constant:
            index = key.value
        elif _type(key) is ast.UnaryOp and _type(key.op) is ast.USub and \
                _type(key.operand) is ast.Constant and _type(key.operand.value) is int:
            index = -key.operand.value
        elif cls in (str, list, tuple, bytes) and _type(key) is ast.Slice:
            return Found(cls=cls)
        elif self.is_frame(found) and _type(key) in (ast.List, ast.Compare):
            return Found(cls=cls)
        else:
            raise Unknown
        if cls in (dict, list, tuple, str, bytes) or self.is_frame(found):
            return self._evaluate(lambda: cls.__getitem__(value, index))
        raise Unknown

    @staticmethod
    def is_frame(found):
        return found.has_value and safe.class_name(found.cls) in ("DataFrame", "Series") and \
            not safe.is_own(found.cls)

    # ---- calls ----

    def _call(self, node):
        target = node.func
        if _type(target) is ast.Name and target.id in _FUNCTIONS and \
                target.id not in cell.namespace:
            return Found(cls=_FUNCTIONS[target.id])
        if _type(target) is ast.Attribute:
            owner = self._node(target.value)
            known = _RETURNS.get(owner.cls, {}).get(target.attr)
            if known is not None:
                return Found(cls=known)
            return self._called(self.attribute(owner, target.attr), owner.cls)
        return self._called(self._node(target), None)

    def _called(self, found, owner):
        value = found.value
        if not found.has_value:
            raise Unknown
        if safe.built_in(found.cls, (type,)):
            return Found(cls=value)
        if found.cls is types.MethodType:
            return self._returned(value.__func__, owner)
        return self._returned(value, owner)

    def _returned(self, function, owner):
        if _type(function) is not _Function:
            raise Unknown
        function = safe.unwrapped(function)
        notes = function.__annotations__
        if _type(notes) is not dict or "return" not in notes:
            raise Unknown
        return self._noted(notes["return"], owner, function)

    def _noted(self, note, owner, where):
        """The class that an annotation names: a class, or the first name in a string."""
        if _type(note) is str:
            first = _FIRST_NAME.search(note)
            name = first[0].split(".")[-1] if first else ""
            if name == "Self" and owner is not None:
                return Found(cls=owner)
            scope = where.__globals__ if _type(where) is _Function else cell.namespace
            note = scope.get(name, cell.builtins.__dict__.get(name))
        elif note is getattr(sys.modules.get("typing"), "Self", None) and owner is not None:
            return Found(cls=owner)
        if note is None or not safe.built_in(_type(note), (type,)):
            raise Unknown
        return Found(cls=note)

    # ---- names of an object ----

    def names(self, found):
        """Names of the attributes of a Found."""
        cls = found.cls
        if found.has_value and (cls is _Module or not safe.is_own(cls)):
            value = found.value
            if not (safe.built_in(cls, (type,)) and safe.is_own(value)):
                listed = self.deadline.run(lambda: dir(value), [])
                return {n for n in listed if _type(n) is str}
        names = set()
        if found.has_value:
            names.update(name for name, _ in safe.members(found.value))
            if safe.built_in(cls, (type,)):
                cls = found.value
        for base in safe.mro(cls):
            names.update(n for n in safe.class_dict(base) if _type(n) is str)
        if not found.has_value:
            names |= _stored(safe.initialiser(cls))
        return names

    def parameters(self, found):
        """Names of the keyword arguments that calling it accepts."""
        value = found.value
        if not found.has_value:
            return []
        skip = 0
        if safe.built_in(found.cls, (type,)):
            if not safe.is_own(value):
                return self._signature(value)
            value, skip = safe.initialiser(value), 1
            if value is None:
                return []
        elif found.cls is types.MethodType:
            value, skip = value.__func__, 1
        if _type(value) is _Function:
            value = safe.unwrapped(value)
            return [name for name, kind in safe.parameters(value)[skip:]
                    if not kind][max(0, value.__code__.co_posonlyargcount - skip):]
        if safe.is_own(_type(value)) or not callable(value):
            return []
        return self._signature(value)

    def _signature(self, value):
        found = self.deadline.run(lambda: inspect.signature(value).parameters, {})
        return [name for name, item in found.items() if item.kind in (1, 3)]
