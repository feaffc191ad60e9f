#!/bin/bash
#
# lock-templates.sh - pin the packages of share/templates/*.requirements.in with hashes.
#
# Runs in: a developer's shell, when a template's packages change.  Needs uv and Python >= 3.11.
# Reads: NAME.requirements.in, and the package index that uv is configured for.
# Never: writes an index's URL into the lock, nor the hash of a source archive: a template consists of
# wheels only, so that building one runs no setup code of a package.
#
# Usage: tools/lock-templates.sh [NAME…]      (default: every *.requirements.in)
#   UV=/path/to/uv  PYTHON_VERSION=3.11

set -euo pipefail
here=$(cd "$(dirname "$0")/../share/templates" && pwd)
uv=${UV:-uv}
version=${PYTHON_VERSION:-3.11}
platforms=(x86_64-manylinux_2_28 aarch64-manylinux_2_28)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
	for file in "$here"/*.requirements.in; do
		names+=("$(basename "$file" .requirements.in)")
	done
fi

for name in "${names[@]}"; do
	args=()
	for platform in "${platforms[@]}"; do
		mkdir -p "$work/$name/$platform"
		"$uv" pip compile --quiet --python-version "$version" --only-binary :all: \
			--python-platform "$platform" --format pylock.toml \
			-o "$work/$name/$platform/pylock.toml" "$here/$name.requirements.in"
		args+=("$work/$name/$platform/pylock.toml")
	done
	"${PYTHON:-/usr/bin/python3}" - "$version" "${args[@]}" > "$work/$name.lock" <<'PYTHON'
import re
import sys
import tomllib

version, *paths = sys.argv[1:]
pins, hashes = {}, {}
for path in paths:
    with open(path, "rb") as file:
        for package in tomllib.load(file)["packages"]:
            name = re.sub(r"[-_.]+", "-", package["name"]).lower()
            pin = pins.setdefault(name, package["version"])
            if pin != package["version"]:
                sys.exit(f"{name}: {pin} for one platform, {package['version']} for another")
            found = {wheel["hashes"]["sha256"] for wheel in package["wheels"]}
            hashes.setdefault(name, set()).update(found)

print(f"# Wheels for CPython {version} on x86_64 and aarch64 (glibc 2.28 or newer).")
print("# Made by tools/lock-templates.sh; do not edit.")
for name in sorted(pins):
    print(f"{name}=={pins[name]}", end="")
    for digest in sorted(hashes[name]):
        print(f" \\\n    --hash=sha256:{digest}", end="")
    print()
PYTHON
	mv "$work/$name.lock" "$here/$name.lock"
	chmod 644 "$here/$name.lock"
	echo "$name: $(grep -c == "$here/$name.lock") packages pinned"
done
