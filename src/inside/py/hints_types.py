"""TypeError: what was called, combined or looked into is of another type than the code thinks."""

import ast
import builtins
import re
import sys
import types

from _reckon import brief, case, hints, hints_names, hints_tables

_type = type
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
              ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


def said(facts, node, limit=60):
    """'price (str '12')' of an operand whose value is known, 'f(x)' of another."""
    text = facts.text_of(node, 50)
    known, value = facts.try_value(node)
    if not known:
        return text
    if isinstance(node, ast.Constant):
        return f"{text} ({brief.type_name(value)})"
    shown = brief.brief(value, limit)
    kind = brief.type_name(value)
    return f"{text} (None)" if value is None else f"{text} ({shown})" if shown.startswith(kind) else (
        f"{text} ({kind} {shown})")


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def _advice(operator, left, right, texts):
    """What to do about two operands of known values."""
    for value, other, text, at in ((left, right, texts[0], 0), (right, left, texts[1], 1)):
        if value is None:
            return f"{text} is None"
        if _type(value) is str and brief.exact(other, int, float):
            if operator == "+" and not is_number(value):
                return f"str({texts[1 - at]}) or an f-string makes text of the number"
            if is_number(value):
                return f"float({text}) or int({text}) makes a number of the text"
            return f"{text} is a text that is no number: {brief.brief(value, 60)}"
        if _type(value) is list and brief.exact(other, int, float) or (
                _type(value) is list and _type(other) is list and operator != "+"):
            return f"np.array({text}) computes item by item, a list does not"
        if _type(value) is dict and operator == "+":
            return "dicts are joined by {**a, **b} or a | b"
        if brief.exact(value, types.FunctionType, types.MethodType, types.BuiltinFunctionType):
            return f"{text} is a function that was not called: {text}(…)"
    return ""


def _operation(facts):
    """The innermost operation at which it failed, or None."""
    if facts.places and facts.places[-1] is not facts.user and isinstance(facts.node, ast.Call):
        return None
    node = facts.node
    if isinstance(node, (ast.BinOp, ast.Compare)):
        return node
    statement = facts.statement
    if isinstance(statement, ast.AugAssign):
        return statement
    return None


def _sides(node):
    if isinstance(node, ast.BinOp):
        return node.left, node.right, _OPERATORS.get(_type(node.op), "?")
    if isinstance(node, ast.AugAssign):
        return node.target, node.value, _OPERATORS.get(_type(node.op), "?")
    return node.left, node.comparators[0], "<"


def column_types(facts, value, text):
    """'df['a'] holds str and float' for a Series of objects."""
    if not brief.is_series(value) or brief.dtype_text(value.dtype) != "object":
        return ""
    kinds = list(dict.fromkeys(brief.type_name(v) for v in list(value.iloc[:2000])))
    return f"{text} holds {' and '.join(kinds[:4])}"


@hints.on("TypeError", says=r"unsupported operand|can only concatenate|must be str, not|not supported between|"
          r"can't multiply|unsupported format string|operation .* not supported|did not contain a loop|cannot perform|Can only string multiply")
def _operands(facts, match):
    node = _operation(facts)
    if "'coroutine'" in facts.value:
        yield "an async function was called without await: write await in front of the call"
        return
    if node is None:
        yield from _mixed(facts)
        return
    first, second, operator = _sides(node)
    known_left, left = facts.try_value(first)
    known_right, right = facts.try_value(second)
    texts = facts.text_of(first, 40), facts.text_of(second, 40)
    line = f"{said(facts, first)} {operator if operator != '<' else 'is compared with'} {said(facts, second)}"
    if known_left and known_right:
        advice = _advice(operator, left, right, texts)
        yield line + (f": {advice}" if advice else "")
        for value, text in ((left, texts[0]), (right, texts[1])):
            inner = column_types(facts, value, text)
            dtype = brief.dtype_text(value.dtype) if brief.is_series(value) else ""
            if inner:
                yield f"{inner}: pd.to_numeric({text}, errors='coerce') makes numbers of it"
            elif dtype in ("str", "string"):
                yield f"{text} is a column of texts: pd.to_numeric({text}, errors='coerce') makes numbers of it"
    elif known_left or known_right:
        yield line
        for value, part in ((left, first), (right, second)):
            if isinstance(part, ast.Call) and not facts.try_value(part)[0] and isinstance(
                    part.func, ast.Name) and part.func.id == "input":
                yield "input() returns a str: int(input(…)) or float(input(…)) makes a number"


