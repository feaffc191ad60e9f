"""TypeError: an object that is called, combined or indexed has an unexpected type."""

import ast
import types

from _reckon import brief, hints, hints_names

_type = type
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


def describe(facts, node, limit=60):
    """'price (str '12')' for an operand with a known value, 'f(x)' for another."""
    text = facts.text_of(node, 50)
    known, value = facts.try_value(node)
    if not known:
        return text
    if isinstance(node, ast.Constant):
        return f"{text} ({brief.type_name(value)})"
    shown = brief.brief(value, limit)
    kind = brief.type_name(value)
    return (
        f"{text} (None)"
        if value is None
        else f"{text} ({shown})" if shown.startswith(kind) else (f"{text} ({kind} {shown})")
    )


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def _advice(operator, left, right, texts):
    """Advice for two operands with known values."""
    for value, other, text, at in ((left, right, texts[0], 0), (right, left, texts[1], 1)):
        if value is None:
            return f"{text} is None"
        if _type(value) is str and _type(other) is str and operator in ("-", "*", "/", "//", "%"):
            if is_number(value) and is_number(other):
                return f"both are texts: float({texts[0]}) {operator} float({texts[1]}) computes"
            return "both are texts, which have no such operation"
        if _type(value) is list and _type(other) is str and operator == "*" and is_number(other):
            return f"int({texts[1 - at]}) makes a number of the text"
        if _type(value) is str and brief.exact(other, int, float):
            if operator == "+" and not is_number(value):
                return f"str({texts[1 - at]}) or an f-string makes text of the number"
            if is_number(value):
                return f"float({text}) or int({text}) makes a number of the text"
            return f"{text} is a text that is not a number: {brief.brief(value, 60)}"
        if (
            _type(value) is list
            and brief.exact(other, int, float)
            or (_type(value) is list and _type(other) is list and operator != "+")
        ):
            return f"np.array({text}) computes item by item, a list does not"
        if _type(value) is dict and operator == "+":
            return "dicts are joined by {**a, **b} or a | b"
        if brief.exact(value, types.FunctionType, types.MethodType, types.BuiltinFunctionType):
            return f"{text} is a function that was not called: {text}(…)"
    return ""


def _operation(facts):
    """The innermost failing operation, or None."""
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


@hints.on(
    "TypeError",
    says=r"unsupported operand|can only concatenate|must be str, not|not supported between|"
    r"can't multiply|unsupported format string|operation .* not supported|did not contain a"
    r" loop|Can only string multiply",
)
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
    line = (
        f"{describe(facts, first)} {operator if operator != '<' else 'is compared with'}"
        f" {describe(facts, second)}"
    )
    if known_left and known_right:
        advice = _advice(operator, left, right, texts)
        yield line + (f": {advice}" if advice else "")
        for value, text in ((left, texts[0]), (right, texts[1])):
            if operator in ("&", "|"):
                break
            inner = column_types(facts, value, text)
            dtype = brief.dtype_text(value.dtype) if brief.is_series(value) else ""
            if inner:
                yield f"{inner}: pd.to_numeric({text}, errors='coerce') makes numbers of it"
            elif dtype in ("str", "string"):
                yield (
                    f"{text} is a column of texts: pd.to_numeric({text}, errors='coerce') makes"
                    " numbers of it"
                )
    elif known_left or known_right:
        yield line
        for value, part in ((left, first), (right, second)):
            if (
                isinstance(part, ast.Call)
                and not facts.try_value(part)[0]
                and isinstance(part.func, ast.Name)
                and part.func.id == "input"
            ):
                yield "input() returns a str: int(input(…)) or float(input(…)) makes a number"


