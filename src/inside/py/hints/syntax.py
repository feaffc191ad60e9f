"""SyntaxError: the usual causes."""

import re
import warnings

from _reckon import brief, errors, hints, magic

_type = type
_QUOTES = {"“": '"', "”": '"', "‘": "'", "’": "'", "´": "'", "`": "'", "„": '"', "«": '"', "»": '"'}
_OTHER = {
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "*",
    "÷": "/",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "…": "...",
    "（": "(",
    "）": ")",
    "，": ",",
    "：": ":",
    "；": ";",
    "²": "**2",
}
_COMMANDS = (
    "pip",
    "pip3",
    "ls",
    "cd",
    "cat",
    "mkdir",
    "rm",
    "cp",
    "mv",
    "apt",
    "apt-get",
    "wget",
    "curl",
    "git",
    "conda",
    "python",
    "python3",
    "echo",
    "unzip",
    "tar",
    "head",
    "tail",
    "grep",
    "npm",
    "sudo",
)


def _place(error):
    """(source line, its number, all lines) that the error names."""
    number = error.lineno
    lines = errors.sources.get(error.filename) if _type(error.filename) is str else None
    if lines is not None and _type(number) is int and 0 < number <= len(lines):
        return lines[number - 1].rstrip("\n"), number, lines
    return (error.text.rstrip("\n") if _type(error.text) is str else ""), number, lines or []


def _is_plain(error):
    return brief.exact(error, SyntaxError, IndentationError, TabError)


@hints.on("IndentationError")
def _indentation(facts):
    if not _is_plain(facts.error):
        return
    line, number, lines = _place(facts.error)
    message = facts.value
    width = len(line) - len(line.lstrip())
    above = [
        (at, x)
        for at, x in enumerate(lines[: (number or 1) - 1], 1)
        if x.strip() and not x.lstrip().startswith("#")
    ]
    if "expected an indented block" in message:
        opener = re.search(r"after (.+?) on line (\d+)", message)
        if opener:
            yield (
                f"the {opener[1].strip()} of line {opener[2]} has no body: indent line {number}"
                " below it, or write pass"
            )
    elif "unindent does not match" in message and above:
        widths = sorted({len(x) - len(x.lstrip()) for _, x in above})
        yield (
            f"line {number} is indented by {width}; the lines above by {hints.listing(widths, 60)}"
        )
    elif "unexpected indent" in message and above:
        at, previous = above[-1]
        yield (
            f"line {number} is indented by {width}, line {at} above it by"
            f" {len(previous) - len(previous.lstrip())}, and that line opens no block"
        )


@hints.on("TabError")
def _tabs(facts):
    if not _is_plain(facts.error):
        return
    _, _, lines = _place(facts.error)
    tabs = [at for at, x in enumerate(lines[:2000], 1) if x[: len(x) - len(x.lstrip())].count("\t")]
    spaces = [at for at, x in enumerate(lines[:2000], 1) if x.startswith(" ")]
    if tabs and spaces:
        yield (
            f"tabs indent line {hints.listing(tabs[:5], 40)}, spaces line"
            f" {hints.listing(spaces[:5], 40)}: use four spaces everywhere"
        )


def _characters(line, message):
    found = re.search(
        r"invalid (?:non-printable )?character '?(.?)'? ?\(?U\+([0-9A-F]+)\)?", message
    )
    character = chr(int(found[2], 16)) if found else ""
    if character in _QUOTES:
        yield f"{character} is a typographic quote: write {_QUOTES[character]}"
    elif character in _OTHER:
        yield f"{character} is not an operator: write {_OTHER[character]}"
    elif character and not character.isprintable():
        yield (
            f"an invisible character (U+{ord(character):04X}) stands in the line: type the line"
            " anew"
        )
    elif character and character in "$?":
        yield f"{character} means nothing in Python"


def _compiles(lines, number, line):
    """Whether the cell has no syntax errors with `line` in place of its numbered line."""
    if not number or not 0 < number <= len(lines) or len(lines) > 2000:
        return False
    text = "".join([*lines[: number - 1], line.rstrip("\n") + "\n", *lines[number:]])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(magic.transform(text, "<trial>", 0x2000)[0], "<trial>", "exec", 0x2000)
    except Exception:
        return False
    return True


def _f_string(line, lines, number):
    """An f-string with an unclosed brace, or whose inner quotes end it (before Python 3.12)."""
    match = re.search(r"\b[fF][rR]?(\"|')[^\"']*\{[^}\"']*\1", line)
    if match is None:
        return
    quote, end = match[1], match.end() - 1
    if _compiles(lines, number, line[:end] + "}" + line[end:]):
        yield f"a {{ of the f-string is not closed: {line[match.start() : end]}}}{quote}"
        return
    other = "'" if quote == '"' else '"'
    start = match.start() + match[0].index("{")
    close = line.find("}", start)
    inner = line[start:close].replace(quote, other) if close > 0 else ""
    if other not in line[start:close] and _compiles(lines, number, line[:start] + inner + line[close:]):
        yield f"the {quote} inside the braces ends the f-string (Python 3.11): use {other} there"


