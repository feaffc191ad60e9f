"""Keys, columns, labels and positions that do not exist."""

import ast
import os
import re
import string

from _reckon import brief, case, hints

_type = type


def _say_near(word, there, what, holder):
    """One line about the requested key and the existing ones."""
    found = hints.near(word, there) if _type(word) is str else []
    if found:
        why = hints.difference(word, found[0])
        yield f"{holder} has the {what} {hints.one_of(found)}" + (f" ({why})" if why else "")
    elif there:
        yield (
            f"{holder} has no {what} {brief.brief(word, 60)}; its {what}s:"
            f" {hints.listing(there, 300)}"
        )
    else:
        yield f"{holder} has no {what}s: it is empty"


def _other_type(key, there):
    """The same key as another type, '1' for 1."""
    for other in there[:2000]:
        if (
            _type(other) is not _type(key)
            and brief.exact(other, str, int, float)
            and brief.exact(key, str, int, float)
            and str(other) == str(key)
        ):
            return other
    return None


def _of_dict(key, value, shown):
    keys = list(value)[:3000]
    other = _other_type(key, keys)
    if other is not None:
        yield (
            f"the keys of {shown} are {brief.type_name(other)}: write {brief.brief(other, 40)}, not"
            f" {brief.brief(key, 40)}"
        )
        return
    if not keys:
        yield f"{shown} is empty"
        return
    yield from _say_near(key, keys, "key", shown)
    for name, inner in list(value.items())[:50]:
        if _type(inner) is dict and case.plain_key(key) and key in inner:
            yield f"{shown}[{brief.brief(name, 40)}] has the key {brief.brief(key, 40)}"
            return
        if (
            _type(inner) is list
            and inner
            and _type(inner[0]) is dict
            and case.plain_key(key)
            and key in inner[0]
        ):
            yield (
                f"the items of {shown}[{brief.brief(name, 40)}] have the key {brief.brief(key, 40)}"
            )
            return


def _missing(facts):
    """The labels that a pandas KeyError is about."""
    given = facts.error.args
    key = given[0] if _type(given) is tuple and given else None
    if _type(key) is str:
        if key.startswith("Column not found: "):
            return [key.removeprefix("Column not found: ")]
        if key.startswith("Columns not found: "):
            return re.findall(r"'([^']*)'", key)
        listed = re.search(
            r"\[([^\[\]]*)\](?:, dtype='\w+'\))?\]? (?:are in the|not in index|not found)", key
        )
        listed = listed or re.match(r"\[(.*)\] not (?:found in axis|in index)", key)
        if listed or "not found in axis" in key:
            found = re.findall(
                r"'([^']*)'",
                (listed[1] if listed else key)
                .replace("dtype='str'", "")
                .replace("dtype='object'", ""),
            )
            if found:
                return found
        if " of [" in key or "not in index" in key or "do not exist" in key:
            quoted = re.findall(r"'([^']+)'", key)
            return [q for q in quoted if q not in ("object", "str", "int64")] or [key]
    return [key]


def _is_about_rows(facts):
    """Whether the failing expression looks up rows by label, not columns."""
    called = facts.called()
    names = {p.function for p in facts.places[facts.places.index(facts.user) + 1 :]}
    if names & {
        "_getitem_axis",
        "_getitem_lowerdim",
        "_getitem_tuple",
        "xs",
        "_get_label",
        "get_group",
    }:
        return True
    return called is not None and brief.is_series(called.locals().get("self"))


def _frame_name(facts, text, value, many):
    if text and case.Unknown:
        return text
    for name, other in [*facts.user.locals().items(), *facts.user.globals().items()][:3000]:
        if other is value and _type(name) is str and not name.startswith("_"):
            return name
    return "the DataFrame" if not many else "one DataFrame"


