"""ValueError and similar errors of plain Python: values of the right type that are still wrong."""

import ast

from _reckon import brief, case, hints, hints_types

_type = type


@hints.on(
    "ValueError",
    says=(
        r"too many values to unpack \(expected (\d+)\)|not enough values to unpack \(expected (?:at"
        r" least )?(\d+), got (\d+)\)"
    ),
)
def _unpack(facts, match):
    wanted = match[1] or match[2]
    statement = facts.statement
    nodes = [
        getattr(statement, "iter", None),
        *[g.iter for g in facts.nodes(ast.comprehension, within=statement)],
        getattr(statement, "value", None),
    ]
    for at, node in enumerate(nodes):
        if node is None:
            continue
        is_loop = at == 0 or node is not nodes[-1]
        known, value = facts.try_value(node)
        text = facts.text_of(node, 50)
        if known and is_loop and _type(value) is dict:
            yield f"a loop over the dict {text} gives its keys: {text}.items() gives pairs"
        elif known and is_loop and brief.exact(value, list, tuple) and value:
            odd = next(
                (v for v in value[:2000] if not case.sized(v) or len(v) != int(wanted)), value[0]
            )
            yield (
                f"an item of {text} is {brief.typed(odd, 80)}, and {wanted} names are on the left"
                + (
                    f": enumerate({text}) counts them"
                    if wanted == "2" and not case.sized(odd)
                    else ""
                )
            )
        elif known and is_loop and brief.is_frame(value):
            yield (
                f"a loop over the DataFrame {text} gives column names: {text}.iterrows() or"
                " .itertuples() gives rows"
            )
        elif known and case.sized(value):
            yield (
                f"{text} has {len(value)} values, {wanted} names are on the left:"
                f" {brief.brief(value, 100)}"
            )
        elif isinstance(node, ast.Call):
            there, function = facts.try_value(node.func)
            got = f"{match[3]} values" if match[3] else "more values"
            yield (
                f"{text} gives {got} than there are names ({wanted})"
                if not match[3]
                else (f"{text} gives {got}, and there are {wanted} names")
            )
        else:
            continue
        return


@hints.on(
    "ValueError",
    says=r"is not in (?:list|deque)|x not in (?:list|tuple)|substring not found|subsection not found",
)
def _not_in(facts, match):
    for node in facts.nodes(ast.Call):
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("index", "remove", "rindex")
            and node.args
        ):
            known, value = facts.try_value(node.func.value)
            if not known:
                continue
            there, wanted = facts.try_value(node.args[0])
            shown = facts.text_of(node.func.value, 40)
            found = (
                hints.near(wanted, list(value)) if there and brief.exact(value, list, tuple) else []
            )
            yield (
                f"{shown} is {brief.brief(value, 150)}"
                + (f"; it has {hints.one_of(found)}" if found else "")
                + (
                    f"; {shown}.find(…) gives -1 in place of an error"
                    if brief.exact(value, str, bytes)
                    else ""
                )
            )
            return


@hints.on(
    "ValueError",
    "IndexError",
    says=(
        r"(min|max)\(\) arg is an empty sequence|zero-size array to reduction|"
        r"empty range|Cannot choose from an empty|attempt to get arg(?:max|min) of an empty"
    ),
)
def _empty(facts, match):
    for node in facts.nodes(ast.Call):
        for argument in [
            *node.args,
            *([node.func.value] if isinstance(node.func, ast.Attribute) else []),
        ]:
            known, value = facts.try_value(argument)
            if known and case.sized(value) and len(value) == 0:
                name = match[1] or "the function"
                yield f"{facts.text_of(argument, 50)} is empty" + (
                    f"; {name}(…, default=0) does not raise" if match[1] else ""
                )
                return
    if match[1]:
        yield f"what {match[1]}() was given has no items; {match[1]}(…, default=0) does not raise"


