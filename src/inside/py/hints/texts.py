"""Dates, JSON and bytes that are not in the expected format."""

import datetime
import re

from _reckon import brief, hints, hints_files

_type = type
_strptime = datetime.datetime.strptime
_DATES = [
    "%Y-%m-%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%Y",
    "%Y%m%d",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
    "%d-%b-%Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%Y-%m",
    "%b %Y",
    "%B %Y",
    "%d-%b-%y",
]
_TIMES = [
    "",
    " %H:%M:%S",
    " %H:%M",
    "T%H:%M:%S",
    " %H:%M:%S.%f",
    "T%H:%M:%S.%f",
    "T%H:%M:%SZ",
    "T%H:%M:%S%z",
    " %I:%M %p",
    " %I:%M:%S %p",
    " %H:%M:%S%z",
    " %H:%M:%S %z",
    "T%H:%M",
]


def formats_of(text):
    """Formats that match a date; several if day and month could be swapped."""
    found = []
    if len(text) > 60:
        return found
    for date in _DATES:
        for time in _TIMES:
            try:
                _strptime(text, date + time)
            except ValueError:
                continue
            found.append(date + time)
    return found[:2]


@hints.on(
    "ValueError",
    says=(
        r"time data \"?'?(.*?)'?\"? (?:does not match format|doesn't match format)"
        r" [\"']([^\"']+)[\"']"
    ),
)
def _format(facts, match):
    found = formats_of(match[1])
    if found:
        yield f"{match[1]!r} is read by the format {' or '.join(repr(f) for f in found)}"
    if facts.called() is not None and "pandas" in facts.places[-1].file:
        yield (
            "pd.to_datetime(…, format='mixed') reads several formats in one column; errors='coerce'"
            " makes NaT of what is not a date"
        )


@hints.on(
    "ValueError",
    says=(
        r"unconverted data remains(?: when parsing with format \"(.*?)\")?: \"?(.*?)\"?(?:\. You"
        r" might|$)"
    ),
)
def _rest(facts, match):
    line = f"the format ends before the text does; left over: {brief.brief(match[2], 40)}"
    for text, value in facts.receivers():
        if _type(value) is str:
            found = formats_of(value)
            if found:
                yield (
                    f"{line}; {brief.brief(value, 60)} is read by"
                    f" {' or '.join(repr(f) for f in found)}"
                )
                return
    yield line


@hints.on(
    "DateParseError",
    "ParserError",
    "OutOfBoundsDatetime",
    says=r"(?:Unknown datetime string format, unable to parse|Unknown string format|"
    r"day is out of range|month must be in)[^:]*:? ?(.*)",
)
def _unknown_date(facts, match):
    yield (
        "pd.to_datetime(…, errors='coerce') makes NaT of what is not a date; .isna() then finds those"
        " rows"
    )


@hints.on("ValueError", says=r"Invalid isoformat string: '(.*)'")
def _iso(facts, match):
    found = formats_of(match[1])
    yield "it is not an ISO date" + (
        f"; datetime.strptime(text, {found[0]!r}) reads it" if found else " (2024-01-31T12:00:00)"
    )


@hints.on(
    "ValueError", says=r"(day is out of range for month|month must be in 1\.\.12|hour must be in)"
)
def _date_parts(facts, match):
    yield "a date of these numbers does not exist (year, month, day is their order)"


# ---- JSON -----------------------------------------------------------------------------------


def _around(document, position):
    start, end = max(position - 40, 0), position + 30
    return (
        f"{'…' if start else ''}{brief.one_line(document[start:position], 60)} >>HERE>> "
        f"{brief.one_line(document[position:end], 60)}{'…' if end < len(document) else ''}"
    )