def _mixed(facts):
    """sorted(), max() and similar with items of several types; sum() of texts."""
    for node in facts.nodes(ast.Call):
        for argument in node.args[:2] or (
            [node.func.value] if isinstance(node.func, ast.Attribute) else []
        ):
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
                odd = (
                    next((v for v in value if brief.type_name(v) != kinds[0]), None)
                    if len(kinds) > 1
                    else None
                )
                if len(kinds) > 1:
                    yield (
                        f"{text} holds {' and '.join(kinds[:4])}: {brief.brief(odd, 40)} is"
                        f" {brief.type_name(odd)}"
                    )
                elif kinds and kinds[0] == "dict":
                    yield (
                        f"{text} holds dicts, which have no order: give a key, key=lambda d: d['…']"
                    )
                elif kinds and kinds[0] == "str" and getattr(node.func, "id", "") == "sum":
                    yield f"{text} holds texts: ''.join({text}), or sum(float(v) for v in {text})"
    for text, value in facts.receivers():
        if brief.is_series(value) and text:
            inner = column_types(facts, value, text)
            if inner:
                yield inner


# ---- arguments of builtins ------------------------------------------------------------------


@hints.on("TypeError", says=r"sequence item (\d+): expected str instance, (\w+) found")
def _join(facts, match):
    for node in facts.nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and node.args:
            text = facts.text_of(node.args[0], 40)
            yield (
                f"item {match[1]} of {text} is {match[2]}:"
                f" {facts.text_of(node.func.value, 20)}.join(map(str, {text}))"
            )
            return


@hints.on(
    "TypeError",
    says=(
        r"(?:float|int)\(\) argument must be a string.*not '([\w.]+)'|must be real number, not|"
        r"only (?:0-dimensional|integer scalar) arrays can be converted"
    ),
)
def _scalar(facts, match):
    for node in facts.nodes(ast.Call):
        known, function = facts.try_value(node.func)
        if not node.args:
            continue
        text, called = facts.text_of(node.args[0], 40), facts.text_of(node.func, 30)
        there, value = facts.try_value(node.args[0])
        if called.startswith("math.") and known and there and _type(value) is str:
            yield f"{describe(facts, node.args[0])} is a text" + (
                f": {called}(float({text}))" if is_number(value) else ""
            )
        elif called.startswith("math.") and known:
            yield (
                f"{called}() takes one number, {describe(facts, node.args[0])} is many:"
                f" np.{called[5:]}({text})"
            )
        elif (
            there
            and (brief.is_series(value) or brief.is_array(value))
            and called in ("int", "float")
        ):
            yield f"{text} is {brief.brief(value, 80)}: {text}.astype({called}) converts each item"
        elif there and value is None:
            yield from hints_names.why_none(facts, node.args[0])
        elif there and called in ("int", "float") and brief.exact(value, list, tuple):
            yield (
                f"{text} is {brief.typed(value, 80)}: [{called}(v) for v in {text}] converts each"
                " item"
            )
        elif there:
            yield f"{text} is {brief.typed(value, 100)}"
        else:
            continue
        return


@hints.on("TypeError", says=r"Object of type (\w+) is not JSON serializable")
def _json(facts, match):
    instead = {
        "int64": "int(x)",
        "int32": "int(x)",
        "float32": "float(x)",
        "float64": "float(x)",
        "ndarray": "x.tolist()",
        "Timestamp": "x.isoformat()",
        "datetime": "x.isoformat()",
        "date": "x.isoformat()",
        "DataFrame": "df.to_dict('records')",
        "Series": "s.tolist() or s.to_dict()",
        "set": "sorted(x)",
        "bool_": "bool(x)",
        "bool": "bool(x)",
        "Decimal": "float(x)",
        "bytes": "x.decode()",
        "Timedelta": "str(x)",
        "NAType": "None",
    }.get(match[1])
    path = ""
    for node in facts.nodes(ast.Call):
        for argument in node.args[:1]:
            known, value = facts.try_value(argument)
            if known:
                found = _find_kind(value, match[1])
                if found is not None:
                    path = f"{facts.text_of(argument, 40)}{found} is {match[1]}: "
    yield (
        f"{path}convert it"
        + (f" with {instead}" if instead else "")
        + ", or json.dumps(…, default=str)"
    )


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