@hints.on(
    "ValueError",
    "StatisticsError",
    says=(
        r"math domain error|requires at least (?:one|two) data points?|must be in the range"
    ),
)
def _domain(facts, match):
    for node in facts.nodes(ast.Call):
        if node.args:
            name = facts.text_of(node.func, 40)
            known, value = facts.try_value(node.args[0])
            if known and "data point" in facts.value:
                yield f"{facts.text_of(node.args[0], 50)} is {brief.typed(value, 80)}"
            elif known and name.endswith(("log", "log10", "log2")):
                yield (
                    f"{name}({facts.text_of(node.args[0], 40)}) with {brief.brief(value, 40)}: a"
                    " logarithm is of numbers above 0"
                )
            elif known and name.endswith("sqrt"):
                yield (
                    f"{name}({facts.text_of(node.args[0], 40)}) with {brief.brief(value, 40)}:"
                    " cmath.sqrt takes negative numbers"
                )
            elif known:
                yield f"{facts.text_of(node.args[0], 40)} is {brief.brief(value, 60)}"
            else:
                continue
            return


@hints.on(
    "ValueError",
    "ProgrammingError",
    says=(
        r"I/O operation on closed file|Cannot operate on a closed|seek of closed file|read of"
        r" closed file"
    ),
)
def _closed(facts, match):
    for node in facts.nodes(ast.Call, within=facts.statement):
        if isinstance(node.func, ast.Attribute):
            text = facts.text_of(node.func.value, 40)
            if "operate" in match[0]:
                yield f"{text} was closed before this line: connect again"
                return
            yield (
                f"{text} was closed before this line; a with block closes its file at its end: do"
                " the work inside, or open it again"
            )
            return


@hints.on("ValueError", says=r"Exceeds the limit \((\d+) digits\)")
def _digits(facts, match):
    yield (
        f"import sys; sys.set_int_max_str_digits(0) lets ints of more than {match[1]} digits become"
        " text; x.bit_length() or len of parts of it needs no text"
    )


@hints.on(
    "ValueError",
    says=(
        r"Sample larger than population|larger sample than population"
    ),
)
def _sample(facts, match):
    if "arger" in match[0] and "ample" in match[0]:
        for node in facts.nodes(ast.Call):
            for argument in [
                *node.args,
                *([node.func.value] if isinstance(node.func, ast.Attribute) else []),
            ]:
                known, value = facts.try_value(argument)
                if known and case.sized(value) and _type(value) is not str:
                    yield (
                        f"{facts.text_of(argument, 40)} has only {len(value)} items; with"
                        " replacement: random.choices, or replace=True"
                    )
                    return


@hints.on("ZeroDivisionError")
def _zero(facts):
    node = (
        facts.node
        if isinstance(facts.node, ast.BinOp)
        else next(iter(facts.nodes(ast.BinOp)), None)
    )
    right = (
        node.right
        if node is not None
        else (
            getattr(facts.statement, "value", None)
            if isinstance(facts.statement, ast.AugAssign)
            else None
        )
    )
    if right is None:
        return
    text = facts.text_of(right, 60)
    known, value = facts.try_value(right)
    if isinstance(right, ast.Call) and getattr(right.func, "id", "") == "len" and right.args:
        yield f"{facts.text_of(right.args[0], 50)} is empty, so {text} is 0"
    elif isinstance(right, ast.Constant):
        yield "the divisor is the constant 0"
    elif known:
        yield f"{text} is {brief.brief(value, 40)} here: test it before the division"
    else:
        parts = [n for n in ast.walk(right) if isinstance(n, (ast.Name, ast.Attribute))]
        values = [
            f"{facts.text_of(n, 30)} = {brief.brief(facts.try_value(n)[1], 30)}"
            for n in parts
            if brief.exact(facts.try_value(n)[1], int, float)
        ]
        yield f"{text} is 0 here" + (f" ({', '.join(values)})" if values else "")


@hints.on("OverflowError")
def _overflow(facts):
    for node in facts.nodes(ast.Call):
        if node.args:
            known, value = facts.try_value(node.args[0])
            name = facts.text_of(node.func, 40)
            if known and name.startswith("math."):
                yield (
                    f"{name}({facts.text_of(node.args[0], 40)}) with {brief.brief(value, 40)} is"
                    " larger than a float can be (1.8e308)"
                    + ("; np.exp gives inf in place of an error" if name == "math.exp" else "")
                )
                return
    if "too large to convert to float" in facts.value:
        yield (
            "an int is larger than a float can be (1.8e308): use // in place of /, or"
            " decimal.Decimal"
        )
    elif "Result too large" in facts.value or "34" in facts.value:
        yield (
            "the result is larger than a float can be (1.8e308): compute with ints or with"
            " decimal.Decimal"
        )


