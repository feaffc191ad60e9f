#!/usr/bin/env python3
"""Fail if a header does not compile alone.

usage: check_headers.py CC CXX ROOT, where CC and CXX are commands ("ccache gcc")

Each header under ROOT/src must include all headers that it needs. The public header must also compile
as C89 and C++, because bindings include it from both.
"""
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

LIBRARIES = ["libseccomp", "jansson", "libsodium", "inih", "python3-embed", "sqlite3"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def library_flags():
    found = subprocess.run(["pkg-config", "--cflags", *LIBRARIES], check=True, text=True,
                           stdout=subprocess.PIPE)
    return found.stdout.split()


def compile_alone(command, header):
    """Includes the header as the only line of a file; returns the compiler's complaint or ''."""
    run = subprocess.run([*command, *WARNINGS, "-"], input=f'#include "{header}"\n', text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return "" if run.returncode == 0 else f"{header}: {' '.join(command[:3])}\n{run.stdout}"


def make_headers(root, place):
    """Generates the headers that the build makes from the field table."""
    generator = root / "src/api/generate.py"
    if not generator.exists():
        return
    (place / "api").mkdir()
    subprocess.run([sys.executable, generator, root / "docs",
                    *(place / "api" / name for name in ("calls.h", "calls.c", "openapi.json"))],
                   check=True)


def main():
    with tempfile.TemporaryDirectory() as place:
        return check(pathlib.Path(place))


def check(made):
    cc, cxx, root = sys.argv[1].split(), sys.argv[2].split(), pathlib.Path(sys.argv[3])
    make_headers(root, made)
    include = [f"-I{root / 'include'}", f"-I{root / 'src'}", f"-I{made}"]
    internal = [*cc, "-x", "c", "-std=gnu17", "-D_GNU_SOURCE", *include, *library_flags()]
    headers = sorted(path.relative_to(root / "src") for path in (root / "src").rglob("*.h"))
    jobs = [(internal, header) for header in headers]
    for public in sorted(path.name for path in (root / "include").glob("*.h")):
        jobs.append(([*cc, "-x", "c", "-std=c89", "-pedantic", *include], public))
        jobs.append(([*cxx, "-x", "c++", "-std=c++11", "-pedantic", *include], public))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = [text for text in pool.map(lambda job: compile_alone(*job), jobs) if text]
    print("".join(complaints) or f"{len(jobs)} headers compile alone")
    return 1 if complaints or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
