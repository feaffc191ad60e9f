"""numpy: shapes that do not fit, the truth value of arrays, read-only arrays."""

import ast
import re

from _reckon import brief, case, hints, hints_fixes

_type = type


def _shape(value):
    if brief.is_array(value):
        return value.shape
    if brief.is_frame(value) or brief.is_series(value):
        return value.shape
    if brief.is_from(value, "sympy") and brief.type_name(value).endswith("Matrix"):
        return value.shape
    return None


def shapes(facts, nodes):
    """(text, shape, value) of each expression with a known shape."""
    sizes = []
    for node in nodes:
        known, value = facts.try_value(node)
        shape = _shape(value) if known else None
        if shape is not None:
            sizes.append((facts.text_of(node, 40), shape, value))
    return sizes


def _operands(facts):
    node = facts.node
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        own = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        listed = [e for a in node.args if isinstance(a, (ast.List, ast.Tuple)) for e in a.elts]
        return [*own, *listed, *[a for a in node.args if not isinstance(a, (ast.List, ast.Tuple))]]
    if isinstance(facts.statement, ast.AugAssign):
        return [facts.statement.target, facts.statement.value]
    if isinstance(facts.statement, ast.Assign):
        return [*facts.statement.targets, facts.statement.value]
    return []


def _is_product(facts):
    return (
        "matmul" in facts.value or "not aligned" in facts.value or "core dimension" in facts.value
        or "Matrix size" in facts.value
    )


def _fits(facts, a, first, b, second):
    """Corrections of a product or a sum of these shapes."""
    if _is_product(facts) and len(first) == len(second) == 2:
        if first[1] == second[1]:
            yield f"{a} @ {b}.T"
        if first[0] == second[0]:
            yield f"{a}.T @ {b}"
        if second[1] == first[0]:
            yield f"{b} @ {a}"
    if "broadcast" not in facts.value or not isinstance(facts.node, ast.BinOp):
        return
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(_type(facts.node.op))
    if sign is None:
        return
    if len(first) == 2 and second == first[:1]:
        yield f"{a} {sign} {b}[:, None]"
    if len(second) == 2 and first == second[:1]:
        yield f"{a}[:, None] {sign} {b}"
    if len(first) == len(second) == 2 and first == second[::-1]:
        yield f"{a} {sign} {b}.T"


@hints.on(
    "ValueError",
    says=r"could not be broadcast|not aligned|mismatch in its core dimension|matmul: |"
    r"input array dimensions|could not broadcast|same number of dimensions|shape mismatch|"
    r"Matrix size mismatch",
)
def _broadcast(facts, match):
    sizes = shapes(facts, _operands(facts))
    if not sizes:
        sizes = [
            (text, _shape(value), value)
            for text, value in facts.receivers()
            if text and _shape(value) is not None
        ]
        sizes = sizes[:4]
    if not sizes:
        yield from _lengths(facts)
        return
    line = ", ".join(f"{text} has the shape {shape}" for text, shape, _ in sizes[:4])
    if len(sizes) == 2:
        (a, first, _), (b, second, _) = sizes
        code = hints_fixes.fitting(facts, _fits(facts, a, first, b, second))
        line += f"; {code} fits" if code else ""
    yield line


def _lengths(facts):
    sizes = []
    for node in facts.nodes(ast.Call)[:1]:
        for argument in node.args:
            known, value = facts.try_value(argument)
            if known and case.sized(value) and _type(value) is not str:
                sizes.append(f"{facts.text_of(argument, 40)} has {len(value)} items")
    if len(sizes) > 1:
        yield ", ".join(sizes)


@hints.on("ValueError", says=r"cannot reshape array of size (\d+) into shape \(?([\d, -]+)\)?")
def _reshape(facts, match):
    size = int(match[1])
    wanted = [int(n) for n in re.findall(r"-?\d+", match[2])]
    name = ""
    node = facts.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        known, value = facts.try_value(node.func.value)
        if known and brief.is_array(value):
            name = f"{facts.text_of(node.func.value, 40)} has the shape {value.shape}: "
    product = 1
    for n in wanted:
        product *= n
    line = f"{name}{size} values do not fill {'×'.join(map(str, wanted))}" + (
        f" = {product}" if product > 0 else ""
    )
    if len(wanted) == 2 and min(wanted) > 0:
        fits = [f"({n}, {size // n})" for n in (wanted[0],) if size % n == 0]
        fits += [f"({size // n}, {n})" for n in (wanted[1],) if size % n == 0]
        line += f"; {' or '.join(fits)} would" if fits else ""
    yield line


