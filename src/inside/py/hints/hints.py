"""Known remedies for an exception: at most five lines, all of them true.

A hint is a function of a Case that yields text; on() registers it for exception classes, by
name. It must only say what it can establish: otherwise it returns nothing, or raises an
exception, which is ignored.
"""

import difflib
import re

from _reckon import brief, case

HINTS_MAX = 5
_BYTES_MAX = 500
_CANDIDATES_MAX = 3000
_type = type
_ratio = difflib.SequenceMatcher
_table = {}  # name of an exception class -> functions
_fold = re.compile(r"[\W_]+").sub


def on(*names, says=None):
    """Registers a hint for exception classes; `says`: a pattern that the message must match."""
    pattern = re.compile(says, re.S) if says else None

    def register(function):
        for name in names:
            _table.setdefault(name, []).append((pattern, function))
        return function

    return register


def _clip(text):
    text = brief.one_line(text, _BYTES_MAX)
    while len(text.encode("utf-8", "replace")) > _BYTES_MAX:
        text = text[: len(text) * 4 // 5] + "…"
    return text


def _of(function, pattern, facts):
    """The hints of one function: all that it yields before it fails."""
    found = []
    if pattern is None:
        texts = function(facts)
    else:
        match = pattern.search(facts.value[:8000])
        if match is None:
            return found
        texts = function(facts, match)
    try:
        for text in texts or ():
            found.append(_clip(text))
            if len(found) == HINTS_MAX:
                break
    except (case.TooLate, MemoryError):
        raise
    except Exception:
        pass
    return found


def collect(facts):
    found = []
    try:
        for base in brief.lineage(facts.error):
            for pattern, function in _table.get(brief.class_name(base), ()):
                facts.check_time()
                try:
                    texts = _of(function, pattern, facts)
                except (case.TooLate, MemoryError):
                    raise
                except Exception:
                    continue
                # Drop hints about the call into which a magic was translated.
                found += [
                    text
                    for text in texts
                    if text and text not in found and "__reckon_" not in text
                ]
                if len(found) >= HINTS_MAX:
                    return found[:HINTS_MAX]
    except (case.TooLate, MemoryError):
        pass
    return found


# ---- words ----------------------------------------------------------------------------------


def folded(word):
    """A word without what people often get wrong: case, spaces, underscores, hyphens."""
    return _fold("", word).casefold()


def near(word, candidates, most=3):
    """Candidates that are probably meant, the most similar first."""
    if _type(word) is not str or not 0 < len(word) <= 80:
        return []
    wanted, found = folded(word), []
    for candidate in candidates[:_CANDIDATES_MAX]:
        if (
            _type(candidate) is not str
            or not candidate
            or candidate == word
            or (len(candidate) > 120)
        ):
            continue
        other = folded(candidate)
        if other == wanted and other:
            found.append((2.0, candidate))
            continue
        if abs(len(other) - len(wanted)) > max(len(wanted), 4):
            continue
        matcher = _ratio(None, other, wanted)
        if matcher.real_quick_ratio() < 0.6 or matcher.quick_ratio() < 0.6:
            continue
        share = matcher.ratio()
        if share >= (0.66 if len(wanted) > 3 else 0.75) or (
            len(wanted) > 3
            and (other.startswith(wanted) or wanted.startswith(other))
            and len(other) > 3
        ):
            found.append((share, candidate))
    found.sort(key=lambda pair: -pair[0])
    if found and found[0][0] == 2.0:
        found = [pair for pair in found if pair[0] == 2.0]
    return [candidate for _, candidate in found[:most]]


def difference(word, other):
    """How two words differ that fold to the same: 'case', 'spaces', …; "" if they do not."""
    if folded(word) != folded(other):
        return ""
    if word.casefold() == other.casefold():
        return "upper and lower case differ"
    if word.strip().casefold() == other.strip().casefold():
        return "it has spaces around it"
    return "they differ in spaces, signs or case"


def one_of(words):
    """'a', 'b' or 'c', written as Python literals."""
    shown = [brief.brief(word, 60) for word in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def listing(words, limit=300):
    """As many words as fit, and their number."""
    parts, used = [], 0
    for word in words:
        part = brief.brief(word, 60)
        if parts and used + len(part) + 2 > limit:
            break
        parts.append(part)
        used += len(part) + 2
    return ", ".join(parts) + (f", … ({len(words)} in all)" if len(parts) < len(words) else "")


def place_text(facts, file, line):
    """'line 3' for the same file, '<cell 1> line 3' for another."""
    if facts.user is not None and file == facts.user.file:
        return f"line {line}"
    return f"{brief.one_line(file, 80)} line {line}"