def _of_label(key, index, shown):
    there = brief.labels(index, 3000)
    other = _other_type(key, there)
    if other is not None:
        yield (
            f"the index of {shown} holds {brief.type_name(other)}: {brief.brief(other, 40)}, not "
            f"{brief.brief(key, 40)}"
        )
        return
    found = hints.near(key, there) if _type(key) is str else []
    if found:
        yield from _say_near(key, there, "label", f"the index of {shown}")
        return
    yield (
        f"the index of {shown} has no label {brief.brief(key, 40)}; it is"
        f" {brief.class_name(_type(index))} of {len(index)}:"
        f" {hints.listing(there[:5], 120)}{', …' if len(index) > 5 else ''}"
    )


def _tables(facts, keys):
    tables = facts.tables()
    about_rows = _is_about_rows(facts)
    for text, value in tables[:2]:
        shown = _frame_name(facts, text, value, len(tables) > 1)
        columns = brief.labels(value.columns, 3000)
        for key in keys[:3]:
            if case.plain_key(key) and key in columns and not about_rows:
                continue
            if about_rows and not (_type(key) is str and hints.near(key, columns)):
                in_index = case.plain_key(key) and key in brief.labels(value.index, 3000)
                if not in_index:
                    yield from _of_label(key, value.index, shown)
                    if case.plain_key(key) and key in columns:
                        yield (
                            f"{brief.brief(key, 40)} is a column of {shown}:"
                            f" {shown}[{brief.brief(key, 40)}]"
                        )
                continue
            if case.plain_key(key) and key in columns:
                continue
            names = [n for n in value.index.names if n is not None]
            if key in names:
                yield (
                    f"{brief.brief(key, 40)} is the index of {shown}, not a column:"
                    f" {shown}.reset_index() makes it one"
                )
                continue
            if value.columns.nlevels > 1:
                yield (
                    f"the columns of {shown} have {value.columns.nlevels} levels:"
                    f" {hints.listing(columns, 250)}"
                )
                continue
            if (
                value.columns.size
                and brief.class_name(_type(value.columns)) == "RangeIndex"
                and _type(key) is str
            ):
                yield (
                    f"the columns of {shown} have no names, only numbers:"
                    f" {hints.listing(columns, 100)}"
                )
                continue
            yield from _say_near(key, columns, "column", shown)


@hints.on("KeyError")
def _key(facts):
    keys = _missing(facts)
    key = keys[0]
    called = facts.called()
    if called is None or called.file in ("<frozen os>", "os.py") or called.file.endswith("/os.py"):
        if called is not None:
            yield "; ".join(
                [
                    f"the environment has no variable {brief.brief(key, 60)}",
                    "os.environ.get(…) does not raise",
                    *_near_environment(key),
                ]
            )
            return
        yield from _plain(facts, key)
        return
    if _type(called.locals().get("self")) is not None and facts.tables():
        yield from _tables(facts, keys)
        return
    for text, value in facts.receivers():
        if brief.is_series(value):
            yield from _of_label(key, value.index, text or "the Series")
            return
    yield from _plain(facts, key)


def _near_environment(key):
    return [f"it has {', '.join(found)}" for found in [hints.near(key, list(os.environ))] if found]


def _format_fields(text):
    return [
        name.partition(".")[0].partition("[")[0]
        for _, name, _, _ in string.Formatter().parse(text)
        if name
    ]


