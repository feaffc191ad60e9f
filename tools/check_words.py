#!/usr/bin/env python3
"""Fail on phrases that are not plain English, and on names that say nothing.

usage: check_words.py ROOT [FILE]; with FILE: checks a commit message instead (see tools/hooks)

CONTRIBUTING.md has the rules: active voice, standard terms, the cause before the remedy. The patterns
here find only phrases that are always wrong; a reviewer finds the others.
"""
import pathlib
import re
import subprocess
import sys

NOUN = (r"(?:address|amount|archive|base64|cell|cursor|date|directory|execution|file|folder|fence|"
        r"format|handle|id|image|int|integer|json|key|kernel|link|list|message|method|model|name|"
        r"number|object|operator|path|port|price|process|project|provider|quota|range|record|"
        r"regular|report|request|run|session|stream|string|template|tenant|terminal|text|time|"
        r"tool|url|utf|version|word|zip)")
ANYWHERE = (  # in sources, tests and documents
    (rf"(?<!here )(?<!that )\bis no {NOUN}\b", "say what it is not: \"is not a …\", \"invalid …\""),
    (r"\bexclude each other\b", "\"cannot be used together\""),
    (r"\bwhat to do\?", "\"missing subcommand\""),
    (r"\bnobody answers at\b", "\"cannot connect to\""),
    (r"\b(is|are) there already\b", "\"already exists\""),
    (r"\bfor who (?!m)", "name the person"),
    (r"\bwhosever\b", "name the owner"),
)
STRINGS = (  # in strings that a user reads at a terminal
    (r"\b(status code|status|HTTP) [1-5][0-9][0-9]\b", "name what happened, not the protocol"),
    (r"\b(GET|POST|PUT|PATCH|DELETE) /", "name the command, not the request"),
)
# Parts of C names that say neither what the data is nor what the function does. The names in
# PUBLIC are those of fields in the API and in include/.
NAMES = {"told", "untold", "asked", "unasked", "kept", "unkept", "said", "heard", "wish", "seat",
         "beside", "talk", "steady"}
PUBLIC = {"not_kept", "files_not_kept", "api_not_kept", "bytes_kept", "kept_bytes", "kept",
          "RECKON_ENTRY_NOT_KEPT"}
NAME = re.compile(r"[A-Za-z]\w*")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
SUBJECT = re.compile(r"[a-z0-9_./-]+(, [a-z0-9_./-]+)*: [a-z`0-9]")
SUBJECT_MAX = 100
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def name_complaints(name, text):
    """Yields one line for each forbidden part of a name in C code."""
    code = NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for word in NAME.findall(line):
            for part in NAMES & set(word.lower().split("_")) if word not in PUBLIC else ():
                yield f"{name}:{number}: {word}: \"{part}\" does not say what it is"


def complaints(root):
    """Yields one line for each forbidden phrase or name."""
    names = subprocess.run(["git", "-C", root, "ls-files", "src", "include", "docs", "tools",
                            "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"],
                           check=False, text=True, stdout=subprocess.PIPE).stdout.split()
    for name in names:
        path = root / name
        if path.suffix not in (".c", ".h", ".py", ".md") or path.name == "check_words.py":
            continue
        content = path.read_text(encoding="utf-8")
        if name.startswith("src/") and path.suffix in (".c", ".h"):
            yield from name_complaints(name, content)
        for number, line in enumerate(content.splitlines(), 1):
            for pattern, better in ANYWHERE:
                if re.search(pattern, line, re.I):
                    yield f"{name}:{number}: {better}: {line.strip()[:80]}"
            if name.startswith("src/cli/"):
                for text in STRING.findall(line):
                    for pattern, better in STRINGS:
                        if re.search(pattern, text):
                            yield f"{name}:{number}: {better}: {text}"


def judge_subject(path):
    """The reason why this commit message is not acceptable, or None."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines()
             if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if subject.startswith(("fixup! ", "squash! ", "Revert \"")):
        return None
    if not SUBJECT.match(subject):
        return "write \"area: imperative, what changes\""
    if subject.endswith(".") or len(subject) > SUBJECT_MAX:
        return f"write at most {SUBJECT_MAX} characters, without a full stop"
    if re.search(r"\bwip\b", subject, re.I):
        return "commit what is done"
    if len(lines) > 1 and lines[1] != "":
        return "leave the second line empty"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        why = judge_subject(pathlib.Path(sys.argv[2]))
        if why:
            print(f"the subject of this commit: {why} (CONTRIBUTING.md)", file=sys.stderr)
        return 1 if why else 0
    found = list(complaints(root))
    print("\n".join(found) if found else "no phrase or name that has to be translated")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
