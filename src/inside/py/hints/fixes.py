"""Hints with code for the failing expression; each is tried before it is offered (trial.py)."""

import ast
import re
import types

from _reckon import brief, hints, hints_types, trial

_type = type
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_BITS = {ast.BitAnd: "&", ast.BitOr: "|"}
_NUMERIC_ONLY = ("corr", "cov", "mean", "sum", "median", "std", "var", "sem", "skew", "kurt",
                 "quantile", "prod", "min", "max", "corrwith", "rank")  # fmt: skip
_MONEY = re.compile(r"[-+]?[$€£]?\s?\d{1,3}(,?\d{3})*(\.\d+)?\s?%?$")


def _part(facts, node):
    text = facts.text_of(node, 300)
    return f"({text})" if isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp)) else text


# ---- conditions -----------------------------------------------------------------------------


def _flat(node):
    """The operands of a chain of & and |, and the operators between them, in order."""
    if isinstance(node, ast.BinOp) and _type(node.op) in _BITS:
        return [*_flat(node.left), _BITS[_type(node.op)], *_flat(node.right)]
    return [node]


def _bracketed(facts, compare):
    """Rewrites a > 1 & b < 2, which Python parses as a > (1 & b) < 2, as it was meant; or None."""
    words = _flat(compare.left)
    for sign, operand in zip(compare.ops, compare.comparators):
        if _type(sign) not in _SIGNS:
            return None
        words += [sign, *_flat(operand)]
    groups, joints = [[]], []
    for word in words:
        if isinstance(word, str):
            joints.append(word)
            groups.append([])
        else:
            groups[-1].append(word)
    if not joints:
        return None
    texts = []
    for group in groups:
        if len(group) not in (1, 3):
            return None
        text = " ".join(
            _part(facts, w) if isinstance(w, ast.expr) else _SIGNS[_type(w)] for w in group
        )
        texts.append(f"({text})" if len(group) == 3 else text)
    return texts[0] + "".join(f" {sign} {text}" for sign, text in zip(joints, texts[1:]))