def _plain(facts, key):
    """A missing key in a dict, a set or a format string."""
    node = facts.node
    if isinstance(node, ast.Subscript):
        known, value = facts.try_value(node.value)
        if known and _type(value) is not dict and brief.is_a(value, dict):
            value = dict(dict.items(value)) if dict.__len__(value) < 3000 else value
        if known and _type(value) is dict:
            yield from _of_dict(key, value, facts.text_of(node.value, 50))
            return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        known, value = facts.try_value(node.func.value)
        shown = facts.text_of(node.func.value, 50)
        if known and _type(value) is str and node.func.attr == "format":
            given = [k.arg for k in node.keywords if k.arg]
            yield (
                f"the text has the fields {hints.listing(_format_fields(value), 150)}, and format()"
                f" was given {hints.listing(given, 100) or 'none by name'}; a literal brace is"
                " written {{ or }}"
            )
            return
        if known and _type(value) is dict:
            yield from _of_dict(key, value, shown)
            return
        if known and _type(value) is set:
            yield (
                f"{shown} does not hold {brief.brief(key, 40)}; {shown}.discard(…) does not raise: "
                f"{brief.brief(value, 150)}"
                if value
                else f"{shown} is empty"
            )
            return
    for text, value in facts.receivers():
        if _type(value) is dict and not (case.plain_key(key) and key in value):
            yield from _of_dict(key, value, text)
            return


# ---- IndexError -----------------------------------------------------------------------------


def _range_of(value, shown):
    count = len(value)
    if not count:
        return f"{shown} is empty"
    return f"{shown} has {count} item{'s' if count > 1 else ''}, 0 to {count - 1}"


def _position(facts, node):
    """', and i + 1 is 3' for the expression of a position."""
    known, value = facts.try_value(node)
    if not known or _type(value) is not int or isinstance(node, ast.Constant):
        return ""
    return f", and {facts.text_of(node, 40)} is {value}"


@hints.on("IndexError")
def _index(facts):
    if (
        "positional indexer" in facts.value
        or "out-of-bounds" in facts.value
        or "out of bounds" in facts.value
    ):
        position_hints = list(_of_positions(facts))
        if position_hints:
            yield from position_hints
            return
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        known, value = facts.try_value(node.value)
        if not known or isinstance(node.slice, ast.Slice):
            continue
        shown = facts.text_of(node.value, 50)
        if brief.exact(value, list, tuple, str, bytes, range):
            there, at = facts.try_value(node.slice)
            if there and _type(at) is int and -len(value) <= at < len(value):
                continue
            last = f"; the last is {shown}[-1]" if value else ""
            yield _range_of(value, shown) + _position(facts, node.slice) + last
            if shown == "sys.argv":
                yield "a cell has no command line: set the values in the code"
            return
        if brief.is_array(value):
            yield (
                f"{shown} has the shape {value.shape}"
                + _position(facts, node.slice)
                + (
                    "; too many indices: it has one axis"
                    if "too many" in facts.value and value.ndim == 1
                    else ""
                )
            )
            return
    yield from _emptied(facts)


def _of_positions(facts):
    for text, value in facts.receivers():
        if brief.is_frame(value):
            shown = _frame_name(facts, text, value, False)
            yield (
                f"{shown} has {value.shape[0]} rows (positions 0 to {value.shape[0] - 1}) and"
                f" {value.shape[1]} columns"
                if value.shape[0]
                else f"{shown} has no rows"
            )
            return
        if brief.is_series(value):
            yield f"{text or 'the Series'} has {len(value)} items" + (
                f" (positions 0 to {len(value) - 1})" if len(value) else ""
            )
            return


def _emptied(facts):
    if "pop from" in facts.value:
        for node in facts.nodes(ast.Attribute):
            if node.attr in ("pop", "popleft"):
                shown = facts.text_of(node.value, 50)
                known, value = facts.try_value(node.value)
                if known and case.sized(value):
                    yield (
                        _range_of(value, shown)
                        if value
                        else f"{shown} is empty: test `if {shown}:` first"
                    )
                return
    if "Replacement index" in facts.value:
        for node in facts.nodes(ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
                known, value = facts.try_value(node.func.value)
                if known and _type(value) is str:
                    count = len(re.findall(r"\{\d*[:}!]", value.replace("{{", "")))
                    yield (
                        f"the text has {count} fields, and format() was given {len(node.args)}"
                        " values; a literal brace is written {{ or }}"
                    )
    if "no such group" in facts.value:
        yield "the pattern has fewer groups than that: a group is a part in parentheses"