def _other_languages(line, lines, number):
    text = line.strip()
    first = text.split(" ")[0] if text else ""
    if text.startswith("```"):
        yield "``` belongs to Markdown: send the code without it"
    elif first in _COMMANDS and not re.match(r"\w+\s*[=(\[.,]", text):
        yield (
            f"it is a shell command: !{brief.one_line(text, 60)}"
            if first not in ("pip", "pip3", "cd")
            else (
                f"it is a command: %{brief.one_line(text.replace('pip3', 'pip'), 60)}, on a line of"
                " its own"
            )
        )
    elif re.match(r"print\s+[^=(\s]", text):
        yield "print is a function: print(…)"
    elif re.match(r"exec\s+['\"\w]", text):
        yield "exec is a function: exec(…)"
    elif re.match(r"else\s+if\b", text):
        yield "write elif"
    elif "&&" in text or "||" in text:
        yield "write and for &&, or for ||"
    elif re.search(r"\w(\+\+|--)\s*(;|$|\))", text):
        yield "write x += 1 or x -= 1"
    elif re.match(r"(var|let|const|int|float|String|function|public|void)\s+\w+", text):
        yield f"{first} is not Python" + (
            ": write def" if first == "function" else ": write name = value"
        )
    elif re.search(r";\s*[!%]{1,2}\w", text):
        command = re.search(r";\s*([!%]{1,2}\w.*)$", text)[1]
        yield f"a command has a line of its own: {brief.one_line(command, 60)} on the next one"
    elif re.search(r"(?<![=!<>])!\s*\w", text) and not text.startswith("!"):
        if _compiles(lines, number, re.sub(r"(?<![=!<>])!\s*(?=[\w(])", "not ", line)):
            yield "write not for !"
    elif re.match(r"(SELECT|INSERT|UPDATE|DELETE|CREATE)\s", text):
        yield "it is SQL: give it as a text to sqlite3, duckdb.sql('…') or pd.read_sql"
    elif re.match(r"except\s+\w+\s*,\s*\w+\s*:", text):
        yield "write except Error as name:"
    elif re.match(r"raise\s+\w+\s*,", text):
        yield "write raise Error('message')"
    elif text.startswith(("Here ", "Sure", "This code", "The following")):
        yield "it is prose, not code: put # before it, or leave it out"


def _opener(message, lines):
    found = re.search(r"'(.)' was never closed", message)
    if found:
        yield (
            f"a {found[1]} is opened there and its closing bracket is missing, on that line or"
            " below"
        )
    found = re.search(
        r"closing parenthesis '(.)' does not match opening parenthesis '(.)'(?: on line (\d+))?",
        message,
    )
    if found:
        yield (
            f"{found[2]}"
            + (f" of line {found[3]}" if found[3] else "")
            + f" is closed by {found[1]}"
        )


@hints.on("SyntaxError")
def _syntax(facts):
    if not _is_plain(facts.error) or _type(facts.error) is not SyntaxError:
        return
    line, number, lines = _place(facts.error)
    message = facts.error.msg if _type(facts.error.msg) is str else ""
    text = line.strip()
    yield from _characters(line, message)
    language_hints = list(_other_languages(line, lines, number))
    yield from language_hints
    yield from _opener(message, lines)
    if (
        "f-string" in message
        or "unterminated string" in message
        or "invalid syntax" in message
        or ("unmatched" in message)
        or "was never closed" in message
    ):
        quoted = list(_f_string(line, lines, number))
        yield from quoted
        if quoted:
            return
    if "f-string expression part cannot include a backslash" in message:
        yield r"compute it before: nl = '\n', then f'{nl.join(x)}' (Python 3.11)"
    elif (
        "f-string: single '}'" in message
        or "f-string: empty expression" in message
    ):
        yield "a literal brace in an f-string is written {{ or }}"
    elif "unterminated string literal" in message:
        if text.count("'") % 2 and re.search(r"\w'\w", text):
            yield "an apostrophe ends the text: use double quotes around it, or \\'"
        elif re.search(r"\\['\"]\)?\s*$", text):
            yield (
                "the backslash before the last quote escapes it: r'…' does not help there, write"
                " \\\\"
            )
        else:
            yield "a text that goes over several lines wants three quotes"
    elif "unterminated triple-quoted" in message:
        yield "its closing three quotes are missing: the cell may be cut off"
    elif "unexpected EOF" in message or (
        number and lines and number >= len(lines) and "was never closed" in message
    ):
        yield "the cell ends before the bracket is closed: it may be cut off"
    elif "outside function" in message:
        yield (
            "a cell is not a function: leave return away, the last expression of a cell is shown; or"
            " write def"
        )
    elif "'await' outside" in message:
        yield "await works in a cell and in async def, not in def: write async def"
    elif (
        "Maybe you meant '==' or ':='" in message
        or "cannot assign to" in message
        and "comparison" in message
    ):
        yield "one = assigns, two compare: =="
    elif "positional argument follows keyword" in message:
        yield "arguments by name come after those by position"
    elif "unicodeescape" in message:
        yield r"\U or \N in the text begins a character's code: r'C:\Users' or / in place of \ "
    elif "leading zeros" in message:
        yield "a number has no leading zeros: 7, or the text '07'"
    elif "invalid decimal literal" in message:
        yield "a name cannot begin with a digit; between a number and a name an operator is missing"
    elif "expected ':'" in message:
        yield f"line {number} wants a : at its end"
    elif "cannot assign to expression" in message or "cannot assign to" in message:
        yield "the left side of = must be a name, an item or an attribute"
    elif "expected 'except' or 'finally' block" in message:
        yield "a try wants an except or a finally of the same indentation"
    elif (
        "parameter without a default follows" in message
        or "non-default argument follows default" in message
    ):
        yield "parameters with a default come last"
    elif message == "invalid syntax" and not language_hints:
        yield from _line_before(lines, number)


def _line_before(lines, number):
    """An incomplete statement above."""
    above = [
        x.rstrip()
        for x in lines[: (number or 1) - 1]
        if x.strip() and not x.lstrip().startswith("#")
    ]
    if not above:
        return
    last = above[-1]
    for opening, closing in ("()", "[]", "{}"):
        if last.count(opening) > last.count(closing) and not last.endswith((",", opening)):
            yield (
                f"the line above has a {opening} that is not closed, or a comma is missing at its"
                f" end: {brief.one_line(last, 100)}"
            )
            return
