#!/usr/bin/env python3
"""Fail if a source file includes a header that its folder may not include.

There are two rules. A folder may include only the folders listed for it, so that trusted code cannot
call code that parses hostile bytes. And only the folders in HOME may include a library's header, so
that HOME is the list of dependencies: any other header in angle brackets that is not the system's is
an error, and a reviewer sees each addition.
"""
import pathlib
import re
import sys

MAY_INCLUDE = {  # folder: other project folders it may include
    "base": set(),
    "languages": {"base"},
    "httpd": {"base", "codec", "wire", "loop", "fence"},
    "dialects": {"api", "base", "codec", "httpd", "wire"},
    "dialects/*": {"api", "base", "codec", "dialects", "httpd", "languages"},  # one protocol each
    "codec": {"base"},
    "api": {"base", "codec"},
    "wire": {"base"},
    "box": {"base", "languages", "wire"},
    "inside": {"base", "languages", "wire"},
    "tool": {"base", "codec", "wire"},
    "loop": {"base"},
    "models": {"base", "wire"},
    "fence": {"base"},
    "unarchiver": {"base", "wire", "fence"},
    "host": {"api", "base", "dialects", "languages", "wire", "loop", "codec", "agent_client", "driver", "models"},
    "agent": {"base", "codec", "languages", "wire", "fence"},
    "agent_client": {"base", "codec", "languages", "wire"},
    "driver": {"base", "agent_client", "wire"},
    "lib": {"base", "codec", "agent_client", "driver", "languages", "wire"},
    "client": {"base", "codec"},
    "jupyter": {"base", "codec", "languages"},
    "cli": {"base", "codec", "client", "agent_client", "driver", "jupyter", "languages", "models", "wire"},
    "bench": {"base", "codec", "lib"},
}
ONLY = {  # (folder, other folder): the only headers that the folder may include
    ("bench", "lib"): {"lib/session/branch.h"},
    ("cli", "wire"): {"wire/agent.h"},
    ("models", "wire"): {"wire/agent.h"},
    ("cli", "jupyter"): {"jupyter/jupyter.h"},
    ("host", "codec"): {"codec/json_write.h"},
    ("host", "api"): {"api/arena.h", "api/calls.h", "api/check.h", "api/image.h"},
    ("tool", "wire"): {"wire/tools.h"},
    ("inside", "languages"): {"languages/table.h"},
    ("host", "dialects"): {"dialects/table.h"},
    ("dialects", "wire"): {"wire/front.h"},
    ("dialects", "httpd"): {"httpd/httpd.h"},
    ("dialects/*", "httpd"): {"httpd/httpd.h"},
    ("dialects/*", "languages"): {"languages/languages.h"},
    ("dialects/*", "dialects"): {"dialects/call.h", "dialects/events.h", "dialects/match.h",
                                 "dialects/model_api.h", "dialects/names.h",
                                 "dialects/program/program.h", "dialects/program/program_code.h",
                                 "dialects/program/program_language.h", "dialects/refuse.h",
                                 "dialects/route.h", "dialects/run.h", "dialects/sealed.h",
                                 "dialects/stored.h"},
    ("host", "agent_client"): {"agent_client/agent_client.h", "agent_client/outcome.h"},
}
PUBLIC = {"lib", "cli", "bench", "host", "jupyter"}  # folders that may include the public headers
HOME = {  # a library's header: the folder, or folders, that may include it
    "seccomp.h": "box",
    "ini.h": ("box", "host", "models"),
    "Python.h": "inside",
    "structmember.h": "inside",
    "jansson.h": "codec",
    "llhttp.h": "codec",
    "zlib.h": "codec",
    "wslay/wslay.h": "httpd",
    "sha1.h": "httpd",
    "sha2.h": "codec",
    "archive.h": "unarchiver",
    "archive_entry.h": "unarchiver",
    "sodium.h": ("lib", "host", "jupyter"),
    "zmq.h": "jupyter",
    "sqlite3.h": "host",
    "event2/event.h": "loop",
    "curl/curl.h": ("client", "agent"),
    "histedit.h": "cli",
    "chafa.h": "cli",
    "md4c.h": "cli",
    "png.h": "cli",
}
SYSTEM_FOLDERS = {"sys", "linux", "asm", "net", "netinet", "arpa"}
SYSTEM = set("""
    assert ctype dirent dlfcn elf endian errno fcntl fnmatch ftw getopt glob grp inttypes langinfo
    libgen limits link locale malloc math mntent poll pthread pty pwd regex sched semaphore setjmp
    signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdio_ext stdlib stdnoreturn
    string strings syscall syslog termios time ucontext uchar unistd utmp wchar wctype wordexp
""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


SHARED_BY_DIALECTS = {"program"}  # folders of src/dialects that are not a protocol


def folder_of(parts):
    """The key of the folder's rules: all dialects share one, and may not include each other."""
    is_dialect = parts[0] == "dialects" and len(parts) > 2 and parts[1] not in SHARED_BY_DIALECTS
    return "dialects/*" if is_dialect else parts[0]


def judge(parts, brackets, name):
    """The reason why this include is an error, or None."""
    own = folder_of(parts)
    first, _, rest = name.partition("/")
    if own == "dialects/*" and name.startswith(f"dialects/{parts[1]}/"):
        return None
    if name in ("reckon.h", "reckon_agent.h", "reckon_answers.h", "reckon_files.h",
                "reckon_keep.h", "reckon_port.h", "reckon_process.h", "reckon_watch.h"):
        return None if own in PUBLIC else f"{own}/ may not include the public header"
    if brackets == "<":
        home = HOME.get(name)
        if home is not None:
            homes = (home,) if isinstance(home, str) else home
            return None if own in homes else f"<{name}> belongs to {'/ and '.join(homes)}/ alone"
        known = first in SYSTEM_FOLDERS if rest else name.removesuffix(".h") in SYSTEM
        return None if known else f"<{name}> is not a system header and has no home in check_layers.py"
    if not rest or first == own:
        return None
    if first not in MAY_INCLUDE:
        return f'"{name}" names no folder of src/'
    if first not in MAY_INCLUDE[own] or name not in ONLY.get((own, first), {name}):
        return f"{own}/ may not include {name}"
    return None


def check(src):
    """Yields one line for each include that breaks a rule."""
    for path in sorted(src.rglob("*.[ch]")):
        parts = path.relative_to(src).parts
        own = folder_of(parts)
        if own not in MAY_INCLUDE:
            yield f"{path}: folder {own}/ is not in check_layers.py"
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            why = judge(parts, *match.groups())
            if why:
                line = text.count("\n", 0, match.start(2)) + 1
                yield f"{path}:{line}: {why}"


def main():
    src = pathlib.Path(sys.argv[1])
    complaints = list(check(src))
    print("\n".join(complaints) if complaints else f"{src}: every include stays in its layer")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