def _mixed(facts):
    """sorted(), max() and the like over items of several types; sum() over texts."""
    for node in facts.nodes(ast.Call):
        for argument in node.args[:2] or ([node.func.value] if isinstance(node.func, ast.Attribute) else []):
            known, value = facts.try_value(argument)
            if not known:
                continue
            text = facts.text_of(argument, 50)
            if brief.is_series(value):
                inner = column_types(facts, value, text)
                if inner:
                    yield inner
                continue
            if _type(value) is dict:
                value = list(value.values())[:2000]
            if brief.exact(value, list, tuple, set):
                kinds = list(dict.fromkeys(brief.type_name(v) for v in list(value)[:2000]))
                odd = next((v for v in value if brief.type_name(v) != kinds[0]), None) if len(kinds) > 1 else None
                if len(kinds) > 1:
                    yield f"{text} holds {' and '.join(kinds[:4])}: {brief.brief(odd, 40)} is {brief.type_name(odd)}"
                elif kinds and kinds[0] == "dict":
                    yield f"{text} holds dicts, which have no order: give a key, key=lambda d: d['…']"
                elif kinds and kinds[0] == "str" and getattr(node.func, "id", "") == "sum":
                    yield f"{text} holds texts: ''.join({text}), or sum(float(v) for v in {text})"
    for text, value in facts.receivers():
        if brief.is_series(value) and text:
            inner = column_types(facts, value, text)
            if inner:
                yield inner


# ---- calls ----------------------------------------------------------------------------------

def _call(facts):
    """(node, function) of the call at which it failed."""
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
    """The function that the message names, from the frame it was called in."""
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


@hints.on("TypeError", says=r"^(?:([\w.<>]+)\(\) )?(missing \d+ required|takes |got an unexpected keyword argument '(\w+)'|got multiple values)")
def _arguments(facts, match):
    node, function = _call(facts)
    name = match[1] or (function.__name__ if _type(function) is types.FunctionType else "")
    short = name.removesuffix(".__init__").rpartition(".")[2]
    if function is None or (brief.is_a(function, type) is False and getattr(
            function, "__name__", None) != short and "__init__" not in name):
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
    given = re.search(r"takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given", facts.value)
    if given and _type(function) is types.FunctionType:
        code = function.__code__
        first = code.co_varnames[:1]
        is_method = "." in name and "<locals>" not in name.rpartition(".")[0].rpartition(".")[2] and first != ("self",)
        if is_method and int(given[2]) == int(given[1]) + 1:
            yield (f"{name}() was called as a method, which gives it the object first: write def "
                   f"{short}(self{', …' if int(given[1]) else ''})")
    if shown and len(shown) < 400:
        yield f"its signature: {brief.one_line(shown, 380)}"
    if "missing" in match[2] and function is not None and node is not None and isinstance(
            node.func, ast.Attribute):
        known, owner = facts.try_value(node.func.value)
        if known and brief.is_a(owner, type) and "'self'" in facts.value:
            yield f"{brief.class_name(owner)} is the class: make an object first, {brief.class_name(owner)}(…).{short}(…)"


@hints.on("TypeError", says=r"^(\w+)\(\) (?:takes no arguments|takes no keyword arguments)|(\w+)\(\) takes no arguments")
def _no_arguments(facts, match):
    node, function = _call(facts)
    if function is not None and brief.is_a(function, type):
        name = brief.class_name(function)
        wrong = [n for n in brief.attribute_names_of(function) if n.strip("_") == "init" and n != "__init__"]
        yield f"class {name} has no __init__ that takes arguments" + (
            f"; it has {wrong[0]}: the name is __init__, with two underscores on both sides" if wrong else "")