@hints.on("JSONDecodeError")
def _json(facts):
    own = brief.own_attributes(facts.error)
    document, position = own.get("doc"), own.get("pos")
    if _type(document) is not str or _type(position) is not int:
        return
    text = document.lstrip("\ufeff \n\t\r")
    if not text:
        yield "the document is empty"
        return
    yield f"at character {position} of {len(document)}: {_around(document, position)}"
    rest, before = document[position : position + 20], document[:position].rstrip()
    if text[0] == "<":
        yield "it is HTML or XML, not JSON"
    elif document[0] == "\ufeff":
        yield "it begins with a byte order mark: open it with encoding='utf-8-sig'"
    elif "Extra data" in facts.value and re.match(r"\s*[{\[\"]", rest):
        yield (
            "several JSON documents follow each other: [json.loads(line) for line in"
            " text.splitlines()], or pd.read_json(…, lines=True)"
        )
    elif rest[:1] == "'" or (rest[:1] == "" and "'" in text[:3]):
        yield "its quotes are single: it is a Python literal, ast.literal_eval(text) reads it"
    elif rest.startswith(("True", "False", "None")):
        yield "it is a Python literal, not JSON: ast.literal_eval(text) reads it"
    elif rest.startswith(("NaN", "undefined")):
        yield f"{rest.split()[0]} is not JSON"
    elif rest[:1] in "]}" and before.endswith(","):
        yield "a comma stands before the closing bracket: JSON has none there"
    elif before.endswith(",") and rest[:1] in "]}":
        yield "a comma stands before the closing bracket: JSON has none there"
    elif rest[:2] == "//" or rest[:1] == "#":
        yield "it has a comment: JSON has none"
    elif position >= len(document.rstrip()):
        yield "the document ends too early: it is cut off"


# ---- bytes and encodings --------------------------------------------------------------------


def guess(data, is_whole):
    """A guess what bytes are that are not UTF-8, as a phrase; or None."""
    for start, kind in hints_files.MAGIC:
        if data.startswith(start):
            return kind
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "is UTF-16: encoding='utf-16'"
    if b"\0" in data[:2000]:
        return "is binary, not text: open it with mode 'rb'"
    for name in ("shift_jis", "gb18030"):
        try:
            decoded = data.decode(name)
        except UnicodeDecodeError as error:
            if is_whole or error.end < len(data) - 4:
                continue
            decoded = data[: error.start].decode(name)
        odd = [c for c in decoded if ord(c) > 127]
        wide = sum("\u3040" <= c <= "\u9fff" for c in odd)
        if odd and wide > 0.8 * len(odd) and len(odd) > 8:
            return f"looks like {name}: encoding={name!r}"
    try:
        decoded = data.decode("cp1252")
    except UnicodeDecodeError:
        return "is not UTF-8; encoding='latin-1' reads any bytes"
    odd = [c for c in decoded if ord(c) > 127]
    sample = "".join(odd[:5])
    return (
        f"is not UTF-8; encoding='cp1252' (or 'latin-1') reads it, with {sample!r} in it"
        if odd
        else None
    )


@hints.on("UnicodeDecodeError")
def _decode(facts):
    data = UnicodeDecodeError.__dict__["object"].__get__(facts.error)
    start = UnicodeDecodeError.__dict__["start"].__get__(facts.error)
    path = hints_files.path_given(facts)
    head = hints_files.head_of(path) if path else b""
    if head:
        description = guess(head, False)
        if description:
            yield f"{brief.one_line(path, 100)} {description}"
            return
    if _type(data) is bytes:
        description = guess(data[max(start - 2000, 0) if start > 2000 else 0 : start + 2000], False)
        if description:
            yield f"the text {description}" if not path else f"{brief.one_line(path, 100)} {description}"


@hints.on("UnicodeEncodeError")
def _encode(facts):
    data = UnicodeEncodeError.__dict__["object"].__get__(facts.error)
    start = UnicodeEncodeError.__dict__["start"].__get__(facts.error)
    character = data[start : start + 1] if _type(data) is str else ""
    if "surrogates" in facts.value:
        yield (
            f"{character.encode('unicode_escape').decode()} is half a character (a lone surrogate):"
            " text.encode('utf-8', 'replace')"
        )
    else:
        yield (
            f"{character!r} (U+{ord(character):04X}) has no place in this encoding:"
            " encoding='utf-8', or errors='replace'"
        )