@hints.on("ValueError", says=r"inhomogeneous shape|setting an array element with a sequence")
def _ragged(facts, match):
    target = getattr(facts.statement, "targets", [None])[0]
    value = getattr(facts.statement, "value", None)
    known, given = facts.try_value(value) if value is not None else (False, None)
    if isinstance(target, ast.Subscript) and known and brief.exact(given, list, tuple):
        text = facts.text_of(target, 40)
        yield (
            f"{text} takes one number, and {facts.text_of(value, 40)} has {len(given)} items: assign"
            " to a slice of as many items, or make the array with dtype=object"
        )
        return
    for node in facts.nodes(ast.Call):
        for argument in node.args[:1]:
            known, value = facts.try_value(argument)
            if known and brief.exact(value, list, tuple):
                kinds = [
                    len(v) if case.sized(v) and _type(v) is not str else None for v in value[:2000]
                ]
                counts = sorted({k for k in kinds if k is not None})
                text = facts.text_of(argument, 40)
                if len(counts) > 1:
                    odd = next(at for at, k in enumerate(kinds) if k != kinds[0])
                    yield (
                        f"the rows of {text} have {hints.listing(counts, 60)} items; {text}[{odd}]"
                        f" is the first of another length than {text}[0]"
                    )
                elif counts and None in kinds:
                    yield (
                        f"{text} mixes sequences and single values: {text}[{kinds.index(None)}] is"
                        " a single value"
                    )
                return


@hints.on(
    "ValueError",
    says=r"cannot set WRITEABLE flag|read-only",
)
def _read_only(facts, match):
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        text = facts.text_of(node.value, 50)
        if text.endswith(".values") or ".to_numpy" in text:
            yield (
                f"{text} is a read-only view of the table: assign through df.loc[…] / df.iloc[…],"
                f" or take {text.removesuffix('.values')}.to_numpy(copy=True)"
            )
            return
        known, value = facts.try_value(node.value)
        if known and brief.is_array(value):
            yield (
                f"{text} is a read-only view (arrays of pandas objects are): {text} = {text}.copy()"
                " first"
            )
            return
    yield "the array is a read-only view: change a .copy() of it"


@hints.on(
    "IndexError",
    says=(
        r"boolean index did not match|arrays used as indices must be of integer|only integers,"
        r" slices"
    ),
)
def _array_index(facts, match):
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        sizes = shapes(facts, [node.value, node.slice])
        if len(sizes) == 2:
            yield ", ".join(f"{text} has the shape {shape}" for text, shape, _ in sizes)
            if sizes[1][2].dtype.kind == "f":
                yield f"{sizes[1][0]} holds floats: {sizes[1][0]}.astype(int)"
            return
        known, value = facts.try_value(node.slice)
        if not known and isinstance(node.slice, ast.BinOp) and isinstance(node.slice.op, ast.Div):
            yield f"{facts.text_of(node.slice, 40)} is a float: // divides to an int"
            return
        if known and _type(value) is float:
            text = facts.text_of(node.slice, 40)
            yield (
                f"{text} is a float ({value!r}): int({text}), or // in place of / where it is"
                " computed"
            )
            return
        if known and _type(value) is str:
            yield (
                f"{facts.text_of(node.value, 40)} is an array, whose items have numbers, not names"
            )
            return


@hints.on("LinAlgError")
def _linear(facts):
    sizes = shapes(facts, _operands(facts))
    if "Singular" in facts.value:
        yield (
            "the matrix has no inverse (rows or columns depend on each other): np.linalg.lstsq or"
            " np.linalg.pinv solve what can be solved"
        )
    elif sizes:
        yield ", ".join(f"{text} has the shape {shape}" for text, shape, _ in sizes[:3])


@hints.on("AxisError", says=r"axis (-?\d+) is out of bounds for array of dimension (\d+)")
def _axis(facts, match):
    sizes = shapes(facts, _operands(facts))
    line = ", ".join(f"{text} has the shape {shape}" for text, shape, _ in sizes[:2])
    yield (
        f"{line + ': ' if line else ''}it has {match[2]} ax{'is' if match[2] == '1' else 'es'},"
        " numbered from 0"
    )


@hints.on(
    "UFuncTypeError",
    "UFuncNoLoopError",
    "_UFuncNoLoopError",
    "_UFuncOutputCastingError",
    "_UFuncInputCastingError",
    "UFuncOutputCastingError",
)
def _ufunc(facts):
    nodes = _operands(facts)
    for text, _, value in shapes(facts, nodes):
        if brief.is_array(value) and value.dtype.kind in "OUS":
            first = value.flat[0] if value.size else None
            yield (
                f"{text} holds {brief.type_name(first)} values (dtype {value.dtype}):"
                f" {text}.astype(float)"
            )
    if "output" in facts.value and isinstance(facts.statement, ast.AugAssign):
        text = facts.text_of(facts.statement.target, 40)
        yield (
            f"an int array cannot take floats in place: {text} = {text}.astype(float), or x = x …"
            " in place of the augmented form"
        )