@hints.on("TypeError", says=r"'([\w.]+)' object is not callable")
def _not_callable(facts, match):
    node = facts.node if isinstance(facts.node, ast.Call) else next(iter(facts.nodes(ast.Call)), None)
    if node is None:
        return
    function = node.func
    text = facts.text_of(function, 50)
    known, value = facts.try_value(function)
    if isinstance(function, ast.Name) and known:
        if hasattr(builtins, function.id) and value is not builtins.__dict__.get(function.id):
            found = facts.assigned(function.id)
            at = f" (assigned at {hints.place_text(facts, found[0], found[1])})" if found else ""
            yield (f"{function.id} is {brief.typed(value, 60)} here{at}, which hides the builtin {function.id}(): "
                   f"del {function.id}, and use another name")
            return
        if brief.is_frame(value) or brief.exact(value, dict, list, tuple):
            arguments = ", ".join(facts.text_of(a, 30) for a in node.args)
            yield f"{text} is a {brief.type_name(value)}: items are read with brackets, {text}[{arguments}]"
            return
    if known and _type(value) is types.ModuleType:
        name = value.__dict__.get("__name__", "").rpartition(".")[2]
        if callable(value.__dict__.get(name)):
            yield f"{text} is the module: from {value.__name__} import {name}"
        else:
            yield f"{text} is a module, call one of its functions: {hints.listing(_functions(value), 200)}"
        return
    if isinstance(function, ast.Attribute):
        there, owner = facts.try_value(function.value)
        inner = facts.text_of(function.value, 40)
        if there and _type(owner) is types.ModuleType and known and owner.__name__ in sys.modules:
            yield (f"{text} was set to {brief.typed(value, 60)} in this session; import importlib, then "
                   f"importlib.reload({inner})")
            return
        if there and (brief.is_frame(owner) or brief.is_series(owner) or brief.is_array(owner)) and (
                brief.has_attribute(_type(owner), function.attr)) and not callable(
                brief.class_attribute(_type(owner), function.attr)) and match[1] not in ("Series",):
            yield f"{text} is a value, not a method: leave the () away"
            return
        if there and brief.is_frame(owner) and match[1] == "Series":
            yield f"{text} is a column of {inner}, not a method"
            return
    if isinstance(function, (ast.Constant, ast.Tuple, ast.List, ast.BinOp)):
        yield f"{text} is followed by (: an operator or a comma is missing between them"
    elif known:
        yield f"{text} is {brief.typed(value, 80)}"


def _functions(module):
    return [n for n in list(module.__dict__) if _type(n) is str and not n.startswith("_")][:30]


# ---- looking into, iterating ----------------------------------------------------------------

