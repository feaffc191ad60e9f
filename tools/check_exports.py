"""Checks that the shared library exports exactly the functions that the public headers declare.

Usage: check_exports.py LIBRARY HEADER...
"""
import re
import subprocess
import sys


def main() -> int:
    library, *headers = sys.argv[1:]
    declared = set()
    for header in headers:
        with open(header, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        declared |= set(re.findall(r"^RECKON_PUBLIC[^;(]*?\b(\w+)\(", text, flags=re.M))
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    shown = {line.split()[2].split("@")[0] for line in listing.splitlines()
             if line.split()[1] != "A"}
    for name in sorted(declared - shown):
        print(f"a header declares {name}, but the library does not export it (exports.map)")
    for name in sorted(shown - declared):
        print(f"the library exports {name}, which no header declares")
    return 0 if declared and declared == shown else 1


if __name__ == "__main__":
    sys.exit(main())
