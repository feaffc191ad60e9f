"""TypeError about items: the object cannot be indexed, iterated or used as a key."""

import ast
import types

from _reckon import brief, hints, hints_names
from _reckon.hints_types import describe

_type = type


def _uncalled(value):
    return brief.exact(value, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


@hints.on(
    "TypeError", says=r"'([\w.]+)' object (?:is not subscriptable|does not support item assignment)"
)
def _not_subscriptable(facts, match):
    targets = [n for n in facts.nodes(ast.Subscript, within=facts.statement)]
    for node in targets:
        known, value = facts.try_value(node.value)
        text = facts.text_of(node.value, 50)
        if known and brief.type_name(value) == match[1].rpartition(".")[2]:
            if value is None:
                yield from hints_names.why_none(facts, node.value)
            elif _uncalled(value):
                yield f"{text} is a function: call it, {text}(…)"
            elif _type(value) is tuple:
                yield f"{text} is a tuple, which cannot be changed: {text} = list({text}) first"
            elif _type(value) is str:
                yield (
                    f"{text} is a str, which cannot be changed: make a new one, {text}.replace(…)"
                    " or slices"
                )
            elif not brief.is_from(value, "matplotlib"):
                yield f"{text} is {brief.typed(value, 100)}"
            return
        if not known and match[1] == "method" or "function" in match[1]:
            yield f"{text} is a method that was not called: {text}()"
            return
        if match[1] == "NoneType" and not known and node is facts.node:
            yield from hints_names.why_none(facts, node.value)
            return
        if (
            match[1]
            in (
                "set",
                "dict_keys",
                "dict_values",
                "dict_items",
                "map",
                "zip",
                "filter",
                "generator",
                "enumerate",
            )
            and not known
            and node is facts.node
        ):
            yield f"{text} cannot be indexed: list({text})"
            return


@hints.on(
    "TypeError",
    says=(
        r"(?:cannot unpack non-iterable |')([\w.]+)'? object(?: is not (?:iterable|an iterator))?$"
    ),
)
def _not_iterable(facts, match):
    kind = match[1].rpartition(".")[2]
    if "iterable" not in facts.value and "iterator" not in facts.value:
        return
    statement = facts.statement
    parts = [getattr(statement, "iter", None), *[g.iter for g in facts.nodes(ast.comprehension)]]
    parts += [
        facts.node,
        *(a for n in facts.nodes(ast.Call) for a in n.args),
        getattr(statement, "value", None),
    ]
    parts += [n.comparators[0] for n in facts.nodes(ast.Compare)]
    for node in parts:
        if node is None or not isinstance(node, ast.expr):
            continue
        if "unpack" in facts.value and node is not getattr(statement, "value", None):
            known, value = facts.try_value(node)
            if (
                known
                and brief.exact(value, list, tuple)
                and any(brief.type_name(v) == kind for v in value[:1000])
            ):
                text = facts.text_of(node, 50)
                yield (
                    f"the items of {text} are single values ({kind}): enumerate({text}) gives pairs"
                    " of number and item"
                )
                return
        known, value = facts.try_value(node)
        text = facts.text_of(node, 50)
        if not known or brief.type_name(value) != kind:
            continue
        if value is None:
            yield from hints_names.why_none(facts, node)
        elif brief.exact(value, int, float) and "unpack" not in facts.value:
            yield f"{text} is {brief.typed(value, 40)}" + (
                f": range({text}) counts up to it" if _type(value) is int else ""
            )
        elif _uncalled(value):
            yield f"{text} is a function: call it, {text}()"
        elif "iterator" in facts.value:
            yield f"{text} is {brief.typed(value, 60)}: iter({text}) makes an iterator of it"
        else:
            yield f"{text} is {brief.typed(value, 80)}"
        return
    if (
        kind == "NoneType"
        and isinstance(getattr(statement, "value", None), ast.Call)
        and "unpack" in facts.value
    ):
        yield from hints_names.why_none(facts, statement.value)


@hints.on(
    "TypeError",
    says=r"argument of type '(\w+)' is not iterable",
)
def _not_container(facts, match):
    for node in facts.nodes(ast.Compare, within=facts.statement):
        yield f"in: {describe(facts, node.comparators[0], 80)} holds nothing to look in"
        return


@hints.on("TypeError", says=r"object of type '([\w.]+)' has no len\(\)")
def _no_len(facts, match):
    for node in facts.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            text = facts.text_of(node.args[0], 50)
            known, value = facts.try_value(node.args[0])
            if match[1] in ("generator", "map", "filter", "zip", "enumerate"):
                yield f"{text} gives its items one by one: len(list({text}))"
            elif match[1] == "NoneType":
                yield from hints_names.why_none(facts, node.args[0])
            elif match[1] in ("int", "float"):
                yield (
                    f"{describe(facts, node.args[0])} is one number: len(str({text})) counts its digits"
                )
            elif known:
                yield f"{text} is {brief.typed(value, 80)}"
            return


@hints.on(
    "TypeError",
    says=(
        r"(list|tuple|string|byte|range) indices must be integers(?: or slices)?, not"
        r" '?(\w+)"
    ),
)
def _indices(facts, match):
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        known, value = facts.try_value(node.value)
        text, key = facts.text_of(node.value, 50), facts.text_of(node.slice, 40)
        if not known or not brief.exact(value, list, tuple, str, bytes, range):
            continue
        inner = value[0] if len(value) and brief.exact(value, list, tuple) else None
        if match[2] == "str" and _type(inner) is dict:
            there, name = facts.try_value(node.slice)
            yield (
                f"{text} is a {brief.type_name(value)} of {len(value)} dicts: {text}[0][{key}], or "
                f"[row[{key}] for row in {text}]"
                + (
                    ""
                    if not there or name in inner
                    else f"; the first has the keys {hints.listing(list(inner), 150)}"
                )
            )
        elif _type(value) is str:
            start = value.lstrip()[:1]
            yield f"{text} is a str: {brief.brief(value, 70)}" + (
                f"; json.loads({text}) makes a value of JSON" if start in "{[" and start else ""
            )
        elif match[2] == "tuple":
            yield f"{text} is a {brief.type_name(value)}: {text}[i][j], or np.array({text})[i, j]"
        elif match[2] == "float":
            yield (
                f"{describe(facts, node.slice)} is a float: int({key}), or // in place of / where it is"
                " computed"
            )
        else:
            yield f"{text} is a {brief.type_name(value)} and {describe(facts, node.slice)} is not an int"
        return
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        if match[1] == "string":
            yield f"{facts.text_of(node.value, 50)} is a str here, not a dict"
            return


@hints.on(
    "TypeError",
    says=r"unhashable type: '([\w.]+)'",
)
def _unhashable(facts, match):
    kind = match[1]
    instead = {
        "list": "tuple(x)",
        "dict": "tuple(sorted(x.items())), or one of its values",
        "set": "frozenset(x)",
        "numpy.ndarray": "tuple(x)",
        "Series": "x.item() or tuple(x)",
        "DataFrame": "a column of it",
        "bytearray": "bytes(x)",
        "slice": "list(x)[a:b]; a dict has no slices",
    }.get(kind)
    where = ""
    for node in facts.nodes(ast.Subscript, ast.Set, ast.Dict, ast.Call, within=facts.statement):
        parts = (
            [node.slice]
            if isinstance(node, ast.Subscript)
            else (
                [k for k in node.keys if k]
                if isinstance(node, ast.Dict)
                else node.elts if isinstance(node, ast.Set) else node.args
            )
        )
        for part in parts:
            known, value = facts.try_value(part)
            if known and brief.exact(value, list, tuple) and isinstance(node, ast.Call):
                odd = [v for v in value[:1000] if brief.type_name(v) == kind]
                where = f"{facts.text_of(part, 50)} holds {kind}s, " if odd else where
            elif known and brief.type_name(value) == kind.rpartition(".")[2]:
                where = f"{facts.text_of(part, 50)} is a {kind}, "
            if where:
                break
        if where:
            break
    if instead:
        yield (
            f"{where or f'a {kind} was used '}as key or set item, which must not change: {instead}"
        )