@hints.on(
    "TypeError",
    says=(
        r"a bytes-like object is required, not 'str'|write\(\) argument must be (str), not"
        r" (\w+)|"
        r"string argument expected, got '(\w+)'|expected (?:string or )?bytes-like object(?:, got"
        r" '(\w+)')?"
    ),
)
def _bytes_or_text(facts, match):
    if "required, not 'str'" in facts.value:
        yield (
            "bytes are wanted and a str was given: text.encode(), or open the file in text mode"
            " ('w', not 'wb')"
        )
    elif match[1] == "str":
        yield (
            "write() of a text file takes a str: str(x)"
            if match[2] != "bytes"
            else "bytes were given: open the file in binary mode, open(path, 'wb'), or decode them"
        )
        if match[2] in ("dict", "list"):
            yield "json.dump(x, file) writes dicts and lists"
    elif match[3]:
        yield "text is wanted and bytes were given: io.BytesIO takes bytes, or .decode() them"
    elif "expected string or bytes-like object" in facts.value:
        for node in facts.nodes(ast.Call):
            for argument in node.args[1:3] or node.args[:1]:
                known, value = facts.try_value(argument)
                if known and not brief.exact(value, str, bytes):
                    text = facts.text_of(argument, 50)
                    yield f"{text} is {brief.typed(value, 80)}, not a text" + (
                        f": {text}.str.… works on a column"
                        if brief.is_series(value)
                        else f": str({text})"
                    )
                    return


@hints.on("TypeError", says=r"expected str, bytes or os.PathLike object, not (\w+)")
def _path(facts, match):
    for node in facts.nodes(ast.Call):
        for argument in node.args[:2]:
            known, value = facts.try_value(argument)
            if known and brief.type_name(value) == match[1]:
                yield (
                    f"{facts.text_of(argument, 50)} is {brief.typed(value, 80)}, where a path"
                    " belongs"
                )
                return


@hints.on(
    "TypeError",
    says=(
        r"can't compare offset-naive and offset-aware|can't subtract offset-naive and offset-aware|"
        r"Cannot (?:compare|subtract) tz-naive and tz-aware"
    ),
)
def _zones(facts, match):
    yield (
        "one has a time zone and the other has none: .replace(tzinfo=timezone.utc) or"
        " tz_localize('UTC') adds one, .replace(tzinfo=None) or tz_localize(None) removes it;"
        " of a column .dt.tz_localize"
    )
    node = _operation(facts)
    if node is not None:
        first, second, _ = _sides(node)
        yield f"{describe(facts, first)} and {describe(facts, second)}"


@hints.on(
    "TypeError",
    says=(
        r"Invalid comparison between dtype=(\S+) and (\w+)|'[<>]=?' not supported between"
        r" instances of "
        r"'(?:datetime|Timestamp|date)"
    ),
)
def _dates(facts, match):
    if match[2] == "DatetimeArray":
        yield (
            "one column has a time zone and the other has none: .dt.tz_localize('UTC') adds one,"
            " .dt.tz_localize(None) removes it"
        )
        return
    if "'datetime.date'" in facts.value:
        yield (
            "a date is compared with another type: date.fromisoformat('2024-01-31') makes a date of"
            " a text, .date() one of a datetime"
        )
        return
    yield (
        "a date is compared with another type: pd.Timestamp('2024-01-31') on one side, or "
        "pd.to_datetime(column) on the other"
    )


@hints.on("TypeError", says=r"object (\w+) can't be used in 'await' expression|'coroutine' object")
def _await(facts, match):
    if match[1]:
        yield f"what stands after await is not a coroutine but {match[1]}: leave await away"
    else:
        yield "an async function was called without await: write await in front of the call"


@hints.on(
    "TypeError",
    says=r"^'(\w+)' object cannot be interpreted as an integer",
)
def _integer(facts, match):
    if match[1]:
        for node in facts.nodes(ast.Call):
            for argument in node.args:
                known, value = facts.try_value(argument)
                text = facts.text_of(argument, 50)
                if known and brief.type_name(value) == match[1]:
                    yield f"{text} is {brief.typed(value, 60)}, where an int belongs" + (
                        f": len({text})"
                        if brief.exact(value, list, tuple, dict)
                        else f": int({text})"
                    )
                    return
                if (
                    match[1] == "float"
                    and isinstance(argument, ast.BinOp)
                    and isinstance(argument.op, ast.Div)
                ):
                    yield f"{text} is a float: // divides to an int"
                    return