def _of_condition(facts, node):
    """(what is wrong, the code) for one part of a condition; or None."""
    if isinstance(node, ast.BoolOp):
        sign, word = ("&", "and") if isinstance(node.op, ast.And) else ("|", "or")
        parts = [f"({facts.text_of(value, 300)})" for value in node.values]
        return f"`{word}` wants one truth value", f" {sign} ".join(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "`not` wants one truth value", f"~({facts.text_of(node.operand, 300)})"
    if not isinstance(node, ast.Compare):
        return None
    code = _bracketed(facts, node)
    if code is not None:
        return "& and | bind tighter than comparisons", code
    if len(node.ops) > 1 and all(_type(op) in _SIGNS for op in node.ops):
        parts = [_part(facts, n) for n in (node.left, *node.comparators)]
        pairs = [
            f"({parts[at]} {_SIGNS[_type(op)]} {parts[at + 1]})" for at, op in enumerate(node.ops)
        ]
        return "a chained comparison wants one truth value", " & ".join(pairs)
    return None


def _conditions(facts):
    for node in facts.nodes(ast.BoolOp, ast.UnaryOp, ast.Compare, within=facts.statement):
        found = _of_condition(facts, node)
        if found is None:
            continue
        if trial.runs(facts, found[1]):
            yield f"{found[0]}: write {found[1]}"
            return


@hints.on(
    "ValueError",
    says=r"[Tt]ruth value of (?:a|an) (\w+) (?:with more than one element )?is ambiguous",
)
def _truth(facts, match):
    conditions = list(_conditions(facts))
    yield from conditions
    statement = facts.statement
    for node in facts.nodes(ast.Compare, within=statement) if not conditions else ():
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            known, value = facts.try_value(node.comparators[0])
            if known and brief.exact(value, list, tuple):
                yield (
                    f"in compares {facts.text_of(node.left, 40)} with arrays one by one; any(x is y"
                    " for y in …), or np.array_equal"
                )
                return
    test = getattr(statement, "test", None) or facts.node
    text = facts.text_of(test, 60) if test is not None else ""
    if not conditions and (not text or trial.runs(facts, f"({text}).any()")):
        yield (
            f"{text or 'the condition'} is many values (a {match[1]}): ({text or '…'}).any() or"
            " .all() makes one of them; np.where(condition, a, b) chooses item by item"
        )


@hints.on("TypeError", says=r"'r?(?:and|or)_'|unsupported operand type\(s\) for [&|]")
def _bits(facts, match):
    yield from _conditions(facts)


# ---- figures --------------------------------------------------------------------------------


@hints.on("AttributeError", says=r"'numpy\.ndarray' object has no attribute '(\w+)'")
def _array_of_axes(facts, match):
    node = facts.node.func if isinstance(facts.node, ast.Call) else facts.node
    if not isinstance(node, ast.Attribute):
        return
    known, value = facts.try_value(node.value)
    if not known or not brief.is_array(value) or not value.size:
        return
    text, first = facts.text_of(node.value, 60), value.flat[0]
    if not (brief.is_from(first, "matplotlib") and brief.has_attribute(_type(first), match[1])):
        return
    one = text + "[" + ", ".join("0" for _ in value.shape) + "]"
    if text.endswith("]") and isinstance(node.value, ast.Subscript):
        one = f"{text[:-1]}, {', '.join('0' for _ in value.shape)}]"
    if trial.runs(facts, f"{one}.{match[1]}"):
        yield (
            f"{text} is an array of {value.size} Axes (shape {value.shape}), one for each plot:"
            f" {one}.{match[1]}(…), or for a in {text}.flat:"
        )


@hints.on("TypeError", says=r"'Axes\w*' object is not subscriptable")
def _one_axes(facts, match):
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        known, value = facts.try_value(node.value)
        if known and brief.is_from(value, "matplotlib"):
            text = facts.text_of(node.value, 60)
            yield (
                f"{text} is one Axes, not an array: write {text}.plot(…) without"
                f" [{facts.text_of(node.slice, 20)}]; plt.subplots(1, n) gives an array of n"
            )
            return


@hints.on("TypeError", says=r"'Text' object is not callable")
def _part_of_axes(facts, match):
    for node in facts.nodes(ast.Call, within=facts.statement):
        if isinstance(node.func, ast.Attribute):
            known, owner = facts.try_value(node.func.value)
            setter = f"set_{node.func.attr}"
            if known and brief.has_attribute(_type(owner), setter):
                text = facts.text_of(node.func.value, 60)
                yield f"{text}.{node.func.attr} is an object of the plot: {text}.{setter}(…) sets it"
                return


# ---- tables ---------------------------------------------------------------------------------


def _text_columns(value):
    return [
        c
        for c, d in zip(brief.labels(value.columns), list(value.dtypes)[: brief.LABELS_MAX])
        if brief.dtype_text(d) in ("str", "object", "string", "category")
        or "datetime" in brief.dtype_text(d)
    ]


@hints.on(
    "TypeError",
    "ValueError",
    "DataError",
    "ArrowNotImplementedError",
    says=r"could not convert string to float|[Cc]annot perform reduction|agg function failed|"
    r"Could not convert|does not support operation|has no kernel matching",
)
def _numeric_only(facts, match):
    for node in facts.nodes(ast.Call, within=facts.statement):
        function = node.func
        if not (isinstance(function, ast.Attribute) and function.attr in _NUMERIC_ONLY):
            continue
        if any(k.arg in (None, "numeric_only") for k in node.keywords):
            continue
        given = [facts.text_of(a, 100) for a in node.args]
        given += [f"{k.arg}={facts.text_of(k.value, 100)}" for k in node.keywords]
        code = f"{facts.text_of(function, 200)}({', '.join([*given, 'numeric_only=True'])})"
        tables = facts.tables()
        names = _text_columns(tables[0][1]) if tables else []
        if names and len(names) >= tables[0][1].shape[1]:
            return  # nothing would be left of the table
        if trial.runs(facts, code):
            facts.is_fixed = True
            columns = f"columns that are not numbers: {hints.listing(names, 200)}; " if names else ""
            yield f"{columns}{code} leaves them out" if columns else f"{code} leaves texts out"
            return


@hints.on("ValueError", says=r"could not convert string to float|invalid literal for int\(\)")
def _signs(facts, match):
    for text, value in facts.receivers():
        if not (brief.is_series(value) and text):
            continue
        items = [item for item in list(value.iloc[:2000]) if _type(item) is str]
        bad = [item for item in items if not hints_types.is_number(item)]
        if not bad or not all(_MONEY.match(item.strip()) for item in bad):
            return
        code = f"{text}.str.replace(r'[^\\d.-]', '', regex=True).astype(float)"
        if trial.runs(facts, code):
            yield f"{hints.listing(list(dict.fromkeys(bad))[:3], 80)} are numbers with signs: {code}"
        return


# ---- algebra --------------------------------------------------------------------------------


def _algebra_name(facts):
    """The session's name for the module sympy."""
    for names in (facts.user.locals(), facts.user.globals()):
        for name, value in list(names.items())[:3000]:
            if _type(value) is types.ModuleType and value.__dict__.get("__name__") == "sympy":
                return name
    return "sympy"


def _symbols_of(value):
    found = getattr(value, "free_symbols", None) if brief.is_from(value, "sympy") else None
    return sorted(str(s) for s in list(found)[:5]) if _type(found) is set else []


@hints.on(
    "TypeError",
    says=r"Cannot convert (?:expression|complex) to float|"
    r"loop of ufunc does not support argument \d+ of type \w+ which has no callable",
)
def _of_symbols(facts, match):
    for node in facts.nodes(ast.Call, within=facts.statement):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = name or (node.func.id if isinstance(node.func, ast.Name) else "")
        inside = [n for a in node.args for n in facts.nodes(ast.Name, ast.Attribute, within=a)]
        symbols = [s for n in inside for s in _symbols_of(facts.try_value(n)[1])]
        if not symbols:
            continue
        sympy = _algebra_name(facts)
        inner = ", ".join(facts.text_of(a, 100) for a in node.args)
        called = facts.text_of(node.func, 40)
        other = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "fabs": "Abs",
                 "absolute": "Abs", "abs": "Abs", "log10": "log"}.get(name, name)  # fmt: skip
        code = f"{sympy}.{other}({inner})" if name != "log10" else f"{sympy}.log({inner}, 10)"
        if name not in ("float", "int", "complex", "round") and trial.runs(facts, code):
            yield f"{called} computes numbers, and a symbol has none yet: {code} stays symbolic"
            return
        if name in ("float", "int", "complex") and symbols:
            if isinstance(node.args[0], (ast.BinOp, ast.UnaryOp)):
                inner = f"({inner})"
            yield (
                f"symbols without a value: {', '.join(symbols)}; {inner}.subs({symbols[0]}, …)"
                " gives it one, and .evalf() then makes a number"
            )
            return


@hints.on("NameError", says=r"name '([A-Za-z]\w?)' is not defined")
def _no_symbol(facts, match):
    sympy = _algebra_name(facts)
    for node in facts.nodes(ast.Call, within=facts.statement):
        known, module = facts.try_value(node.func.value) if isinstance(node.func, ast.Attribute) else (False, None)
        if known and _type(module) is types.ModuleType and module.__dict__.get("__name__") == "sympy":
            yield f"a symbol is made before it is used: {match[1]} = {sympy}.symbols({match[1]!r})"
            return


def fitting(facts, candidates):
    """The first of these expressions that runs and yields a value, or None."""
    return next((code for code in candidates if trial.runs(facts, code)), None)
