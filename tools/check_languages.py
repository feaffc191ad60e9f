#!/usr/bin/env python3
"""Fail if a source file names a language outside of the language table.

usage: check_languages.py SRC

A folder of SRC/inside with a language.c is a language. Outside of those folders and SRC/languages no
C string may contain a language's name as a word, or be one of its aliases: code reads the language's
row (languages/languages.h), so that a new language needs only its folder and a build option. ALLOWED
lists the strings in which such a word means something else, and why.
"""
import pathlib
import re
import sys

ALLOWED = {  # file: (pattern of the whole string, what the word means there)
    "box/mount/mount.c": (r".*:/bin/bash\\n", "the login shell of the user in /etc/passwd"),
    "cli/options/complete.c": (r".*\bbash\b.*", "the shell that completes the user's command line"),
    "cli/repl/command.c": (r"sh", "the user's own shell, for a command on this host"),
    "cli/run/entry.c": (r".*", "suffixes of files, programs of the host"),
    "cli/run/options.c": (r"data python", "names of templates"),
    "cli/process/tables.c": (r"shell", "the command of that name"),
    "cli/remote/main.c": (r"shell", "the same command"),
    "cli/process/process.c": (r"shell|if command -v bash.*",
                             "the same command, and the program that it starts"),
    "cli/cmd_template.c": (r".*\bpython\b.*|.*plain Python.*",
                           "what reckon-bench compares with"),
    "dialects/dify/dify.c": (r"python3", "a word of Dify's protocol"),
    "agent/conversation/commands.h": (r"shell", "the name of the model's tool"),
    "agent/conversation/conversation.c": (r"shell", "a member of a conversation"),
    "agent/conversation/write.c": (r"shell", "the same member"),
    "dialects/openai/openai.h": (r"python|shell", "what that API's tools are defined to run"),
    "dialects/openai/responses/order_tools.c": (r"shell", "a member of a conversation"),
    "dialects/jupyter/frames.c": (r"shell", "a channel of that protocol"),
    "dialects/jupyter/terminals.c": (r"if command -v bash.*", "the program of a terminal"),
    "dialects/librechat/machine.c": (r"bash", "the session whose shell starts programs"),
    "dialects/librechat/programmatic.c": (r".*", "words of that protocol, and the kernels for them"),
    "dialects/program/program.c": (r"bash", "the session whose shell starts programs"),
    "dialects/program/program_language.c": (r".*", "programs of the host, which need no kernel"),
    "dialects/sandboxfusion/cells.c": (r"python3", "a word of that protocol"),
    "dialects/sandboxfusion/run.c": (r".*", "words of that protocol"),
    "dialects/gemini/gemini.h": (r"python|PYTHON", "what that API's code execution is defined to run"),
    "dialects/anthropic/anthropic.h": (r"python|bash", "what that API's tools are defined to run"),
    "dialects/e2b/template/script.c": (r"/bin/bash", "the shell that E2B runs commands with"),
    "dialects/toy/match.c": (r"/toy|x-toy|toy", "the dialect of that name"),
    "dialects/toy/run.c": (r"x-toy|python", "the same, and the name of a template"),
    "dialects/toy/toy.c": (r".*\btoy\b.*", "the same dialect"),
    "host/operations/metrics.c": (r"shell", "a phase of opening a session: until there was a box"),
    "host/operations/observe.c": (r"shell", "the same phase"),
    "lib/record/mime.c": (r"bash|py|sh|python|text/x-python|application/x-python-bytecode",
                   "suffixes, interpreters and types of files in a workspace"),
    "lib/session/open.c": (r"python", "the template to take when data is not built"),
    "lib/templates.c": (r"python|tree/lib/python%s/site-packages",
                        "the key of template.ini with its interpreter's version, and its packages"),
}
SKIP = {"bench", "languages"}  # bench measures Python itself, next to Reckon
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
OTHER = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'", re.S)
LISTS = re.compile(r"\baliases\[\] = \{([^}]*)\}")


def languages(src):
    """The folders of the languages, and a pattern for strings that name one of them."""
    folders = sorted(path.parent for path in src.glob("inside/*/language.c"))
    names = "|".join(re.escape(folder.name) for folder in folders)
    aliases = set()
    for folder in folders:
        for found in LISTS.finditer((folder / "language.c").read_text(encoding="utf-8")):
            aliases |= set(STRING.findall(found.group(1)))
    exact = "|".join(map(re.escape, sorted(aliases)))
    return folders, re.compile(rf"(?<!\w)(?:{names})(?!\w)|^(?:{exact})$", re.I)


def strings(text):
    """Yields (line number, string) of every string outside of comments and includes."""
    both = re.compile(f"{STRING.pattern}|{OTHER.pattern}", re.S)
    for match in both.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        if match.group(1) is not None and not text[start:].lstrip().startswith("#include"):
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def check(src):
    """Yields one line for each string that names a language, and for each unused exception."""
    folders, named = languages(src)
    if not folders:
        yield f"{src}: there is no inside/*/language.c"
    used = set()
    for path in sorted([*src.rglob("*.[ch]"), *src.rglob("*.c.in")]):
        own = path.relative_to(src)
        if own.parts[0] in SKIP or any(folder in path.parents for folder in folders):
            continue
        for line, string in strings(path.read_text(encoding="utf-8")):
            if not named.search(string):
                continue
            pattern, _ = ALLOWED.get(own.as_posix(), (None, None))
            if pattern is not None and re.fullmatch(pattern, string):
                used.add(own.as_posix())
            else:
                yield f'{path}:{line}: "{string}" names a language; read its row of the table'
    for name in sorted(set(ALLOWED) - used):
        if (src / name).exists():
            yield f"check_languages.py: {name} needs no exception any more"


def main():
    src = pathlib.Path(sys.argv[1])
    complaints = list(check(src))
    print("\n".join(complaints) or f"{src}: no string names a language outside the table")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
