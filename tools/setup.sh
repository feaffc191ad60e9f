#!/bin/bash
#
# setup.sh - what has to be on this machine before anything can be built, run or tested.
#
# usage: tools/setup.sh build|run|test|package|machine|arm64 ...
#
# Installs the packages that tools/packages.txt names in these sections. Asks dpkg first, so that
# a second run touches neither network nor package lists. Without root it installs nothing and
# says what to ask for. The section "test" also makes build/venv, where pytest lives.
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
	# dpkg-query fails when one package is unknown to it, and still prints the others.
	present=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
		awk '$1 == "ii" { print $2 }' | sort -u || true)
	comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$present")
}

setup_packages() {
	local wanted missing
	mapfile -t wanted < <(packages_of "$@")
	if ! command -v dpkg-query >/dev/null; then
		echo "setup: not a Debian system; what Debian calls these must be installed:" >&2
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

# The stamp holds the lock file's hash, so that a changed pin makes a new environment.
setup_venv() {
	local venv=build/venv stamp want
	stamp=$venv/requirements.sha256
	want=$(sha256sum test/requirements.txt | cut -d' ' -f1)
	if [ -x "$venv/bin/pytest" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
		return 0
	fi
	echo "setup: making $venv"
	mkdir -p build
	rm -rf "$venv"
	"$python" -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
		-r test/requirements.txt
	"$venv/bin/pip" check >/dev/null
	echo "$want" >"$stamp"
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

setup_packages "$@"
case " $* " in
*" test "*) setup_venv ;;
esac
