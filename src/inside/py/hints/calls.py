"""TypeError of a call: the arguments do not fit, or the object is not callable."""

import ast
import builtins
import re
import sys
import types

from _reckon import brief, case, hints, hints_tables

_type = type


def _call(facts):
    """(node, function) of the failing call."""
    node = facts.node if isinstance(facts.node, ast.Call) else None
    if node is None:
        found = facts.nodes(ast.Call)
        node = found[0] if found else None
    if node is None:
        return None, None
    known, function = facts.try_value(node.func)
    if not known and isinstance(node.func, ast.Attribute):
        there, owner = facts.try_value(node.func.value)
        if not there and isinstance(node.func.value, ast.Call):
            there, owner = facts.try_value(node.func.value.func)
            there = there and brief.is_a(owner, type)
        if there:
            kind = owner if brief.is_a(owner, type) else _type(owner)
            found = case.unwrapped(brief.class_attribute(kind, node.func.attr))
            if found is not None:
                return node, found
    return node, function if known else None


def _inner_function(facts, name):
    """The function that the message names, looked up in the frame that called it."""
    last = name.rpartition(".")[2]
    for place in reversed(facts.places[-3:]):
        for names in (place.locals(), place.globals()):
            value = names.get(last)
            if _type(value) is types.FunctionType:
                return value
        owner = place.locals().get("self")
        if owner is not None:
            found = case.unwrapped(brief.class_attribute(_type(owner), last))
            if _type(found) is types.FunctionType:
                return found
    return None


@hints.on(
    "TypeError",
    says=(
        r"^(?:([\w.<>]+)\(\) )?(missing \d+ required|takes |got an unexpected keyword argument"
        r" '(\w+)'|got multiple values)"
    ),
)
def _arguments(facts, match):
    node, function = _call(facts)
    name = match[1] or (function.__name__ if _type(function) is types.FunctionType else "")
    short = name.removesuffix(".__init__").rpartition(".")[2]
    if function is None or (
        brief.is_a(function, type) is False
        and getattr(function, "__name__", None) != short
        and "__init__" not in name
    ):
        function = _inner_function(facts, name) or function
    keyword = match[3]
    if keyword is not None:
        for (known, gone), text in hints_tables.KEYWORDS.items():
            if gone == keyword and known == short:
                yield f"{short}() has no {keyword} in the installed version; use {text}"
                return
        names = brief.parameter_names(function) if function is not None else None
        found = hints.near(keyword, names or [])
        if found:
            yield f"{short}() has the parameter {' or '.join(found)}"
    shown = brief.signature(function, short) if function is not None else None
    given = re.search(
        r"takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given",
        facts.value,
    )
    if given and _type(function) is types.FunctionType:
        code = function.__code__
        first = code.co_varnames[:1]
        is_method = (
            "." in name
            and "<locals>" not in name.rpartition(".")[0].rpartition(".")[2]
            and first != ("self",)
        )
        if is_method and int(given[2]) == int(given[1]) + 1:
            yield (
                f"{name}() was called as a method, which gives it the object first: write def "
                f"{short}(self{', …' if int(given[1]) else ''})"
            )
    if shown and len(shown) < 400:
        yield f"its signature: {brief.one_line(shown, 380)}"
    if (
        "missing" in match[2]
        and function is not None
        and node is not None
        and isinstance(node.func, ast.Attribute)
    ):
        known, owner = facts.try_value(node.func.value)
        if known and brief.is_a(owner, type) and "'self'" in facts.value:
            yield (
                f"{brief.class_name(owner)} is the class: make an object first,"
                f" {brief.class_name(owner)}(…).{short}(…)"
            )


@hints.on(
    "TypeError",
    says=(
        r"(\w+)\(\) takes no (?:arguments|keyword arguments)"
    ),
)
def _no_arguments(facts, match):
    node, function = _call(facts)
    if "keyword" in match[0]:
        if node is not None and node.keywords:
            given = [*node.args, *(k.value for k in node.keywords)]
            texts = ", ".join(facts.text_of(each, 40) for each in given)
            yield f"it takes its arguments without names: {facts.text_of(node.func, 40)}({texts})"
        return
    if function is not None and brief.is_a(function, type):
        name = brief.class_name(function)
        wrong = [
            n
            for n in brief.attribute_names_of(function)
            if n.strip("_") == "init" and n != "__init__"
        ]
        yield f"class {name} has no __init__ that takes arguments" + (
            f"; it has {wrong[0]}: the name is __init__, with two underscores on both sides"
            if wrong
            else ""
        )


@hints.on("TypeError", says=r"'([\w.]+)' object is not callable")
def _not_callable(facts, match):
    node = (
        facts.node if isinstance(facts.node, ast.Call) else next(iter(facts.nodes(ast.Call)), None)
    )
    if node is None:
        return
    function = node.func
    text = facts.text_of(function, 50)
    known, value = facts.try_value(function)
    if isinstance(function, ast.Name) and known:
        if hasattr(builtins, function.id) and value is not builtins.__dict__.get(function.id):
            found = facts.assigned(function.id)
            at = f" (assigned at {hints.place_text(facts, found[0], found[1])})" if found else ""
            yield (
                f"{function.id} is {brief.typed(value, 60)} here{at}, which hides the builtin"
                f" {function.id}(): del {function.id}, and use another name"
            )
            return
        if brief.is_frame(value) or brief.exact(value, dict, list, tuple):
            arguments = ", ".join(facts.text_of(a, 30) for a in node.args)
            yield (
                f"{text} is a {brief.type_name(value)}: items are read with brackets,"
                f" {text}[{arguments}]"
            )
            return
    if known and _type(value) is types.ModuleType:
        name = value.__dict__.get("__name__", "").rpartition(".")[2]
        if callable(value.__dict__.get(name)):
            yield f"{text} is the module: from {value.__name__} import {name}"
        else:
            yield (
                f"{text} is a module, call one of its functions:"
                f" {hints.listing(_functions(value), 200)}"
            )
        return
    if isinstance(function, ast.Attribute):
        there, owner = facts.try_value(function.value)
        inner = facts.text_of(function.value, 40)
        if there and _type(owner) is types.ModuleType and known and owner.__name__ in sys.modules:
            yield (
                f"{text} was set to {brief.typed(value, 60)} in this session; import importlib,"
                f" then importlib.reload({inner})"
            )
            return
        if (
            there
            and (brief.is_frame(owner) or brief.is_series(owner) or brief.is_array(owner))
            and (brief.has_attribute(_type(owner), function.attr))
            and not callable(brief.class_attribute(_type(owner), function.attr))
            and match[1] not in ("Series",)
        ):
            yield f"{text} is a value, not a method: leave the () away"
            return
        if there and brief.is_frame(owner) and match[1] == "Series":
            yield f"{text} is a column of {inner}, not a method"
            return
    if isinstance(function, (ast.Constant, ast.Tuple, ast.List, ast.BinOp)):
        yield f"{text} is followed by (: an operator or a comma is missing between them"
    elif known and not brief.is_from(value, "matplotlib"):
        yield f"{text} is {brief.typed(value, 80)}"


def _functions(module):
    return [n for n in list(module.__dict__) if _type(n) is str and not n.startswith("_")][:30]