def _uncalled(value):
    return brief.exact(value, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


@hints.on("TypeError", says=r"'([\w.]+)' object (?:is not subscriptable|does not support item assignment)")
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
                yield f"{text} is a str, which cannot be changed: make a new one, {text}.replace(…) or slices"
            else:
                yield f"{text} is {brief.typed(value, 100)}"
            return
        if not known and match[1] == "method" or "function" in match[1]:
            yield f"{text} is a method that was not called: {text}()"
            return
        if match[1] == "NoneType" and not known and node is facts.node:
            yield from hints_names.why_none(facts, node.value)
            return
        if match[1] in ("set", "dict_keys", "dict_values", "dict_items", "map", "zip", "filter", "generator",
                        "enumerate") and not known and node is facts.node:
            yield f"{text} cannot be indexed: list({text})"
            return


@hints.on("TypeError", says=r"(?:cannot unpack non-iterable |')([\w.]+)'? object(?: is not (?:iterable|an iterator))?$")
def _not_iterable(facts, match):
    kind = match[1].rpartition(".")[2]
    if "iterable" not in facts.value and "iterator" not in facts.value:
        return
    statement = facts.statement
    parts = [getattr(statement, "iter", None), *[g.iter for g in facts.nodes(ast.comprehension)]]
    parts += [facts.node, *(a for n in facts.nodes(ast.Call) for a in n.args), getattr(statement, "value", None)]
    parts += [n.comparators[0] for n in facts.nodes(ast.Compare)]
    for node in parts:
        if node is None or not isinstance(node, ast.expr):
            continue
        if "unpack" in facts.value and node is not getattr(statement, "value", None):
            known, value = facts.try_value(node)
            if known and brief.exact(value, list, tuple) and any(brief.type_name(v) == kind for v in value[:1000]):
                text = facts.text_of(node, 50)
                yield f"the items of {text} are single values ({kind}): enumerate({text}) gives pairs of number and item"
                return
        known, value = facts.try_value(node)
        text = facts.text_of(node, 50)
        if not known or brief.type_name(value) != kind:
            continue
        if value is None:
            yield from hints_names.why_none(facts, node)
        elif brief.exact(value, int, float) and "unpack" not in facts.value:
            yield f"{text} is {brief.typed(value, 40)}" + (f": range({text}) counts up to it" if _type(value) is int else "")
        elif _uncalled(value):
            yield f"{text} is a function: call it, {text}()"
        elif "iterator" in facts.value:
            yield f"{text} is {brief.typed(value, 60)}: iter({text}) makes an iterator of it"
        else:
            yield f"{text} is {brief.typed(value, 80)}"
        return
    if kind == "NoneType" and isinstance(getattr(statement, "value", None), ast.Call) and "unpack" in facts.value:
        yield from hints_names.why_none(facts, statement.value)


@hints.on("TypeError", says=r"argument of type '(\w+)' is not iterable|argument of type '(\w+)' is not a container")
def _not_container(facts, match):
    for node in facts.nodes(ast.Compare, within=facts.statement):
        yield f"in: {said(facts, node.comparators[0], 80)} holds nothing to look in"
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
                yield f"{said(facts, node.args[0])} is one number: len(str({text})) counts its digits"
            elif known:
                yield f"{text} is {brief.typed(value, 80)}"
            return


@hints.on("TypeError", says=r"(list|tuple|string|byte|range object|str) indices must be integers(?: or slices)?, not '?(\w+)")
def _indices(facts, match):
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        known, value = facts.try_value(node.value)
        text, key = facts.text_of(node.value, 50), facts.text_of(node.slice, 40)
        if not known or not brief.exact(value, list, tuple, str, bytes, range):
            continue
        inner = value[0] if len(value) and brief.exact(value, list, tuple) else None
        if match[2] == "str" and _type(inner) is dict:
            there, name = facts.try_value(node.slice)
            yield (f"{text} is a {brief.type_name(value)} of {len(value)} dicts: {text}[0][{key}], or "
                   f"[row[{key}] for row in {text}]"
                   + ("" if not there or name in inner else f"; the first has the keys {hints.listing(list(inner), 150)}"))
        elif _type(value) is str:
            start = value.lstrip()[:1]
            yield f"{text} is a str: {brief.brief(value, 70)}" + (
                f"; json.loads({text}) makes a value of JSON" if start in "{[" and start else "")
        elif match[2] == "tuple":
            yield f"{text} is a {brief.type_name(value)}: {text}[i][j], or np.array({text})[i, j]"
        elif match[2] == "float":
            yield f"{said(facts, node.slice)} is a float: int({key}), or // in place of / where it is computed"
        else:
            yield f"{text} is a {brief.type_name(value)} and {said(facts, node.slice)} is no int"
        return
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        if match[1] in ("string", "str"):
            yield f"{facts.text_of(node.value, 50)} is a str here, not a dict"
            return


@hints.on("TypeError", says=r"unhashable type: '([\w.]+)'|cannot use '([\w.]+)' as a (?:dict key|set element)")
def _unhashable(facts, match):
    kind = match[1] or match[2]
    instead = {"list": "tuple(x)", "dict": "tuple(sorted(x.items())), or one of its values", "set": "frozenset(x)",
               "numpy.ndarray": "tuple(x)", "Series": "x.item() or tuple(x)", "DataFrame": "a column of it",
               "bytearray": "bytes(x)", "slice": "list(x)[a:b]; a dict has no slices"}.get(kind)
    where = ""
    for node in facts.nodes(ast.Subscript, ast.Set, ast.Dict, ast.Call, within=facts.statement):
        parts = [node.slice] if isinstance(node, ast.Subscript) else [k for k in node.keys if k] if isinstance(
            node, ast.Dict) else node.elts if isinstance(node, ast.Set) else node.args
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
        yield f"{where or f'a {kind} was used '}as key or set item, which must not change: {instead}"


# ---- arguments of builtins ------------------------------------------------------------------

@hints.on("TypeError", says=r"sequence item (\d+): expected str instance, (\w+) found")
def _join(facts, match):
    for node in facts.nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and node.args:
            text = facts.text_of(node.args[0], 40)
            yield f"item {match[1]} of {text} is {match[2]}: {facts.text_of(node.func.value, 20)}.join(map(str, {text}))"
            return


@hints.on("TypeError", says=r"(?:float|int)\(\) argument must be a string.*not '([\w.]+)'|cannot convert the series to|"
          r"must be real number, not|only (?:length-1|0-dimensional|integer scalar) arrays can be converted|only size-1 arrays")
def _scalar(facts, match):
    for node in facts.nodes(ast.Call):
        known, function = facts.try_value(node.func)
        if not node.args:
            continue
        text, called = facts.text_of(node.args[0], 40), facts.text_of(node.func, 30)
        there, value = facts.try_value(node.args[0])
        if called.startswith("math.") and known:
            yield f"{called}() takes one number, {said(facts, node.args[0])} is many: np.{called[5:]}({text})"
        elif there and (brief.is_series(value) or brief.is_array(value)) and called in ("int", "float"):
            yield f"{text} is {brief.brief(value, 80)}: {text}.astype({called}) converts each item"
        elif there and value is None:
            yield from hints_names.why_none(facts, node.args[0])
        elif there and called in ("int", "float") and brief.exact(value, list, tuple):
            yield f"{text} is {brief.typed(value, 80)}: [{called}(v) for v in {text}] converts each item"
        elif there:
            yield f"{text} is {brief.typed(value, 100)}"
        else:
            continue
        return


@hints.on("TypeError", says=r"Object of type (\w+) is not JSON serializable")
def _json(facts, match):
    instead = {"int64": "int(x)", "int32": "int(x)", "float32": "float(x)", "float64": "float(x)", "ndarray":
               "x.tolist()", "Timestamp": "x.isoformat()", "datetime": "x.isoformat()", "date": "x.isoformat()",
               "DataFrame": "df.to_dict('records')", "Series": "s.tolist() or s.to_dict()", "set": "sorted(x)",
               "bool_": "bool(x)", "bool": "bool(x)", "Decimal": "float(x)", "bytes": "x.decode()",
               "Timedelta": "str(x)", "NAType": "None"}.get(match[1])
    path = ""
    for node in facts.nodes(ast.Call):
        for argument in node.args[:1]:
            known, value = facts.try_value(argument)
            if known:
                found = _find_kind(value, match[1])
                if found is not None:
                    path = f"{facts.text_of(argument, 40)}{found} is {match[1]}: "
    yield f"{path}convert it" + (f" with {instead}" if instead else "") + ", or json.dumps(…, default=str)"


def _find_kind(value, kind):
    """The path to a value of a type in nested dicts and lists."""
    pending, steps = [("", value)], 0
    while pending and steps < 3000:
        steps += 1
        path, item = pending.pop(0)
        if brief.type_name(item) == kind:
            return path
        if _type(item) is dict:
            pending += [(f"{path}[{brief.brief(k, 30)}]", v) for k, v in list(item.items())[:200]]
        elif brief.exact(item, list, tuple):
            pending += [(f"{path}[{at}]", v) for at, v in enumerate(item[:200])]
    return None


@hints.on("TypeError", says=r"a bytes-like object is required, not 'str'|write\(\) argument must be (str|bytes), not (\w+)|"
          r"string argument expected, got '(\w+)'|expected (?:string or )?bytes-like object(?:, got '(\w+)')?")
def _bytes_or_text(facts, match):
    if "required, not 'str'" in facts.value:
        yield "bytes are wanted and a str was given: text.encode(), or open the file in text mode ('w', not 'wb')"
    elif match[1] == "str":
        yield ("write() of a text file takes a str: str(x)" if match[2] != "bytes" else
               "bytes were given: open the file in binary mode, open(path, 'wb'), or decode them")
        if match[2] in ("dict", "list"):
            yield "json.dump(x, file) writes dicts and lists"
    elif "expected string or bytes-like object" in facts.value:
        for node in facts.nodes(ast.Call):
            for argument in node.args[1:3] or node.args[:1]:
                known, value = facts.try_value(argument)
                if known and not brief.exact(value, str, bytes):
                    text = facts.text_of(argument, 50)
                    yield f"{text} is {brief.typed(value, 80)}, not a text" + (
                        f": {text}.str.… works on a column" if brief.is_series(value) else f": str({text})")
                    return


@hints.on("TypeError", says=r"expected str, bytes or os.PathLike object, not (\w+)")
def _path(facts, match):
    for node in facts.nodes(ast.Call):
        for argument in node.args[:2]:
            known, value = facts.try_value(argument)
            if known and brief.type_name(value) == match[1]:
                yield f"{facts.text_of(argument, 50)} is {brief.typed(value, 80)}, where a path belongs"
                return


@hints.on("TypeError", says=r"can't compare offset-naive and offset-aware|can't subtract offset-naive and offset-aware|"
          r"Cannot (?:compare|subtract) tz-naive and tz-aware")
def _zones(facts, match):
    yield ("one has a time zone and the other has none: .replace(tzinfo=timezone.utc) or tz_localize('UTC') adds one, "
           ".replace(tzinfo=None) or tz_localize(None) removes it")
    node = _operation(facts)
    if node is not None:
        first, second, _ = _sides(node)
        yield f"{said(facts, first)} and {said(facts, second)}"


@hints.on("TypeError", says=r"Invalid comparison between dtype=(\S+) and (\w+)|'[<>]=?' not supported between instances of "
          r"'(?:datetime|Timestamp|date)")
def _dates(facts, match):
    yield ("a date is compared with another type: pd.Timestamp('2024-01-31') on one side, or "
           "pd.to_datetime(column) on the other")


@hints.on("TypeError", says=r"object (\w+) can't be used in 'await' expression|'coroutine' object")
def _await(facts, match):
    if match[1]:
        yield f"what stands after await is no coroutine but {match[1]}: leave await away"
    else:
        yield "an async function was called without await: write await in front of the call"


@hints.on("TypeError", says=r"(?:object|type) '?[\w.]+'? ?(?:is|are) not (?:callable|supported)|^'(\w+)' object cannot be interpreted as an integer")
def _integer(facts, match):
    if match[1]:
        for node in facts.nodes(ast.Call):
            for argument in node.args:
                known, value = facts.try_value(argument)
                text = facts.text_of(argument, 50)
                if known and brief.type_name(value) == match[1]:
                    yield f"{text} is {brief.typed(value, 60)}, where an int belongs" + (
                        f": len({text})" if brief.exact(value, list, tuple, dict) else f": int({text})")
                    return
                if match[1] == "float" and isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Div):
                    yield f"{text} is a float: // divides to an int"
                    return