@hints.on("StopIteration")
def _stop(facts):
    for node in facts.nodes(ast.Call):
        if getattr(node.func, "id", "") == "next" and node.args:
            yield (
                f"{facts.text_of(node.args[0], 50)} has no more items;"
                f" next({facts.text_of(node.args[0], 50)}, None) does not raise"
            )
            return


@hints.on("AssertionError")
def _assertion(facts):
    statement = facts.statement
    if not isinstance(statement, ast.Assert):
        return
    test = statement.test
    if isinstance(test, ast.Tuple):
        return
    if isinstance(test, ast.Compare):
        parts = []
        for node in [test.left, *test.comparators]:
            if isinstance(node, ast.Constant):
                continue
            known, value = facts.try_value(node)
            if known:
                parts.append(f"{facts.text_of(node, 50)} is {brief.brief(value, 120)}")
        if parts:
            yield "; ".join(parts)
    else:
        known, value = facts.try_value(test)
        if known:
            yield f"{facts.text_of(test, 60)} is {brief.brief(value, 100)}"


@hints.on(
    "ValueError",
    says=(
        r"could not convert string to float: '?(.*?)'?$|invalid literal for int\(\) with base"
        r" (\d+): '?(.*?)'?$"
    ),
)
def _number(facts, match):
    text = match[1] if match[1] is not None else match[3]
    text = text.strip("'\"")
    called = facts.called()
    column_hints = list(_columns_of_texts(facts)) if called is not None else []
    yield from column_hints
    stripped = text.strip().replace(",", "").lstrip("$€£").rstrip("%€ ").strip()
    shown = brief.brief(text, 50)
    if not text.strip():
        yield (
            f"the text is empty{'' if not text else ' but for white space'}: skip it, or count it"
            " as 0 or NaN"
        )
    elif match[1] is None and hints_types.is_number(text) and match[2] == "10":
        yield f"{shown} is not a whole number: int(float(text)) cuts its fraction off"
    elif (
        "," in text
        and any(len(part.partition(".")[0]) != 3 for part in text.strip().split(",")[1:])
        and (hints_types.is_number(text.replace(",", ".")))
    ):
        yield f"{shown} has a decimal comma: text.replace(',', '.')"
    elif stripped != text.strip() and hints_types.is_number(stripped):
        yield (
            f"{shown} has signs that are no digits: float(text.replace(',', '').strip('$€£% '))"
            f" gives {stripped}"
        )
    elif not column_hints and not facts.is_fixed:
        yield (
            f"{shown} is not a number; in a column, pd.to_numeric(column, errors='coerce') makes NaN"
            " of such texts"
        )


def bad_numbers(value):
    """Texts in a column that are not numbers: (examples, how many, how many were checked)."""
    seen, bad = 0, {}
    count = 0
    for item in list(value.iloc[:5000]):
        seen += 1
        if _type(item) is str and not hints_types.is_number(item):
            count += 1
            if len(bad) < 6:
                bad[item] = None
    return list(bad), count, seen


def _columns_of_texts(facts):
    """The column that is converted, or the text columns of a table that was passed to a model."""
    found = False
    for text, value in facts.receivers():
        if brief.is_series(value) and brief.dtype_text(value.dtype) in ("str", "object", "string"):
            bad, count, seen = bad_numbers(value)
            if bad and count < seen:
                found = True
                yield (
                    f"{text or f'the column {brief.brief(value.name, 40)}'}: {count} of {seen}"
                    f" values are not numbers: {hints.listing(bad, 150)}; pd.to_numeric(…,"
                    " errors='coerce') makes NaN of them"
                )
                break
    if found or facts.is_fixed:
        return
    for text, value in facts.receivers():
        if brief.is_frame(value):
            names = [
                c
                for c, d in zip(brief.labels(value.columns), list(value.dtypes)[: brief.LABELS_MAX])
                if brief.dtype_text(d) in ("str", "object", "string", "category")
            ]
            if names:
                yield (
                    f"columns of {text or 'the table'} that are not numbers:"
                    f" {hints.listing(names, 200)}; leave them out, or encode them (pd.get_dummies,"
                    " OneHotEncoder)"
                )
                return
